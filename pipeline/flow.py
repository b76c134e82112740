"""The flow table: (conversation, point) -> slot, bounded, in arrays.

Slots stand in sets of `WAYS`; a flow may take any slot of the set that its key names, so a look-up
reads two cache lines at most, nothing is ever rehashed, and a full set gives up the flow idle the
longest. What is evicted depends on the rows alone, never on how they were cut into batches.
"""

import numpy as np
from numpy.typing import NDArray

from collector import inlined

WAYS = 16
FOUND, NEW, EVICTED = 0, 1, 2
"""What `locate` did: found the flow, gave it an empty slot, or took the slot of another."""


def capacity(flows: int) -> int:
    """Slots for `flows` live flows at half load: a power of two of sets."""
    sets = max(1, (2 * flows + WAYS - 1) // WAYS)
    return WAYS << (sets - 1).bit_length()


@inlined
def key_of(conversation: int, point: int) -> np.uint64:
    """One 64-bit key, never 0: both parts mixed by multiply and shift (Murmur3's finaliser)."""
    key = np.uint64(conversation) ^ (np.uint64(point) * np.uint64(0x9E3779B97F4A7C15))
    key = (key ^ (key >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    key = (key ^ (key >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    key ^= key >> np.uint64(33)
    return key if key != np.uint64(0) else np.uint64(1)


@inlined
def locate(
    keys: NDArray[np.uint64], last_ns: NDArray[np.int64], key: np.uint64, time_ns: int
) -> tuple[int, int]:
    """The slot of `key` and how it came by it; `keys` is 0 where a slot is empty.

    `last_ns` holds when each slot was last asked for, in event time, and is brought up to date.
    """
    sets = np.uint64(keys.size // WAYS)
    first = int(key & (sets - np.uint64(1))) * WAYS
    oldest = first
    for slot in range(first, first + WAYS):
        if keys[slot] == key:
            last_ns[slot] = time_ns
            return slot, FOUND
        if keys[slot] == np.uint64(0):
            keys[slot] = key
            last_ns[slot] = time_ns
            return slot, NEW
        if last_ns[slot] < last_ns[oldest]:
            oldest = slot
    keys[oldest] = key
    last_ns[oldest] = time_ns
    return oldest, EVICTED
