"""Events: what happens next in the fabric, in one order that never depends on the machine.

An event is due at a time; at equal times the kind decides (an acknowledgment reaches its sender
before that sender transmits again, as taps order equal timestamps), then the order of scheduling.
"""

from typing import Any

import numpy as np

from collector import inner

HOST_ARRIVE, SWITCH_ARRIVE, PORT_READY, ANSWER_READY, NIC_READY = range(5)
"""Kinds of events, the first come first; each carries the row of a packet, a port or a host."""

CAPACITY = 1 << 15
"""Events that may be due at once: packets on the wire, one a port, a few a host."""
RANK_BITS = 29
"""Below the time in the key: three bits of kind, then the order of scheduling."""

HEAP = np.dtype(
    (
        np.record,
        [
            ("key", np.int64, (CAPACITY,)),
            ("item", np.int64, (CAPACITY,)),
            ("size", np.int64),
            ("scheduled", np.int64),
            ("base", np.int64),
            ("full", np.int64),
        ],
    )
)
"""A binary heap in one record: keys, the rows they carry, how many are due, how many ever were; the
time from which keys count, and whether an event found no place."""
SPAN_NS = 1 << 30
"""So far from its base a key may count before all are counted from a later one."""


@inner
def push(heap: Any, time_ns: int, kind: int, item: int) -> None:
    """Schedule an event, at most 2^30 ns ahead; there are less than 2^29 of them in a run."""
    if heap.size == CAPACITY:
        heap.full = 1
        return
    key = ((((time_ns - heap.base) << 3) | kind) << RANK_BITS) | heap.scheduled
    heap.scheduled += 1
    i = heap.size
    heap.size += 1
    while i > 0:
        above = (i - 1) >> 1
        if heap.key[above] <= key:
            break
        heap.key[i] = heap.key[above]
        heap.item[i] = heap.item[above]
        i = above
    heap.key[i] = key
    heap.item[i] = item


@inner
def pop(heap: Any) -> tuple[int, int, int]:
    """Take the event that is due first: (time in ns, kind, row)."""
    key, item = heap.key[0], heap.item[0]
    heap.size -= 1
    last, carried = heap.key[heap.size], heap.item[heap.size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= heap.size:
            break
        if child + 1 < heap.size and heap.key[child + 1] < heap.key[child]:
            child += 1
        if heap.key[child] >= last:
            break
        heap.key[i] = heap.key[child]
        heap.item[i] = heap.item[child]
        i = child
    heap.key[i] = last
    heap.item[i] = carried
    stamp = key >> RANK_BITS
    now = heap.base + (stamp >> 3)
    if now - heap.base > SPAN_NS:
        for row in range(heap.size):
            heap.key[row] -= (now - heap.base) << (3 + RANK_BITS)
        heap.base = now
    return now, stamp & 7, item
