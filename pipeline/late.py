"""ACKs on their way to a sender that stands far from the tap (semantics.md section 4).

A sender reads SND.NXT when an ACK reaches it, and what it has sent by then passes the tap one round
trip between tap and sender after the ACK did. So the ACK waits here for that long, and the data
that passes meanwhile was sent before it.
"""

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.cc.parameter import Record, state_dtype

PLACES = 16
"""ACKs that wait; of more the first is heard too early."""
REPEATS, AGAIN = 1, 2
"""Bits of `repeats`: a duplicate, and one on which another algorithm has decided as it passed."""
LATE = state_dtype(
    (("i8", PLACES), "due_ns", "ack"),
    (("i4", PLACES), "acked"),
    (("i1", PLACES), "ece", "repeats"),
    ("i1", "first", "count"),
)
"""A ring of ACKs, the oldest at `first`."""


@inlined
def is_due(ring: Record, time_ns: int) -> bool:
    """Whether the oldest ACK has reached the sender."""
    return bool(ring.count > 0 and ring.due_ns[ring.first] <= time_ns)


@inlined
def take(ring: Record) -> int:
    """The place of the oldest ACK, which waits no longer."""
    at = int(ring.first)
    ring.first = (at + 1) % PLACES
    ring.count -= 1
    return at


@inlined
def put(ring: Record, due_ns: int, ack: int, acked: int, ece: bool, repeats: int) -> None:
    """One more ACK; there is a place."""
    at = (ring.first + ring.count) % PLACES
    ring.due_ns[at] = due_ns
    ring.ack[at] = ack
    ring.acked[at] = acked
    ring.ece[at] = ece
    ring.repeats[at] = repeats
    ring.count += 1


def rings(count: int) -> NDArray[np.void]:
    """`count` empty rings."""
    return np.zeros(count, LATE)
