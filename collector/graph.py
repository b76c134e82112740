"""The wire tables and the edges between them as the arrays that the walk reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector.carriers import OPTION_SPACES, SPACES, edges, headers, option_edges
from collector.observation import HOPS
from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire import ip, transport
from collector.wire.table import OCTET, WORD_LIMIT, Field, Header, Length, Part, offsets

FIXED = ("layers", "status", "payload_bytes", "hop_count", "outer_ecn", "ecn")
"""Columns that the walk itself writes or reads, in this order at the front."""

FIELD = np.dtype(
    [("first", "i8"), ("shift", "i8"), ("mask", "u8"), ("plus", "u8"), ("column", "i8")]
)
SIZE = np.dtype([("field", FIELD), ("unit", "i8"), ("add", "i8"), ("flags", "u8")])
CHECK = np.dtype([("field", FIELD), ("low", "u8"), ("high", "u8"), ("reason", "i8")])
BRANCH = np.dtype(
    [("column", "i8"), ("mask", "u8"), ("value", "u8"), ("to", "i8"), ("select", "i8"),
     ("space", "i8")]
)  # fmt: skip
MARK = np.dtype([("column", "i8"), ("value", "u8")])
PART = np.dtype([("mask", "u8"), ("octets", "i8"), ("field0", "i8"), ("field1", "i8")])
RECORDS = np.dtype(
    [("bitmap0", "i8"), ("bitmap1", "i8"), ("part0", "i8"), ("part1", "i8"), ("stride", "i8"),
     ("total", "i8"), ("unit", "i8"), ("add", "i8"), ("newest_first", "i8"), ("per_hop", "i8"),
     ("reason", "i8")]
)  # fmt: skip
NODE = np.dtype(
    [("octets", "i8"), ("peeked", "i8"), ("length", SIZE), ("extent", SIZE), ("next", FIELD),
     ("space", "i8"), ("to", "i8"), ("field0", "i8"), ("field1", "i8"), ("check0", "i8"),
     ("check1", "i8"), ("branch0", "i8"), ("branch1", "i8"), ("mark0", "i8"), ("mark1", "i8"),
     ("options", "i8"), ("style", "i8"), ("records", "i8"), ("envelope", "i8")]
)  # fmt: skip
NONE = -1


class Graph(NamedTuple):
    """The tables of the walk as arrays; see the dtypes above. Node 0 is "nothing follows"."""

    nodes: NDArray[Any]
    fields: NDArray[Any]
    checks: NDArray[Any]
    branches: NDArray[Any]
    marks: NDArray[Any]
    parts: NDArray[Any]
    records: NDArray[Any]
    spaces: NDArray[np.int16]
    options: NDArray[np.int16]
    flow_layers: np.uint64
    hop_base: int
    hop_width: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph with the names that its numbers stand for.

    `headers` by node number (from 1), `columns` the row names of the walk's matrix, `layers` the
    bits of the headers that write each column.
    """

    graph: Graph
    headers: tuple[Header, ...]
    columns: tuple[str, ...]
    layers: dict[str, int]

    def layer(self, *names: str) -> int:
        """Bits of these headers in the column `layers`."""
        return sum(1 << at for at, header in enumerate(self.headers) if header.name in names)


def build(settings: CollectorSettings) -> Plan:
    """Compile the tables that these settings ask for into arrays."""
    tables = headers(settings)
    return _Builder(tables).plan(edges(settings), option_edges(settings))


class _Builder:
    """Numbers the names of the tables and lays the tables out as arrays."""

    def __init__(self, tables: tuple[Header, ...]) -> None:
        self.tables = tables
        self.number = {header.name: at + 1 for at, header in enumerate(tables)}
        flat = [field.column for header in tables for field in _kept(header, per_hop=False)]
        flat += [name for header in tables for name, _ in header.marks]
        hop = [field.column for header in tables for field in _kept(header, per_hop=True)]
        self.flat = tuple(dict.fromkeys([*FIXED, *filter(None, flat)]))
        self.hop = tuple(dict.fromkeys(filter(None, hop)))
        self.column = {name: at for at, name in enumerate(self.flat)}
        self.column |= {name: at for at, name in enumerate(self.hop)}
        self.space = {name: at for at, name in enumerate(SPACES)}
        self.rows: dict[str, list[tuple[object, ...]]] = {
            kind: [] for kind in ("field", "check", "branch", "mark", "part", "records")
        }

    def plan(
        self,
        edges: dict[str, dict[int, str]],
        option_edges: dict[str, dict[tuple[int, int], str]],
    ) -> Plan:
        nodes = np.zeros(len(self.tables) + 1, NODE)
        for header in self.tables:
            nodes[self.number[header.name]] = self.node(header)
        inner = {header.name for header in (*ip.HEADERS, *transport.HEADERS)}
        flow = [header for header in self.tables if header.name in inner]
        graph = Graph(
            nodes=nodes,
            fields=np.array(self.rows["field"], FIELD),
            checks=np.array(self.rows["check"], CHECK),
            branches=np.array(self.rows["branch"], BRANCH),
            marks=np.array(self.rows["mark"], MARK),
            parts=np.array(self.rows["part"], PART),
            records=np.array(self.rows["records"], RECORDS),
            spaces=self.spaces(edges),
            options=self.options(option_edges),
            flow_layers=np.uint64(sum(1 << self.number[header.name] - 1 for header in flow)),
            hop_base=len(self.flat),
            hop_width=len(self.hop),
        )
        names = (*self.flat, *(f"h{hop}_{name}" for hop in range(HOPS) for name in self.hop))
        return Plan(graph, self.tables, names, self.layers())

    def layers(self) -> dict[str, int]:
        """Bits of the headers that write each column."""
        bits: dict[str, int] = {}
        for at, header in enumerate(self.tables):
            kept = [field.column for field in _kept(header, per_hop=False)]
            for name in (*kept, *(name for name, _ in header.marks)):
                if name:
                    bits[name] = bits.get(name, 0) | 1 << at
        return bits

    def node(self, header: Header) -> tuple[object, ...]:
        starts = {field.name: (field, offset) for field, offset in header.offsets()}
        nothing = _field(Field("", 0), 0, NONE)
        follows, space, peeked = nothing, NONE, header.octets
        if header.next:
            name, space_name = header.next
            nibble = (Field("", 4), header.octets * OCTET)
            follows, space = _field(*starts.get(name, nibble), NONE), self.space[space_name]
            peeked += name == ""
        checks = [
            (
                _field(*starts[c.field], NONE),
                c.low,
                c.high,
                NONE if c.reason is None else CODE[c.reason],
            )
            for c in header.checks
        ]
        branches = [
            (self.column[b.column], b.mask, b.value, self.number.get(b.to or "", 0),
             self.column[b.select] if b.select else NONE, self.space[b.space] if b.space else NONE)
            for b in header.branches
        ]  # fmt: skip
        marks = [(self.column[name], value) for name, value in header.marks]
        options = OPTION_SPACES.index(header.options[0]) if header.options else NONE
        style = ("tcp", "ipv6").index(header.options[1]) if header.options else NONE
        return (
            header.octets, peeked, self.size(header.length, starts, header.octets),
            self.size(header.extent, starts, 0), follows, space,
            self.number.get(header.to or "", 0), *self.kept(header.fields),
            *self.append("check", checks), *self.append("branch", branches),
            *self.append("mark", marks), options, style, self.stack(header),
            (None, "flow", "mirror").index(header.envelope),
        )  # fmt: skip

    def stack(self, header: Header) -> int:
        rule = header.records
        if rule is None:
            return NONE
        parts = self.append("part", [self.part(part, rule.bits) for part in rule.parts])
        low = self.column[rule.bitmap[1]] if len(rule.bitmap) > 1 else NONE
        row = (self.column[rule.bitmap[0]], low, *parts,
               self.column[rule.stride] if rule.stride else NONE,
               self.column[rule.total] if rule.total else NONE,
               rule.unit, rule.add, rule.newest_first, rule.per_hop, CODE[rule.reason])  # fmt: skip
        return self.append("records", [row])[0]

    def part(self, part: Part, bits: int) -> tuple[object, ...]:
        return (1 << bits - 1 - part.bit, part.octets, *self.kept(part.fields))

    def kept(self, fields: tuple[Field, ...]) -> tuple[int, int]:
        rows = [
            _field(field, offset, self.column[field.column])
            for field, offset in offsets(fields)
            if field.column
        ]
        return self.append("field", rows)

    def append(self, kind: str, rows: Sequence[tuple[object, ...]]) -> tuple[int, int]:
        start = len(self.rows[kind])
        self.rows[kind] += rows
        return start, start + len(rows)

    def size(
        self, rule: Length | None, starts: dict[str, tuple[Field, int]], fixed: int
    ) -> tuple[object, ...]:
        if rule is None:
            return (_field(Field("", 0), 0, NONE), 0, fixed, 0)
        return (_field(*starts[rule.field], NONE), rule.unit, rule.add, rule.flags)

    def spaces(self, edges: dict[str, dict[int, str]]) -> NDArray[np.int16]:
        table = np.empty((len(SPACES), 1 << 16), np.int16)
        for name, default in SPACES.items():
            table[self.space[name]] = default
            for number, header in edges[name].items():
                table[self.space[name], number] = self.number[header]
        return table

    def options(self, edges: dict[str, dict[tuple[int, int], str]]) -> NDArray[np.int16]:
        table = np.zeros((len(OPTION_SPACES), 256, 256), np.int16)
        for space, rows in edges.items():
            for (kind, octets), header in rows.items():
                where = slice(None) if octets == 0 else octets
                table[OPTION_SPACES.index(space), kind, where] = self.number[header]
        return table


def _kept(header: Header, *, per_hop: bool) -> list[Field]:
    """Fields with a column: the header's own and its records', by where the column lies."""
    own = [] if per_hop else [field for field in header.fields if field.column]
    rule = header.records
    if rule is not None and rule.per_hop == per_hop:
        own += [field for part in rule.parts for field in part.fields if field.column]
    return own


def _field(field: Field, offset: int, column: int) -> tuple[object, ...]:
    """A field as the walk reads it: its first octet, then shift and mask of the word from there."""
    first, bit = divmod(offset, OCTET)
    shift = WORD_LIMIT * OCTET - bit - field.bits
    return (first, shift, (1 << field.bits) - 1, field.plus, column)
