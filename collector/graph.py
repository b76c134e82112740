"""The wire tables and the edges between them as the arrays that the compiled walk reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.carriers import OPTION_SPACES, SPACES, edges, headers, option_edges, option_extra
from collector.deciding import deciding
from collector.graph_dtype import (
    BRANCH,
    CHECK,
    FIELD,
    HANDED_ON,
    MARK,
    NODE,
    NONE,
    PART,
    RECORDS,
    STYLE,
)
from collector.kernel import Record
from collector.layer import BIT, FLOW
from collector.observation import HOPS
from collector.register import HANDED, Registers
from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import OCTET, WORD_LIMIT, Field, Place, places
from collector.wire.style import STYLES
from collector.wire.table import Header, Length, Part, Records

FEW = 8
"""A header that more numbers than these lead to is recognised by lookup, not number by number."""

MOST_NODES = 512
GRAPH = np.dtype(
    [("nodes", NODE, (MOST_NODES,)), ("fields", FIELD, (4096,)), ("checks", CHECK, (512,)),
     ("branches", BRANCH, (1024,)), ("marks", MARK, (512,)), ("parts", PART, (1024,)),
     ("records", RECORDS, (64,)), ("styles", STYLE, (len(STYLES),)),
     ("spaces", "i2", (len(SPACES), 1 << 16)), ("exact", "u1", (len(SPACES), MOST_NODES)),
     ("options", "i2", (len(OPTION_SPACES), 256, 256)), ("extra", "i2", (len(OPTION_SPACES), 256)),
     ("scalars", "i8", (5,))]
)  # fmt: skip
"""All tables of the walk; node 0 is "nothing follows". One record: a step is handed one address."""
Graph = Record

ROWS = {"field": FIELD, "check": CHECK, "mark": MARK, "part": PART}
FLOW_LAYERS, HOP_BASE, HOP_WIDTH, ECN, OUTER_ECN = range(5)
"""Places in the graph's `scalars`: bits of a flow's own layers, first column of hop 0, columns of a
hop, and the columns of the congestion marks."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph with the names that its numbers stand for.

    `columns` by the numbers that the walk writes, flat ones first, then those of each hop; `bits`
    is how wide each can be; `number` the node of each header.
    """

    graph: NDArray[Any]
    columns: tuple[str, ...]
    bits: tuple[int, ...]
    number: dict[str, int]
    inherited: tuple[str, ...]


MOST_PLANS = 4
_REMEMBERED: dict[str, Plan] = {}
"""Plans by the settings, as JSON, that they were made for."""


def build(settings: CollectorSettings) -> Plan:
    """Compile the tables that these settings ask for into arrays, which nobody writes to.

    What was asked for last is remembered: whoever reads captures again and again asks for the same.
    """
    asked = settings.model_dump_json()
    plan = _REMEMBERED.get(asked)
    if plan is None:
        if len(_REMEMBERED) == MOST_PLANS:
            _REMEMBERED.clear()
        plan = _REMEMBERED[asked] = _Builder(headers(settings), settings).plan()
    return plan


class _Builder:
    """Numbers the names of the tables and lays the tables out as arrays."""

    def __init__(self, tables: tuple[Header, ...], settings: CollectorSettings) -> None:
        self.tables = tables
        self.settings = settings
        self.number = {header.name: at + 1 for at, header in enumerate(tables)}
        self.registers = Registers(tables)
        self.deciding = deciding(tables, edges(settings), option_edges(settings))
        self.space = {name: at for at, name in enumerate(SPACES)}
        self.rows: dict[str, list[tuple[object, ...]]] = {
            kind: [] for kind in ("field", "check", "branch", "mark", "part", "records")
        }

    def plan(self) -> Plan:
        registers = self.registers
        nodes = np.zeros(len(self.tables) + 1, NODE)
        for header in self.tables:
            nodes[self.number[header.name]] = self.node(header)
        spaces, exact = self.spaces(edges(self.settings))
        options, extra = self.options()
        flow_layers = sum(1 << BIT[name] for name in FLOW)
        graph = self.filled(
            {
                "nodes": nodes,
                **{f"{kind}s": np.array(self.rows[kind], dtype) for kind, dtype in ROWS.items()},
                "branches": np.array(self.rows["branch"], BRANCH),
                "records": np.array(self.rows["records"], RECORDS),
                "styles": np.array([_style(style) for style in STYLES], STYLE),
                "spaces": spaces,
                "exact": exact,
                "options": options,
                "extra": extra,
                "scalars": np.array([flow_layers, len(registers.flat), len(registers.hop),
                                     registers.column["ecn"], registers.column["outer_ecn"]]),
            }
        )  # fmt: skip
        hops = [f"h{hop}_{name}" for hop in range(HOPS) for name in registers.hop]
        bits = [registers.bits[name] for name in registers.flat]
        bits += [registers.hop_bits[name] for name in registers.hop] * HOPS
        handed = tuple(dict.fromkeys(registers.of(h for h in self.tables if h.inherited)))
        return Plan(graph, (*registers.flat, *hops), tuple(bits), self.number, handed)

    @staticmethod
    def filled(arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """The record of the graph. Raises ValueError when the tables have outgrown it."""
        graph = np.zeros(1, GRAPH)
        for name, values in arrays.items():
            room = graph[name][0]
            if any(have > most for have, most in zip(values.shape, room.shape, strict=True)):
                raise ValueError(f"the tables have more {name} than {room.shape}")
            room[tuple(slice(have) for have in values.shape)] = values
        return graph

    def node(self, header: Header) -> tuple[object, ...]:
        by_name = {place.field.name: place for place in header.places()}
        follows, space = _field(None), NONE
        if header.next:
            follows, space = _field(by_name[header.next[0]]), self.space[header.next[1]]
        checks = [
            (_field(by_name[c.field]), c.low, c.high, CODE[c.reason] if c.reason else NONE)
            for c in header.checks
        ]
        column = self.registers.column
        branches = [
            (column[b.column], b.mask, b.value, self.number.get(b.to or "", 0),
             column[b.select] if b.select else NONE, self.space[b.space] if b.space else NONE,
             column[b.divides] if b.divides else NONE)
            for b in header.branches
        ]  # fmt: skip
        marks = [(column[name], value, not name.startswith("_")) for name, value in header.marks]
        layer = header.layer or header.name
        lengths = (header.length, header.extent, header.trailer, header.options_at)
        fixed = (0 if header.peek else header.octets, 0, 0, header.octets)
        sizes = [self.size(rule, by_name, own) for rule, own in zip(lengths, fixed, strict=True)]
        options = header.options
        rules = self.registers.rules(header, self.deciding[header.name])
        return (
            header.octets, header.peek, *sizes, header.extent is not None, follows, space,
            self.number.get(header.to or "", 0), self.number.get(header.otherwise or "", 0),
            self.number.get(header.again or "", 0),
            *self.kept(header.places(), rules, handed=header.inherited),
            *self.append("check", checks), *self.append("branch", branches),
            *self.append("mark", marks),
            OPTION_SPACES.index(options[0]) if options else NONE,
            [style.name for style in STYLES].index(options[1]) if options else NONE,
            self.stack(header.records), (None, "flow", "mirror").index(header.envelope),
            1 << BIT[layer] if layer in BIT else 0, layer in FLOW, *self.remainder(header),
            CODE[header.short],
        )  # fmt: skip

    def remainder(self, header: Header) -> tuple[int, int]:
        """First of eight fields, of one to eight octets, for the octets behind an option's own."""
        if header.remainder is None:
            return NONE, NONE
        first, count = header.remainder
        sizes = range(OCTET, OCTET * WORD_LIMIT + 1, OCTET)
        rows = [_field(Place(Field("", bits, column=first), 0, bits // OCTET, 0), self.registers)
                for bits in sizes]  # fmt: skip
        return self.append("field", rows)[0], self.registers.column[count]

    def stack(self, rule: Records | None) -> int:
        """A rule for records; the number of its row, or NONE."""
        if rule is None:
            return NONE
        bottom = self.part(Part(0, rule.bottom), rule) if rule.bottom else self.part(None, rule)
        first, last = self.append("part", [self.part(part, rule) for part in rule.parts])
        column = self.registers.column
        maps = [column[name] for name in rule.bitmap] + [NONE, NONE]
        key = _field(places("key", (rule.key, Field("", -rule.key.bits % OCTET)))[0]
                     if rule.key else None)  # fmt: skip
        tail = (column[rule.tail[0]], rule.tail[1]) if rule.tail else (NONE, 0)
        row = (
            maps[0], maps[1], rule.bits // max(len(rule.bitmap), 1), rule.key is not None, key,
            first, last, *(column[name] if name else NONE
                           for name in (rule.stride, rule.total, rule.skip, rule.count)),
            rule.unit, rule.add, rule.slots, NONE if rule.start is None else rule.start,
            sum(field.bits for field in rule.bottom) // OCTET,
            self.append("part", [bottom])[0], *tail,
            rule.newest_first, rule.per_hop, CODE[rule.reason], rule.whole,
            rule.exact, column[rule.mismatch] if rule.mismatch else NONE,
        )  # fmt: skip
        return self.append("records", [row])[0]

    def part(self, part: Part | None, rule: Records) -> tuple[object, ...]:
        """One part of a record; its mask in the bitmap, or the key of its records."""
        if part is None:
            return (0, 0, 0, 0, NONE, _field(None))
        found = places("part", part.fields)
        mask = part.bit if rule.key else 1 << rule.bits - 1 - part.bit if rule.bitmap else 1
        counted = next((place for place in found if place.field.name == part.words), None)
        return (mask, part.octets, *self.kept(found, frozenset()), counted is not None,
                _field(counted))  # fmt: skip

    def kept(
        self, found: Sequence[Place], rules: frozenset[str], *, handed: bool = False
    ) -> tuple[int, int]:
        """Rows of the fields that write a column or steer the walk, twice where handed on."""
        rows = [
            _field(place, self.registers, rule=place.field.name in rules)
            for place in found
            if place.field.column or place.field.name in rules
        ]
        for place in found:
            name = place.field.column
            if handed and name and not name.startswith("_"):
                own = replace(place, field=replace(place.field, column=HANDED + name))
                rows.append((*_field(own, self.registers)[:-1], HANDED_ON))
        return self.append("field", rows)

    def append(self, kind: str, rows: Sequence[tuple[object, ...]]) -> tuple[int, int]:
        start = len(self.rows[kind])
        self.rows[kind] += rows
        return start, start + len(rows)

    def size(
        self, rule: Length | None, by_name: dict[str, Place], fixed: int
    ) -> tuple[object, ...]:
        if rule is None or not (rule.field or rule.column):
            return (_field(None), NONE, 0, fixed if rule is None else rule.add, 0, 0)
        column = self.registers.column[rule.column] if rule.column else NONE
        place = None if rule.column else by_name[rule.field]
        return (_field(place), column, rule.unit, rule.add, rule.flags, rule.open)

    def spaces(
        self, edges: dict[str, dict[int, str]]
    ) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        table = np.empty((len(SPACES), 1 << 16), np.int16)
        exact = np.zeros((len(SPACES), len(self.tables) + 1), np.bool_)
        for name, default in SPACES.items():
            row = self.space[name]
            table[row] = default
            for number, header in edges[name].items():
                table[row, number] = self.number[header]
            leading = np.bincount(np.maximum(table[row], 0), minlength=exact.shape[1])
            exact[row] = leading <= FEW
        return table, exact

    def options(self) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        table = np.zeros((len(OPTION_SPACES), 256, 256), np.int16)
        extra = np.zeros((len(OPTION_SPACES), 256), np.int16)
        for space, rows in option_edges(self.settings).items():
            at = OPTION_SPACES.index(space)
            for (kind, octets), header in sorted(rows.items()):
                table[at, kind, octets or slice(None)] = self.number[header]
        for space, kinds in option_extra(self.settings).items():
            for kind, octets in kinds.items():
                extra[OPTION_SPACES.index(space), kind] = octets
        return table, extra


def _field(
    place: Place | None, registers: Registers | None = None, *, rule: bool = False
) -> tuple[object, ...]:
    """A field as the walk reads it: from one word of eight octets, shifted and masked."""
    if place is None:
        return (0, 0, 0, 0, NONE, 0, 0, 0)
    field = place.field
    shift = place.low if field.little else OCTET * (WORD_LIMIT - place.octets) + place.low
    column = NONE
    if field.column and registers:
        column = registers.column[field.column]
    kept = bool(field.column) and not str(field.column).startswith("_")
    return (place.octet, shift, place.mask, field.plus, column, field.little != 0, rule, kept)


def _style(style: Any) -> tuple[int, ...]:
    return (style.kind, style.length, style.mask, style.unit, style.add, style.end, style.single,
            style.shortest)  # fmt: skip
