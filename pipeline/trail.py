"""The trail of the loop: what was known of the two senders of a conversation after each row.

It is left only where companions follow it (`companion`): they need no flow table and no sequence
numbers of their own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.cc.parameter import Record, state_dtype

TRAIL = state_dtype(
    (("i8", 2), "snd_nxt", "snd_una"),
    ("i8", "acked"),
    (("i4", 2), "marks", "lag_ns"),
    ("i4", "rtt_ns", "slot"),
    (("u2", 2), "mss", "largest", "life"),
)
"""After one row: fields of `memory.SLOT` under their names, so that functions of `sender` read it
too; `slot` is its place, `acked` the bytes that the row is the first to acknowledge."""


def trail(rows: int) -> NDArray[Any]:
    """Room for what so many rows leave."""
    return np.zeros(rows, TRAIL)


@inlined
def leave(mark: Record, slot: Record, place: int, acked: int) -> None:
    """Write down a slot as a row leaves it."""
    mark.slot = place
    mark.acked = max(acked, 0)
    mark.rtt_ns = slot.rtt_ns
    for d in range(2):
        mark.snd_nxt[d] = slot.snd_nxt[d]
        mark.snd_una[d] = slot.snd_una[d]
        mark.marks[d] = slot.marks[d]
        mark.lag_ns[d] = slot.lag_ns[d]
        mark.mss[d] = slot.mss[d]
        mark.largest[d] = slot.largest[d]
        mark.life[d] = slot.life[d]
