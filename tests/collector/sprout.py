"""What hangs on a header's fixed fields: bodies, options, stacks of records, and their lengths."""

import random
from typing import TYPE_CHECKING

from growing import put

from collector import Header
from collector.scalar_records import named, tailed
from collector.wire.place import Place, places
from collector.wire.style import STYLES, Style
from collector.wire.table import Length, Part, Records

if TYPE_CHECKING:
    from generate import Generator

WORD = 4
MOST_BODY = 64
HOPS = (0, 1, 1, 2, 3, 5, 12, 13)
STYLE = {style.name: style for style in STYLES}


class Sprout:
    """Lets the variable parts of headers grow."""

    def __init__(self, generator: "Generator") -> None:
        self.generator = generator

    @property
    def draw(self) -> random.Random:
        """The generator's own."""
        return self.generator.draw

    def body(self, header: Header, at: int) -> None:
        """Octets of the header behind its fields; what it carries is counted later."""
        frame = self.generator.frame
        if header.extent is not None:
            frame.pending.append((at, header))
        if header.trailer is not None and not header.trailer.column and not frame.tailed:
            rule = header.trailer
            value = self.value(header, rule, at) if rule.field else 0
            frame.pending.append(self.draw.randbytes(value * rule.unit + rule.add))
        rule = header.length
        if rule is None or header.peek:
            return
        if rule.flags or not rule.field:
            value = self.value(header, rule, at) & rule.flags if rule.flags else 0
            size = value.bit_count() * rule.unit + rule.add
            frame.octets += self.draw.randbytes(max(at + size - len(frame.octets), 0))
            return
        most = self.place(header, rule.field).mask * rule.unit + rule.add
        if header.options is not None:
            if header.options_at is not None:
                self.segments(header, header.options_at, at)
            self.options(header, at, most)
        elif self.draw.random() < 0.4:
            frame.octets += self.draw.randbytes(self.draw.randrange(MOST_BODY))
        self.fill(header, rule, at, most)
        self.count(header, rule, at, len(frame.octets))

    def fill(self, header: Header, rule: Length, at: int, most: int) -> None:
        """Pad to the unit that the length counts."""
        frame = self.generator.frame
        size = max(len(frame.octets) - at, rule.add, header.octets)
        size += -(size - rule.add) % rule.unit
        if size > most:
            del frame.octets[at + header.octets :]
            size = max(rule.add, header.octets)
            size += -(size - rule.add) % rule.unit
        missing = at + size - len(frame.octets)
        style = STYLE[header.options[1]] if header.options else None
        if style is not None and style.single >= 0:
            frame.octets += bytes([style.single]) * missing
        else:
            frame.octets += bytes(missing)

    def place(self, header: Header, name: str) -> Place:
        """Where a field of a header lies."""
        return next(place for place in header.places() if place.field.name == name)

    def value(self, header: Header, rule: Length, at: int) -> int:
        """What the rule's field holds."""
        return self.place(header, rule.field).read(self.generator.frame.octets, at)

    def count(self, header: Header, rule: Length, at: int, end: int) -> None:
        """Write the length of what now stands between `at` and `end`."""
        if not rule.field or (rule.open == 0 and self.draw.random() < 0.01):
            return
        value = max(end - at - rule.add, 0) // (rule.unit or 1)
        self.generator.frame.write(at, self.place(header, rule.field), value)

    def segments(self, header: Header, rule: Length, at: int) -> None:
        """Octets in front of a list, and how many there are."""
        frame = self.generator.frame
        number = self.draw.randrange(3)
        frame.octets += self.draw.randbytes(rule.add + number * rule.unit - header.octets)
        self.count(header, rule, at, at + rule.add + number * rule.unit)

    def options(self, header: Header, at: int, most: int) -> None:
        """A list of options, known and unknown, as long as there is room."""
        frame = self.generator.frame
        assert header.options is not None
        space, name = header.options
        for _ in range(self.draw.choice((0, 0, 1, 1, 2, 4))):
            before = len(frame.octets), len(frame.starts), len(frame.points)
            self.option(space, STYLE[name])
            if len(frame.octets) - at > most:
                del frame.octets[before[0] :]
                del frame.starts[before[1] :], frame.names[before[1] :], frame.points[before[2] :]
                return

    def option(self, space: str, style: Style) -> None:
        """One option at the end of the frame."""
        frame, draw = self.generator.frame, self.draw
        at = len(frame.octets)
        claims = self.generator.options[space]
        if style.single >= 0 and draw.random() < 0.2:
            frame.octets.append(style.single)
            return
        if not claims or draw.random() < 0.1:
            kind, size = draw.randrange(2, 256), style.add + style.unit * draw.randrange(5)
            size = max(size, style.shortest)
            frame.octets += draw.randbytes(size)
        else:
            names = sorted(set(claims.values()))
            name = draw.choice(names)
            kind, told = draw.choice([claim for claim in claims if claims[claim] == name])
            header = self.generator.fixed(name, at, told or 255)
            size = self.inside(header, at, told, style)
        frame.octets[at + style.kind] = kind
        extra = self.generator.extra.get(space, {}).get(kind, 0)
        length = max(size - extra - style.add, 0) // style.unit & style.mask
        octet = frame.octets[at + style.length]
        frame.octets[at + style.length] = octet & ~style.mask & 0xFF | length
        frame.points.append((at + style.length, style.mask))

    def inside(self, header: Header, at: int, told: int, style: Style) -> int:
        """Records and remainder of an option: the octets of all."""
        frame, draw = self.generator.frame, self.draw
        if header.records is not None:
            self.stack(header)
        elif not told and draw.random() < 0.3:
            frame.octets += draw.randbytes(draw.randrange(12))
        size = max(told, len(frame.octets) - at, style.shortest)
        size += -(size - style.add) % style.unit
        frame.octets += draw.randbytes(at + size - len(frame.octets))
        return size

    def stack(self, header: Header) -> None:
        """Records behind a header, and every number that counts them."""
        frame, draw, rule = self.generator.frame, self.draw, header.records
        assert rule is not None
        if rule.start is not None:
            return
        octets = b""
        number = draw.choice(HOPS) if rule.per_hop and (rule.total or rule.count) else 1
        stride = self.stride(rule)
        for _ in range(number):
            octets += self.record(rule, stride)
        if rule.bottom and draw.random() < 0.5:
            octets += draw.randbytes(sum(each.bits for each in rule.bottom) // 8)
        if rule.skip is not None:
            free = draw.choice((0, 0, 1, 2, 9))
            frame.correct(rule.skip, free)
            octets = draw.randbytes(WORD * free) + octets
        if rule.total is not None:
            frame.correct(rule.total, max(len(octets) - rule.add, 0) // rule.unit)
        frame.correct(rule.count, number)
        if rule.tail is not None and tailed(rule, frame):  # type: ignore[arg-type]  # has `steering`
            frame.pending.append(octets)
            frame.tailed = True
        else:
            frame.octets += octets

    def stride(self, rule: Records) -> int:
        """Octets of a record without those that its parts count, written where they are told."""
        parts = named(rule, self.generator.frame.steering)
        need = sum(part.octets for part in parts if not (part.words and rule.stride))
        if rule.stride is None:
            return need
        words = -(-need // WORD) + (0 if rule.exact else self.draw.choice((0, 0, 0, 1)))
        self.generator.frame.correct(rule.stride, words)
        return WORD * self.generator.frame.steering.get(rule.stride, words)

    def record(self, rule: Records, stride: int) -> bytes:
        """One record."""
        parts = named(rule, self.generator.frame.steering)
        key = None
        if rule.key is not None:
            key = self.draw.choice(rule.parts)
            parts = [key]
        octets = bytearray()
        counted = 0
        for part in parts:
            octets += (piece := self.part(part))
            counted += len(piece) if part.words else 0
        if key is not None and rule.key is not None:
            put(octets, 0, Place(rule.key, 0, 1, -rule.key.bits % 8), key.bit)
        if rule.stride is not None:
            octets += self.draw.randbytes(max(stride + counted - len(octets), 0))
        return bytes(octets)

    def part(self, part: Part) -> bytes:
        """The fields of a part, and the words that it counts."""
        octets = bytearray(self.draw.randbytes(part.octets))
        if self.draw.random() < 0.1:
            octets = bytearray(b"\xff" * part.octets)
        for place in places("part", part.fields):
            if part.words and place.field.name == part.words:
                words = self.draw.randrange(3)
                put(octets, 0, place, words)
                octets += self.draw.randbytes(WORD * words)
        return bytes(octets)
