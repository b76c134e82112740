"""Stacks of records read plainly: the oracle of the compiled walk's stacks."""

from collections.abc import Iterator

from collector.observation import HOPS
from collector.reading import Reading
from collector.status import CODE
from collector.wire.place import OCTET, Field, places
from collector.wire.table import Header, Part, Records

WORD = 4


def records(
    octets: bytes, at: int, behind: int, end: int, wire_end: int, header: Header, reading: Reading
) -> tuple[int, int]:
    """Read the records of a header at octet `at` whose own octets end at `behind`.

    Gives (octets that they take behind the header, status).
    """
    rule = header.records
    assert rule is not None
    disagree(rule, reading)
    place = area(rule, reading.steering, at, behind, wire_end)
    taken = 0 if rule.start is not None or (rule.tail and tailed(rule, reading)) else place[2]
    if place[1] < 0:
        return max(taken, 0), CODE[rule.reason]
    found, status = split(octets, rule, reading.steering, place[0], place[1], end)
    if status == CODE[rule.reason] and not rule.whole:
        return taken, status
    if rule.per_hop:
        reading.hops = [{} for _ in range(min(len(found), HOPS))]
        if len(found) > HOPS:
            status = status or CODE["too_many_hops"]
    order = found[::-1] if rule.newest_first else found
    for hop, (start, length, parts) in enumerate(order[: HOPS if rule.per_hop else 1]):
        if start + length > end:
            sent = rule.per_hop or start + length <= wire_end
            status = CODE["truncated" if sent else rule.reason]
            continue
        for name, value in told(octets, start, parts):
            if rule.per_hop:
                reading.hops[hop][name] = value
            else:
                reading.columns[name] = reading.steering[name] = value
    bottom = place[2] - place[1] if rule.bottom and rule.total else 0
    if bottom and place[0] + place[1] + bottom <= end:
        source = Part(0, rule.bottom)
        reading.columns |= dict(told(octets, place[0] + place[1], [source]))
    return taken, status


def disagree(rule: Records, reading: Reading) -> None:
    """Tell the words of a record where its parts come to others; 0 takes back what was told."""
    if rule.mismatch is None or rule.stride is None:
        return
    words = reading.steering.get(rule.stride, 0)
    if words * WORD == sum(part.octets for part in named(rule, reading.steering)):
        words = 0
    if words or reading.steering.get(rule.mismatch, 0):
        reading.columns[rule.mismatch] = reading.steering[rule.mismatch] = words


def tailed(rule: Records, reading: Reading) -> bool:
    """Whether the stack ends where the frame ends."""
    assert rule.tail is not None
    return reading.steering.get(rule.tail[0], 0) & rule.tail[1] != 0


def area(
    rule: Records, steering: dict[str, int], at: int, behind: int, wire_end: int
) -> tuple[int, int, int]:
    """(first octet of the records, octets of all records, octets of the whole stack).

    Octets of all records are -1 when lengths contradict each other; a count or a single record says
    how many there are by itself.
    """
    start = behind if rule.start is None else at + rule.start
    if rule.count is not None:
        stride = sum(part.octets for part in rule.parts)
        count = steering.get(rule.count, 0)
        return start, min(count, rule.slots or count) * stride, count * stride
    if rule.total is None:
        need = sum(part.octets for part in named(rule, steering))
        return start, need, need
    whole = steering.get(rule.total, 0) * rule.unit + rule.add
    free = steering.get(rule.skip, 0) * WORD if rule.skip else 0
    if rule.tail and steering.get(rule.tail[0], 0) & rule.tail[1]:
        start = wire_end - whole
    if whole < 0 or free > whole or start < at:
        return start, -1, whole
    return start + free, whole - free - below(rule, steering, whole - free), whole


def below(rule: Records, steering: dict[str, int], left: int) -> int:
    """Octets at the bottom of a stack of `left` octets that belong to no record."""
    bottom = sum(field.bits for field in rule.bottom) // OCTET
    stride = steering.get(rule.stride, 0) * WORD if rule.stride else 0
    fits = left >= bottom and (not stride or (left - bottom) % stride == 0)
    return bottom if fits else 0


def named(rule: Records, steering: dict[str, int]) -> list[Part]:
    """The parts that the bitmap names, or all."""
    if not rule.bitmap:
        return list(rule.parts)
    width = rule.bits // len(rule.bitmap)
    bits = 0
    for column in rule.bitmap:
        bits = bits << width | steering.get(column, 0)
    return [part for part in rule.parts if bits >> rule.bits - 1 - part.bit & 1]


def split(
    octets: bytes, rule: Records, steering: dict[str, int], start: int, left: int, end: int
) -> tuple[list[tuple[int, int, list[Part]]], int]:
    """Records from `start` on: (first octet, octets, parts) of each, and the status."""
    found: list[tuple[int, int, list[Part]]] = []
    bad = CODE[rule.reason]
    parts = named(rule, steering)
    at, stop = start, start + left
    turn = ring(rule, steering)
    while at < stop:
        if rule.key:
            [key] = places("key", (rule.key, Field("rest", -rule.key.bits % OCTET)))[:1]
            if at + key.octets > end:
                return found, CODE["truncated"]
            number = key.read(octets, at)
            parts = [part for part in rule.parts if part.bit == number]
            if not parts:
                return found, bad
        need = sum(part.octets for part in parts)
        length = steering.get(rule.stride, 0) * WORD if rule.stride else need
        variable = [part for part in parts if part.words]
        fixed = need - sum(part.octets for part in variable) * bool(rule.stride)
        if fixed > length or (rule.exact and fixed != length):
            return found, bad
        if variable:
            if rule.stride:
                length += sum(part.octets for part in variable)
            counted, known = words(octets, at, parts, end)
            if not known:
                return found, CODE["truncated"]
            length += counted * WORD
        if length == 0 or at + length > stop:
            return found, bad
        found.append((at, length, parts))
        at += length
    return found[turn:] + found[:turn], 0


def ring(rule: Records, steering: dict[str, int]) -> int:
    """Slot of the oldest record when a ring is full."""
    count = steering.get(rule.count, 0) if rule.count else 0
    return count % rule.slots if rule.slots and count > rule.slots else 0


def words(octets: bytes, at: int, parts: list[Part], end: int) -> tuple[int, bool]:
    """Words that variable parts of the record at `at` count, and whether the count was captured."""
    counted = 0
    for part in parts:
        for place in places("part", part.fields):
            if place.field.name == part.words:
                if at + place.octet + place.octets > end:
                    return 0, False
                counted += place.read(octets, at)
        at += part.octets
    return counted, True


def told(octets: bytes, at: int, parts: list[Part]) -> Iterator[tuple[str, int]]:
    """Column and value of each kept field of a record."""
    for part in parts:
        for place in places("part", part.fields):
            if place.field.column:
                yield place.field.column, place.read(octets, at) | place.field.plus
        at += part.octets
