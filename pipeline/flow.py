"""The flow table: (conversation, point) -> slot, bounded, in arrays.

Entries stand in sets of `WAYS`; a flow may take any entry of the set that its key names, so a
look-up reads two cache lines at most and nothing is ever rehashed. A full set gives up the flow
that has proved itself least (a closed one, then one of few rows) and of those the one idle the
longest, so that a flood of flows of one packet takes only its own places. What is evicted depends
on the rows alone, never on how they were cut into batches.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.cc.parameter import Record, state_dtype

WAYS = 16
SLOTS = 5
"""Where `Memory.used` counts the slots given out."""
FOUND, NEW, EVICTED_NEW, EVICTED_LIVE, EXPIRED = range(5)
"""What `locate` did: found the flow, gave it an empty entry, took that of a flow of few rows or of
one that had proved itself, or found it after so long that nothing of it holds any more."""
CLOSED, PROVEN = 0, 4
"""Rank of a closed flow, and of one that has had so many rows; in between the rank counts rows."""
TICK = 20
"""Flows are compared by when they were last seen in steps of 2**20 ns, about a millisecond."""
RANKS, DIRTY, UNIT = 8, 8, 16
"""`seen` is the tick in steps of UNIT and, in its lowest bits, the rank and DIRTY: whether the flow
was touched since the last snapshot. All is written at each row anyway, so it costs nothing."""
MASK, MOST_IDLE = (1 << 28) - 1, 7 << 25
"""Ticks are counted modulo 2**28, three days; of these seven eighths are before now."""

ENTRY = state_dtype(("u8", "key"), ("i4", "slot"), ("u4", "seen"))
"""One flow: key (0: empty), slot, and `seen` as above. Four of them lie in a cache line."""


def table(flows: int) -> NDArray[Any]:
    """An empty table for so many live flows at half load: a power of two of sets."""
    sets = max(1, (2 * flows + WAYS - 1) // WAYS)
    return np.zeros(WAYS << (sets - 1).bit_length(), ENTRY)


@inlined
def key_of(conversation: int, point: int) -> np.uint64:
    """One 64-bit key, never 0: both parts mixed by multiply and shift (Murmur3's finaliser)."""
    key = np.uint64(conversation) ^ (np.uint64(point) * np.uint64(0x9E3779B97F4A7C15))
    key = (key ^ (key >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    key = (key ^ (key >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    key ^= key >> np.uint64(33)
    return key if key != np.uint64(0) else np.uint64(1)


@inlined
def entry_of(flows: NDArray[Any], key: np.uint64, step: int) -> int:
    """The entry that a key takes at a step: its set from its low bits, where in it from its top."""
    first = key & np.uint64(flows.size // WAYS - 1)
    way = (key >> np.uint64(60)) + np.uint64(step) & np.uint64(WAYS - 1)
    return int(first * np.uint64(WAYS) + way)


@inlined
def idle(entry: Record, now: int) -> int:
    """Ticks since an entry was last seen; one from later on counts as none."""
    ticks = (now - entry.seen // UNIT) & MASK
    return ticks if ticks < MOST_IDLE else 0


@inlined
def locate(
    flows: NDArray[Any], key: np.uint64, time_ns: int, idle_ticks: int, used: NDArray[np.int64]
) -> tuple[int, int]:
    """The entry of `key` and how it came by it; `used[SLOTS]` counts the slots given out."""
    now = (time_ns >> TICK) & MASK
    at = entry_of(flows, key, 0)
    for step in range(WAYS):
        here = entry_of(flows, key, step)
        entry = flows[here]
        if entry.key == key:
            rank = entry.seen % RANKS
            if idle(entry, now) > idle_ticks:
                entry.seen = now * UNIT + DIRTY + 1
                return here, EXPIRED
            rank = rank + 1 if CLOSED < rank < PROVEN else rank
            entry.seen = now * UNIT + DIRTY + rank
            return here, FOUND
        if entry.key == np.uint64(0):
            entry.slot = used[SLOTS]
            used[SLOTS] += 1
            take(entry, key, now)
            return here, NEW
        worst = flows[at]
        rank, lowest = entry.seen % RANKS, worst.seen % RANKS
        if rank < lowest or (rank == lowest and idle(entry, now) > idle(worst, now)):
            at = here
    how = EVICTED_LIVE if flows[at].seen % RANKS == PROVEN else EVICTED_NEW
    take(flows[at], key, now)
    return at, how


@inlined
def take(entry: Record, key: np.uint64, now: int) -> None:
    """Give an entry, with the slot that it has, to a flow."""
    entry.key = key
    entry.seen = now * UNIT + DIRTY + 1


@inlined
def settle(entry: Record, closed: bool) -> None:
    """A flow that is over is the first to be given up; one that goes on after all begins anew."""
    rank = entry.seen % RANKS
    if closed != (rank == CLOSED):
        entry.seen = entry.seen // RANKS * RANKS + (CLOSED if closed else 1)
