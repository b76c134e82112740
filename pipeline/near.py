"""State of the next rows brought near: it is asked for all at once, so that the waits overlap.

With a million flows every row's state is far away. One row after the other would wait for memory a
dozen times; here each step asks for one link of the chain (entry, slot, record, L) for many rows.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import literal_unroll
from numpy.typing import NDArray

from collector import inlined, prefetch
from pipeline.batch import AHEAD, ROW, Batch, Rows, read
from pipeline.cc.hop_record import LINE
from pipeline.flow import WAYS, entry_of, key_of
from pipeline.memory import Ints, Memory
from pipeline.near_stacks import bring_stacks

LARGE = 1 << 13
"""Slots up to which all state is near anyway."""
NONE = -1
WORD = 8
"""Octets of a word, of which `LINE` are a line of a cache."""


class Near(NamedTuple):
    """The rows that have been brought near: as records, the keys of their flows, their places.

    There is a place more, for what was read only to bring it near.
    """

    rows: NDArray[Any]
    keys: NDArray[np.uint64]
    places: Ints


def nothing_near() -> Near:
    """Room for as many rows as are asked for at a time."""
    return Near(np.zeros(AHEAD, ROW), np.zeros(AHEAD, np.uint64), np.zeros(AHEAD + 1, np.int64))


@inlined
def come(rows: Rows, near: Near, batch: Batch, memory: Memory, first: int, end: int) -> None:
    """Rows from `first` to `end` as records, the keys of their flows, and their state asked for.

    So are the columns of the rows behind them: some twenty, which processors do not follow alone.
    """
    for field in literal_unroll(often(rows)):
        soon(field, end)
    for at in range(first, end):
        row, place = np.uint64(at), np.uint64(at - first)  # without a sign it is a plain load
        read(rows, row, near.rows[place])
        near.keys[place] = key_of(rows.conversation[row], rows.point[row])
    bring_stacks(near.rows, batch, end - first)
    for each in range(end - first):
        prefetch(memory.flows, entry_of(memory.flows, near.keys[np.uint64(each)], 0))
    if memory.slots.size > LARGE:
        bring(rows, near.keys, near.places, memory, first, end)


@inlined
def often(rows: Rows) -> tuple[NDArray[Any], ...]:
    """The columns that are read of each row."""
    return (
        rows.conversation, rows.point, rows.time_ns, rows.seq, rows.ack, rows.payload,
        rows.tcp_flags, rows.direction, rows.ecn, rows.kind, rows.hints, rows.echo, rows.marked,
        rows.telemetry, rows.sacked,
    )  # fmt: skip


@inlined
def soon(column: NDArray[Any], first: int) -> None:
    """Ask for the values of as many rows as are taken at a time."""
    step = LINE * WORD // column.itemsize
    for line in range(AHEAD // step):
        prefetch(column, first + line * step)


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
