"""Layouts: scripts of frames walked before, found again by the octets that decided.

Frames of one layout differ in values, not in structure. A capture has few layouts, so nearly every
frame is recognised by comparing a handful of words, and nothing of it is walked.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector.graph import Graph
from collector.kernel import Record, inlined, step
from collector.script import (
    BOUND,
    BOUNDS,
    EMPTY,
    END_AT,
    EXTENT,
    FLOOR,
    GUARD_WORDS,
    HIGHEST,
    HOPS,
    LAYERS,
    LOOKUP,
    LOOKUPS,
    MATCHABLE,
    NEED,
    READ,
    READS,
    REST,
    STATUS,
    WITHIN,
    Script,
    big,
    signed,
    swapped,
)
from collector.script import TRAILER as TRAILER_BOUND

LAYOUT = np.dtype(
    [("start", "i8"), ("need", "i8"), ("floor", "i8"), ("end", "i8"), ("guard0", "i8"),
     ("guard1", "i8"), ("lookup0", "i8"), ("lookup1", "i8"), ("bound0", "i8"), ("bound1", "i8"),
     ("read0", "i8"), ("read1", "i8"), ("layers", "i8"), ("status", "i8"), ("hops", "i8"),
     ("rest", "i8"), ("empty", "i8"), ("matchable", "i8"), ("hash", "u8"), ("known", "i8")]
)  # fmt: skip
GUARD = np.dtype([("at", "i8"), ("mask", "u8"), ("value", "u8")])
MOST_LAYOUTS, MOST_GUARDS, MOST_POOLED, MOST_POOLED_READS = 4096, 1 << 16, 1 << 15, 1 << 18
TABLE = 1 << 14
"""Places of the hash table; four for each layout that is kept."""
RECENT = 16
"""Layouts that a frame is compared with before it is walked."""
COUNT, GUARD_COUNT, LOOKUP_COUNT, BOUND_COUNT, READ_COUNT, RECENT_COUNT = range(6)
PRIME = 0x9E3779B97F4A7C15


MOST_COLUMNS = 4096
LAYOUTS = np.dtype(
    [("n", "i8", (6,)), ("layouts", LAYOUT, (MOST_LAYOUTS,)), ("guards", GUARD, (MOST_GUARDS,)),
     ("lookups", LOOKUP, (MOST_POOLED,)), ("bounds", BOUND, (MOST_POOLED,)),
     ("reads", READ, (MOST_POOLED_READS,)), ("table", "i4", (TABLE,)), ("recent", "i8", (RECENT,)),
     ("seen", "i8", (MOST_COLUMNS,))]
)  # fmt: skip
"""Every layout that is kept; `n` says how much of each list is filled."""
Layouts = Record


def layouts() -> NDArray[Any]:
    """Room for layouts, one record."""
    pool = np.zeros(1, LAYOUTS)
    forget(pool)
    return pool


def forget(pool: NDArray[Any]) -> None:
    """Start anew; what the lists hold is overwritten."""
    pool["n"] = 0
    pool["table"] = -1


@step
def full(pool: Layouts, s: Script) -> bool:
    """Whether one more script might not fit."""
    n = pool.n
    return bool(
        n[COUNT] >= MOST_LAYOUTS
        or n[GUARD_COUNT] + GUARD_WORDS > MOST_GUARDS
        or n[LOOKUP_COUNT] + s.n[LOOKUPS] > MOST_POOLED
        or n[BOUND_COUNT] + s.n[BOUNDS] > MOST_POOLED
        or n[READ_COUNT] + s.n[READS] > MOST_POOLED_READS
    )


@inlined
def stir(state: Any, value: Any) -> Any:
    """One step of the hash of a script."""
    state = (state ^ np.uint64(value)) * np.uint64(PRIME)
    return state ^ state >> np.uint64(29)


@step
def last_wins(pool: Layouts, s: Script) -> None:
    """Drop reads whose column a later read writes as well."""
    stamp = pool.seen[0] + 1
    pool.seen[0] = stamp
    first = s.n[READS]
    for back in range(s.n[READS]):
        number = s.n[READS] - 1 - back
        read = s.reads[number]
        column = read.column + 1
        if read.flags & HIGHEST == 0:
            if pool.seen[column] == stamp:
                continue
            pool.seen[column] = stamp
        first -= 1
        if first != number:
            s.reads[first] = s.reads[number]
    for number in range(first, s.n[READS]):
        if first > 0:
            s.reads[number - first] = s.reads[number]
    s.n[READS] -= first


@step
def digest(s: Script, start: int) -> Any:
    """Hash of all that a script says."""
    state = stir(np.uint64(PRIME), start)
    for place in (NEED, FLOOR, END_AT, LAYERS, STATUS, HOPS, REST, EMPTY, MATCHABLE, READS):
        state = stir(state, s.n[place])
    for number in range(s.n[READS]):
        read = s.reads[number]
        state = stir(stir(state, read.at), read.plus ^ read.mask)
        state = stir(state, read.column << 8 | read.flags)
        state = stir(state, read.shift)
    if s.n[MATCHABLE] != 0:
        for place in range(GUARD_WORDS):
            if s.guard_mask[place] != 0:
                state = stir(stir(state, s.guard_mask[place]), s.guard_value[place])
                state = stir(state, place)
        for number in range(s.n[LOOKUPS]):
            row = s.lookups[number]
            state = stir(stir(state, row.at << 16 | row.space), row.to)
        for number in range(s.n[BOUNDS]):
            bound = s.bounds[number]
            state = stir(stir(state, bound.at << 8 | bound.kind), bound.add)
    return state


@step
def same(pool: Layouts, number: int, s: Script) -> bool:
    """Whether a kept layout reads what a script reads: equal hashes alone prove nothing."""
    layout = pool.layouts[number]
    if layout.read1 - layout.read0 != s.n[READS] or layout.need != s.n[NEED]:
        return False
    for row in range(s.n[READS]):
        one, other = pool.reads[layout.read0 + row], s.reads[row]
        if one.at != other.at or one.column != other.column or one.mask != other.mask:
            return False
    return bool(layout.layers == s.n[LAYERS] and layout.status == s.n[STATUS])


@step
def store(pool: Layouts, s: Script, start: int, known: int) -> int:
    """The layout of a script: one that says the same, or a new one."""
    last_wins(pool, s)
    state = digest(s, start)
    slot = signed(state & np.uint64(TABLE - 1))
    while pool.table[slot] >= 0:
        other = pool.table[slot]
        if pool.layouts[other].hash == state and same(pool, other, s):
            return int(pool.table[slot])
        slot = (slot + 1) & (TABLE - 1)
    number = pool.n[COUNT]
    pool.table[slot] = number
    pool.n[COUNT] = number + 1
    layout = pool.layouts[number]
    layout.start, layout.hash, layout.known = start, state, known
    layout.need, layout.floor, layout.end = s.n[NEED], s.n[FLOOR], s.n[END_AT]
    layout.layers, layout.status, layout.hops = s.n[LAYERS], s.n[STATUS], s.n[HOPS]
    layout.rest, layout.empty, layout.matchable = s.n[REST], s.n[EMPTY], s.n[MATCHABLE]
    layout.guard0 = pool.n[GUARD_COUNT]
    layout.lookup0, layout.bound0 = pool.n[LOOKUP_COUNT], pool.n[BOUND_COUNT]
    layout.read0 = pool.n[READ_COUNT]
    if s.n[MATCHABLE] != 0:
        for place in range(GUARD_WORDS):
            if s.guard_mask[place] != 0:
                guard = pool.guards[pool.n[GUARD_COUNT]]
                guard.at, guard.mask = place * 8, s.guard_mask[place]
                guard.value = s.guard_value[place]
                pool.n[GUARD_COUNT] += 1
        for row in range(s.n[LOOKUPS]):
            pool.lookups[pool.n[LOOKUP_COUNT]] = s.lookups[row]
            pool.n[LOOKUP_COUNT] += 1
        for row in range(s.n[BOUNDS]):
            pool.bounds[pool.n[BOUND_COUNT]] = s.bounds[row]
            pool.n[BOUND_COUNT] += 1
    for row in range(s.n[READS]):
        pool.reads[pool.n[READ_COUNT]] = s.reads[row]
        pool.n[READ_COUNT] += 1
    layout.guard1 = pool.n[GUARD_COUNT]
    layout.lookup1, layout.bound1 = pool.n[LOOKUP_COUNT], pool.n[BOUND_COUNT]
    layout.read1 = pool.n[READ_COUNT]
    return int(number)


@step
def remember(pool: Layouts, number: int) -> None:
    """A layout is the first to be compared with from now on."""
    if pool.n[RECENT_COUNT] < RECENT:
        pool.n[RECENT_COUNT] += 1
    for place in range(pool.n[RECENT_COUNT] - 1, 0, -1):
        pool.recent[place] = pool.recent[place - 1]
    pool.recent[0] = number


@inlined
def matches(
    data: NDArray[np.uint8],
    start: int,
    captured: int,
    wire: int,
    number: int,
    at: int,
    graph: Graph,
    pool: Layouts,
    found: NDArray[np.int64],
) -> bool:
    """Whether the frame has layout `number`; `found` takes its payload and where more begins."""
    layout = pool.layouts[number]
    if layout.start != at or captured < layout.need or wire < layout.floor:
        return False
    for row in range(layout.guard0, layout.guard1):
        guard = pool.guards[row]
        if big(data, start + guard.at) & guard.mask != guard.value:
            return False
    for row in range(layout.lookup0, layout.lookup1):
        lookup = pool.lookups[row]
        word = big(data, start + lookup.at)
        if lookup.little != 0:
            word = swapped(word)
        key = signed(word >> lookup.shift & lookup.mask & np.uint64(0xFFFF))
        if graph.spaces[lookup.space, key] != lookup.to:
            return False
    least = max(layout.need, layout.floor)
    found[1] = 0
    for row in range(layout.bound0, layout.bound1):
        bound = pool.bounds[row]
        if bound.kind == TRAILER_BOUND:
            wire -= bound.add
            continue
        octets = bound.add
        if bound.unit != 0:
            word = big(data, start + bound.at)
            if bound.little != 0:
                word = swapped(word)
            value = word >> bound.shift & bound.mask
            if value == bound.open:
                continue
            octets += signed(value) * bound.unit
        end = bound.header + octets
        if end < least:
            return False
        if bound.kind != EXTENT and end != wire:
            if bound.kind == WITHIN or end > wire:
                return False
            found[1], found[2] = end, wire
        wire = end
    if layout.empty != 0 and wire > layout.end:
        return False
    found[0] = max(wire - layout.end, 0)
    return True
