"""Sequence numbers of TCP that do not go on where those before ended.

They are of another connection on the same ports whose handshake was not seen, of a gap that no
window spans, or of nothing that the sender has sent.
"""

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.cc.parameter import Record
from pipeline.memory import Count, Mark
from pipeline.sender import ACK, LIVES, RST, WHOLE, unwrap

FAR = 1 << 26
"""A sequence number so far from SND.NXT is not of data that a sender may have in flight."""
OF_NUMBERS = (
    Mark.SYN_SEEN.value | Mark.ANSWERED.value | Mark.SHAKEN.value | Mark.GAP.value
    | Mark.DCTCP.value | Mark.BOARD.value | Mark.LATE.value | Mark.ECE_LAST.value
    | Mark.FIN_SENT.value | Mark.CLOSED.value
)  # fmt: skip
"""What is known of a sender by its sequence numbers."""


@inlined
def is_far(slot: Record, d: int, number: int) -> bool:
    """Whether a number of sender d has nothing to do with those before."""
    apart = unwrap(number, slot.snd_nxt[d]) - slot.snd_nxt[d]
    return bool(slot.marks[d] & Mark.NUMBERED.value and not -FAR <= apart <= FAR)


@inlined
def renumber(slot: Record, d: int, number: int, counts: NDArray[np.int64]) -> None:
    """Let sender d go on at a number far from those before, of which nothing was acknowledged.

    It is another connection whose handshake was not seen, or more passed unseen than any window
    holds: alpha and cwnd are not known any more. What telemetry told goes on.
    """
    at = unwrap(number, slot.snd_nxt[d])
    at += WHOLE if at < slot.snd_nxt[d] else 0  # what counts on numbers only finds larger ones
    slot.snd_nxt[d] = at
    slot.snd_una[d] = at
    slot.marks[d] &= ~OF_NUMBERS
    slot.life[d] = (slot.life[d] + 1) % LIVES
    counts[Count.GAPS.value] += 1


@inlined
def follows(slot: Record, row: Record, counts: NDArray[np.int64]) -> bool:
    """Whether a segment's ACK may be of this connection, after taking numbers that are new to it.

    A sender drops an ACK of what it did not send (RFC 9293 section 3.10.7.4).
    """
    r, d = row.direction, 1 - row.direction
    is_ack = bool(row.tcp_flags & ACK)
    acks_far = is_ack and is_far(slot, d, row.ack)
    if row.tcp_flags & RST:
        return is_ack and not acks_far
    if is_far(slot, r, row.seq) and (acks_far or row.payload > 0):
        renumber(slot, r, row.seq, counts)
    elif acks_far and slot.marks[d] & Mark.SENT.value:
        return False
    if acks_far:
        renumber(slot, d, row.ack, counts)
    return is_ack
