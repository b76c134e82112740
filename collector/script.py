"""What the walk of one frame leaves behind: which octets decided, and which are to be read.

A frame is walked only once for its layout. What the walk saw is written down as a script: the words
that decided its way (guards), the numbers that led nowhere (lookups), the lengths that may differ
from frame to frame (bounds), and where each column's value lies (reads).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.kernel import Record, inlined, step

GUARD_WORDS = 64
"""Words of eight octets from a frame's start that can decide; what lies behind is never matched."""
MOST_READS, MOST_LOOKUPS, MOST_BOUNDS, MOST_RECORDS = 1024, 48, 48, 256

READ = np.dtype(
    [("at", "i8"), ("shift", "u8"), ("mask", "u8"), ("plus", "u8"), ("column", "i4"),
     ("flags", "i4")]
)  # fmt: skip
LITTLE, FLOW, HOP, HIGHEST, HANDS = 1, 2, 4, 8, 16
"""Flags of a read: little-endian, of the flow's own layers, of a hop, joined by the maximum, handed
on to rows that begin behind."""
LOOKUP = np.dtype(
    [("at", "i8"), ("shift", "u8"), ("mask", "u8"), ("little", "i4"), ("space", "i4"), ("to", "i8")]
)
BOUND = np.dtype(
    [("at", "i8"), ("shift", "u8"), ("mask", "u8"), ("little", "i8"), ("unit", "i8"), ("add", "i8"),
     ("open", "u8"), ("header", "i8"), ("kind", "i8")]
)  # fmt: skip
EXTENT, AGAIN, TRAILER, WITHIN = 0, 1, 2, 3
"""Kinds of bounds: an extent, one behind which another row may begin, octets at the end, and an
extent inside such a row, behind which nothing may be left."""

(READS, LOOKUPS, BOUNDS, MATCHABLE, NEED, FLOOR, LAYERS, STATUS, HOPS, REST, END, WIRE_END, PAYLOAD,
 REST_AT, REST_END, END_AT, MORE, EMPTY) = range(18)  # fmt: skip
"""Places in `Script.n`: how much is filled, and what is known of the whole frame. `EMPTY`: that
nothing is left behind what was read ended the walk."""


REGISTERS = 512
SCRIPT = np.dtype(
    [("n", "i8", (18,)), ("guard_mask", "u8", (GUARD_WORDS,)),
     ("guard_value", "u8", (GUARD_WORDS,)),
     ("reads", READ, (MOST_READS,)), ("lookups", LOOKUP, (MOST_LOOKUPS,)),
     ("bounds", BOUND, (MOST_BOUNDS,)), ("register", "u8", (REGISTERS,)),
     ("register_at", "i8", (REGISTERS,)), ("register_field", "i8", (REGISTERS,)),
     ("records", "i8", (3, MOST_RECORDS))]
)  # fmt: skip
"""Scratch space of one walk; the registers hold flat columns as far as rules may ask for them.

One record, not a tuple of arrays: a step is handed one address.
"""
Script = Record


@inlined
def signed(value: Any) -> Any:
    """An unsigned 64-bit number as a signed one: the two together would become a float."""
    return np.int64(value)


@inlined
def big(data: NDArray[np.uint8], at: int) -> Any:
    """Eight octets as one number, the first one highest; this compiles to a single load."""
    start = np.uint64(at)
    value = np.uint64(data[start]) << np.uint64(56)
    value |= np.uint64(data[start + np.uint64(1)]) << np.uint64(48)
    value |= np.uint64(data[start + np.uint64(2)]) << np.uint64(40)
    value |= np.uint64(data[start + np.uint64(3)]) << np.uint64(32)
    value |= np.uint64(data[start + np.uint64(4)]) << np.uint64(24)
    value |= np.uint64(data[start + np.uint64(5)]) << np.uint64(16)
    value |= np.uint64(data[start + np.uint64(6)]) << np.uint64(8)
    return value | np.uint64(data[start + np.uint64(7)])


@step
def swapped(value: Any) -> Any:
    """The octets of a word in the other order."""
    turned = np.uint64(0)
    for _ in range(8):
        turned = turned << np.uint64(8) | value & np.uint64(0xFF)
        value >>= np.uint64(8)
    return turned


@inlined
def fetch(data: NDArray[np.uint8], at: int, field: Record) -> Any:
    """Value of one field of the header that starts at octet `at` of the data."""
    word = big(data, at + field.first)
    if field.little != 0:
        word = swapped(word)
    return word >> field.shift & field.mask


@step
def guard(s: Script, data: NDArray[np.uint8], start: int, at: int, mask: Any) -> None:
    """What the bits of `mask` are in the eight octets from octet `at` of the frame has decided."""
    place, turn = at >> 3, np.uint64((at & 7) * 8)
    if place + 1 >= GUARD_WORDS:
        s.n[MATCHABLE] = 0
        return
    value = big(data, start + at) & mask
    s.guard_mask[place] |= mask >> turn
    s.guard_value[place] |= value >> turn
    if turn != 0:
        s.guard_mask[place + 1] |= mask << np.uint64(64) - turn
        s.guard_value[place + 1] |= value << np.uint64(64) - turn


@step
def decide(s: Script, data: NDArray[np.uint8], start: int, at: int, field: Record) -> None:
    """The value of a field has decided."""
    mask = field.mask << field.shift
    if field.little != 0:
        mask = swapped(mask)
    guard(s, data, start, at + field.first, mask)


@step
def push(s: Script, at: int, field: Record, column: int, flags: int) -> None:
    """A field of the header at octet `at` of the frame is to be read into a column."""
    number = s.n[READS]
    if number >= MOST_READS:
        s.n[MATCHABLE] = 0
        return
    read = s.reads[number]
    read.at, read.shift, read.mask = at + field.first, field.shift, field.mask
    read.plus, read.column = field.plus, column
    read.flags = flags | (LITTLE if field.little != 0 else 0)
    s.n[READS] = number + 1


@step
def push_constant(s: Script, value: Any, column: int, flags: int) -> None:
    """A column has this value in every frame of the layout."""
    number = s.n[READS]
    if number >= MOST_READS:
        s.n[MATCHABLE] = 0
        return
    read = s.reads[number]
    read.at, read.shift, read.mask = 0, np.uint64(0), np.uint64(0)
    read.plus, read.column, read.flags = value, column, flags
    s.n[READS] = number + 1


@step
def drop(s: Script, mask: int, flags: int) -> None:
    """Forget the reads whose flags under a mask are these."""
    kept = 0
    for number in range(s.n[READS]):
        if s.reads[number].flags & mask != flags:
            if kept != number:
                s.reads[kept] = s.reads[number]
            kept += 1
    s.n[READS] = kept
