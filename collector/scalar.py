"""One frame read plainly by the wire tables: slow, and what the compiled walk must agree with."""

from collections.abc import Mapping

from collector.carriers import SPACES, edges, headers, option_edges, option_extra
from collector.layer import BIT, FLOW
from collector.reading import MOST_ROWS, Reading
from collector.scalar_records import records
from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import WORD_LIMIT
from collector.wire.style import STYLES
from collector.wire.table import Branch, Header, Length

MOST_LAYERS = 24


class Scalar:
    """Reads frames one at a time by the tables that `settings` ask for."""

    def __init__(self, settings: CollectorSettings) -> None:
        self.tables: Mapping[str, Header] = {each.name: each for each in headers(settings)}
        self.inherited = frozenset(
            field.column for each in self.tables.values() for field in each.fields if each.inherited
        )
        self.edges = edges(settings)
        self.options = option_edges(settings)
        self.extra = option_extra(settings)

    def read(self, octets: bytes, link: int = 1, length: int | None = None) -> list[Reading]:
        """The rows of one frame: `octets` captured, `length` on the wire, `link` its LINKTYPE."""
        wire_end = max(length or 0, len(octets))
        name = self.edges["link_type"].get(link)
        if name is None:
            return [Reading(status=-SPACES["link_type"])]
        rows: list[Reading] = []
        at, handed = 0, dict[str, int]()
        while True:
            reading = Reading(handed=handed)
            _Walk(self, octets, wire_end, reading).frame(name, at)
            rows.append(reading)
            if reading.more or (reading.rest and len(rows) == MOST_ROWS):
                reading.end_with(CODE["too_many_rows"])
            if reading.rest is None or len(rows) == MOST_ROWS:
                return rows
            handed = reading.inherited or handed
            at, name, wire_end = reading.rest


class _Walk:
    """The walk of one row."""

    def __init__(self, tables: Scalar, octets: bytes, wire_end: int, reading: Reading) -> None:
        self.tables = tables
        self.octets = octets
        self.end = min(len(octets), wire_end)
        self.wire_end = wire_end
        self.reading = reading
        self.again = False

    def frame(self, name: str, at: int) -> None:
        """Walk from header `name` at octet `at`."""
        left = MOST_LAYERS
        while left:
            header = self.tables.tables[name]
            values: dict[str, int] = {}
            failed: int | None = -1
            if not self.ended(header, at):
                if at + header.octets > self.end:
                    sent = at + header.octets <= self.wire_end
                    return self.reading.end_with(CODE["truncated" if sent else header.short])
                values = {each.field.name: each.read(self.octets, at) for each in header.places()}
                failed = judge(header, values)
            if failed is not None:
                if failed >= 0 or header.otherwise is None:
                    return self.reading.end_with(max(failed, 0))
                name = header.otherwise
                continue
            left -= 1  # a header that is tried in vain is none
            size = 0 if header.peek else self.size(header.length, values, header.octets)
            if size < (0 if header.peek else header.octets):
                return self.reading.end_with(CODE["bad_length"])
            self.enter(header)
            self.keep(header, values, at)
            ended = self.inside(header, values, at, size)
            if ended is None:
                return None
            follows = self.follow(header, values)
            at += ended
            if isinstance(follows, int):
                return self.reading.end_with(-follows)
            if at >= self.wire_end:
                return None
            name = follows
        return self.reading.end_with(CODE["too_many_layers"])

    def ended(self, header: Header, at: int) -> bool:
        """Whether the frame is too short, as it was sent, for a header that may be another."""
        guessed = bool(header.checks) and header.checks[0].reason is None
        return guessed and at + header.octets > self.wire_end

    def inside(self, header: Header, values: Mapping[str, int], at: int, size: int) -> int | None:
        """Extent, options and records of a header: octets that it takes; None ends the frame."""
        if header.extent is not None and not self.bound(header, values, at, size):
            return None
        if header.trailer is not None:
            self.wire_end -= self.size(header.trailer, values, 0)
        status = 0
        if header.options is not None:
            start = at + self.size(header.options_at, values, header.octets)
            status = self.list(header, start, at + size)
        if header.records is not None:
            taken, worse = records(self.octets, at, at + size, self.end, self.wire_end, header,
                                   self.reading)  # fmt: skip
            size += taken
            status = worse or status
        self.reading.payload_bytes = max(self.wire_end - at - size, 0)
        if status == CODE["truncated"]:
            self.reading.end_with(status)
            return None
        self.reading.status = status or self.reading.status
        return size

    def bound(self, header: Header, values: Mapping[str, int], at: int, size: int) -> bool:
        """Take in what a header says of the octets that it and its load take."""
        rule = header.extent
        assert rule is not None
        again, self.again = self.again, self.again or header.again is not None
        if self.value(rule, values) == rule.open:
            return True
        extent = self.size(rule, values, 0)
        if extent < size:
            self.reading.end_with(CODE["bad_length"])
            return False
        extent = min(extent, self.wire_end - at) if header.again else extent
        if header.again and at + extent < self.wire_end:
            self.reading.more |= again
            if not again:
                self.reading.rest = at + extent, header.again, self.wire_end
        self.wire_end = at + extent
        self.end = min(self.end, self.wire_end)
        return True

    def value(self, rule: Length, values: Mapping[str, int]) -> int:
        """What a length rule looks at."""
        if rule.column:
            return self.reading.steering.get(rule.column, 0)
        return values[rule.field]

    def size(self, rule: Length | None, values: Mapping[str, int], fixed: int) -> int:
        """Octets by a rule."""
        if rule is None:
            return fixed
        if not rule.field and not rule.column:
            return rule.add
        value = self.value(rule, values)
        return ((value & rule.flags).bit_count() if rule.flags else value) * rule.unit + rule.add

    def enter(self, header: Header) -> None:
        """Forget what an envelope makes meaningless."""
        reading = self.reading
        if header.envelope == "mirror":
            reading.columns, reading.hops, reading.layers = {}, [], 0
            reading.status, reading.owners, reading.inherits = 0, {}, True
            reading.inherited = reading.inherited if self.again else {}
        elif header.envelope == "flow" and reading.layers & sum(1 << BIT[name] for name in FLOW):
            mark = reading.columns.get("ecn")
            for name in [name for name, layer in reading.owners.items() if layer in FLOW]:
                del reading.columns[name], reading.owners[name]
            for name in FLOW:
                reading.layers &= ~(1 << BIT[name])
            if mark is not None:
                reading.columns["outer_ecn"] = max(reading.columns.get("outer_ecn", 0), mark)

    def keep(self, header: Header, values: Mapping[str, int], at: int) -> None:
        """Keep the header's fields and constants."""
        reading = self.reading
        layer = header.layer or header.name
        reading.headers.append((header.name, at))
        if layer in BIT:
            reading.layers |= 1 << BIT[layer]
        told = [(each.column, values[each.name] | each.plus) for each in header.fields]
        for column, value in (*told, *header.marks):
            if column:
                reading.steering[column] = value
                if not column.startswith("_"):
                    reading.columns[column] = value
                    reading.owners[column] = layer
                    if column in self.tables.inherited:
                        reading.inherits = False
                        reading.inherited |= {} if self.again else {column: value}

    def follow(self, header: Header, values: Mapping[str, int]) -> str | int:
        """The header that follows; 0 for payload, or a negative status."""
        found: str | int = 0
        for branch in header.branches:
            if self.taken(branch):
                if branch.to:
                    return branch.to
                assert branch.space
                assert branch.select
                number = self.reading.steering.get(branch.select, 0) & 0xFFFF
                return self.tables.edges[branch.space].get(number, SPACES[branch.space])
        if header.next:
            name, space = header.next
            found = self.tables.edges[space].get(values[name] & 0xFFFF, SPACES[space])
        return header.to if found == 0 and header.to else found

    def taken(self, branch: Branch) -> bool:
        """Whether a branch's condition holds."""
        over = (self.reading.steering.get(branch.column, 0) & branch.mask) - branch.value
        if branch.divides is None:
            return over == 0
        return over >= 0 and over % max(self.reading.steering.get(branch.divides, 0), 1) == 0

    def list(self, header: Header, at: int, end: int) -> int:
        """Walk a type-length-value list between `at` and `end`: the last status but 0."""
        assert header.options is not None
        space, style_name = header.options
        style = next(each for each in STYLES if each.name == style_name)
        noted = CODE["bad_option"] if at > end else 0
        while at < end:
            if at >= self.end:
                return CODE["truncated"]
            kind = self.octets[at]
            if kind == style.end:
                break
            if kind == style.single:
                at += 1
                continue
            if at + style.shortest > end:
                return CODE["bad_option"]
            if at + style.shortest > self.end:
                return CODE["truncated"]
            kind = self.octets[at + style.kind]
            length = (self.octets[at + style.length] & style.mask) * style.unit + style.add
            length += self.tables.extra.get(space, {}).get(kind, 0)
            if length < style.shortest or at + length > end:
                return CODE["bad_option"]
            if at + length > self.end:
                return CODE["truncated"]
            own = self.tables.options[space]
            name = own.get((kind, min(length, 255)), own.get((kind, 0)))
            noted = self.option(name, at, at + length) or noted
            at += length
        return noted

    def option(self, name: str | None, at: int, end: int) -> int:
        """Read one option by its own table, or by a rival's that fits: its status."""
        none = 0
        while name is not None:
            header = self.tables.tables[name]
            if at + header.octets > end:
                none = none if self.foreign(header, at, end) else CODE["bad_option"]
                name = header.otherwise
                continue
            values = {place.field.name: place.read(self.octets, at) for place in header.places()}
            failed = judge(header, values)
            if failed is None:
                self.keep(header, values, at)
                at, status = at + header.octets, 0
                if header.records is not None:
                    taken, status = records(self.octets, at - header.octets, at, end, end, header,
                                            self.reading)  # fmt: skip
                    at += taken
                if header.remainder is not None and not status:
                    self.remain(header.remainder, at, end)
                return status
            if failed >= 0:
                return failed
            name = header.otherwise
        return none

    def foreign(self, header: Header, at: int, end: int) -> bool:
        """Whether what there is of a header that reaches past `end` shows that it is another."""
        lies = {place.field.name: place for place in header.places()}
        for each in (each for each in header.checks if each.reason is None):
            place = lies[each.field]
            there = at + place.octet + place.octets <= end
            if there and not each.low <= place.read(self.octets, at) <= each.high:
                return True
        return False

    def remain(self, columns: tuple[str, str], at: int, end: int) -> None:
        """Keep the octets of an option that no table explains."""
        first, count = columns
        told = {count: end - at}
        if at < end:
            told[first] = int.from_bytes(self.octets[at : min(end, at + WORD_LIMIT)], "big")
        self.reading.columns |= told
        self.reading.steering |= told


def judge(header: Header, values: Mapping[str, int]) -> int | None:
    """None when the checks hold, else the reason's code; -1 when the header is another."""
    for check in header.checks:
        if not check.low <= values[check.field] <= check.high:
            return -1 if check.reason is None else CODE[check.reason]
    return None
