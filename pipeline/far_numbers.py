"""Sequence numbers of TCP that do not go on where those before ended.

One alone is nothing that the connection has to do with: its end drops it (RFC 9293 section
3.10.7.4). Two in a row are of another connection on the same ports whose handshake was not seen, or
of a gap in which more passed unseen than is likely: alpha and cwnd are not known any more.
"""

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.cc.parameter import Record
from pipeline.memory import Count, Mark
from pipeline.sender import LIVES, WHOLE, unwrap

FAR = 1 << 26
"""So far beyond what is in flight a sequence number is of something else, bytes."""
OF_NUMBERS = (
    Mark.SYN_SEEN.value | Mark.ANSWERED.value | Mark.SHAKEN.value | Mark.GAP.value
    | Mark.DCTCP.value | Mark.BOARD.value | Mark.LATE.value | Mark.ECE_LAST.value
    | Mark.FIN_SENT.value | Mark.CLOSED.value
)  # fmt: skip
"""What is known of a sender by its sequence numbers."""


@inlined
def goes_on(slot: Record, d: int, number: int) -> bool:
    """Whether a number of sender d may have to do with those before."""
    at = unwrap(number, slot.snd_nxt[d])
    known = slot.marks[d] & Mark.NUMBERED.value
    return bool(not known or slot.snd_una[d] - FAR <= at <= slot.snd_nxt[d] + FAR)


@inlined
def heeds(slot: Record, d: int, number: int, counts: NDArray[np.int64]) -> bool:
    """Whether a number of sender d counts; the second far one in a row is where it goes on."""
    if goes_on(slot, d, number):
        slot.marks[d] &= ~Mark.ASTRAY.value
        return True
    if not slot.marks[d] & Mark.ASTRAY.value:
        slot.marks[d] |= Mark.ASTRAY.value
        return False
    at = unwrap(number, slot.snd_nxt[d])
    at += WHOLE if at < slot.snd_nxt[d] else 0  # what counts on numbers only finds larger ones
    slot.snd_nxt[d] = at
    slot.snd_una[d] = at
    slot.marks[d] &= ~(OF_NUMBERS | Mark.ASTRAY.value)
    slot.life[d] = (slot.life[d] + 1) % LIVES
    counts[Count.GAPS.value] += 1
    return True
