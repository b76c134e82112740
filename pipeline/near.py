"""State of the next rows brought near: it is asked for all at once, so that the waits overlap.

With a million flows every row's state is far away. One row after the other would wait for memory a
dozen times; here each step asks for one link of the chain (entry, slot, record, L) for many rows.
"""

import numpy as np
from numpy.typing import NDArray

from collector import inlined, prefetch
from pipeline.batch import Rows
from pipeline.flow import WAYS, entry_of, key_of
from pipeline.memory import Ints, Memory

AHEAD = 64
"""Rows that are asked for at a time; `near` has one place more."""
LARGE = 1 << 13
"""Slots up to which all state is near anyway."""
NONE = -1


@inlined
def come(
    rows: Rows, keys: NDArray[np.uint64], near: Ints, memory: Memory, first: int, end: int
) -> None:
    """Keys of the flows of rows from `first` to `end`, and their state asked for."""
    for at in range(first, end):
        row = np.uint64(at)  # an index without a sign is a plain load
        keys[row - np.uint64(first)] = key_of(rows.conversation[row], rows.point[row])
    for place in range(end - first):
        prefetch(memory.flows, entry_of(memory.flows, keys[np.uint64(place)], 0))
    if memory.slots.size > LARGE:
        bring(rows, keys, near, memory, first, end)


@inlined
def bring(
    rows: Rows, keys: NDArray[np.uint64], near: Ints, memory: Memory, first: int, end: int
) -> None:
    """Touch what rows from `first` to `end` will need; what is read is summed up to be read."""
    asked = np.int64(0)
    for place in range(end - first):
        asked += memory.flows[entry_of(memory.flows, keys[place], 0)].slot
    for place in range(end - first):
        near[place] = slot_of(memory, keys[place])
        if near[place] != NONE:
            slot = memory.slots[near[place]]
            asked += slot.snd_nxt[0] + slot.hpcc[1]
    for at in range(first, end):
        if near[at - first] != NONE:
            asked += touch_record(memory, near, at - first, 1 - rows.direction[at])
    for at in range(first, end):
        if near[at - first] != NONE:
            s = memory.hpcc[near[at - first]]
            asked += (
                memory.links[s.link].ts_ns + memory.links[s.link + max(s.room - 1, 0)].qlen_bytes
            )
    near[AHEAD] = asked


@inlined
def slot_of(memory: Memory, key: np.uint64) -> int:
    """The slot of a flow that is known."""
    for step in range(WAYS):
        entry = memory.flows[entry_of(memory.flows, key, step)]
        if entry.key == key:
            return int(entry.slot)
        if entry.key == np.uint64(0):
            return NONE
    return NONE


@inlined
def touch_record(memory: Memory, near: Ints, place: int, sender: int) -> int:
    """Ask for the records of a slot's sender; `near` becomes the place of that of HPCC++."""
    slot = memory.slots[near[place]]
    near[place] = slot.hpcc[sender] - 1
    asked = np.int64(0)
    if slot.hpcc[sender] > 0:
        s = memory.hpcc[slot.hpcc[sender] - 1]
        asked += s.branch + np.int64(s.U)
    if slot.dctcp[sender] > 0:
        c = memory.dctcp[slot.dctcp[sender] - 1]
        asked += c.branch + np.int64(c.alpha)
    return int(asked)
