"""What of a sender's data is selectively acknowledged, lost and sent again (RFC 6675 section 3).

A bounded list of SACKed intervals, and two edges: what is not SACKed below `lost_to` is lost, what
is not SACKed below `again_to` has been sent again. Retransmission goes from the lowest number up,
so the edges say it all. Without SACK each duplicate ACK stands for one segment past the first one.
Sequence numbers are unwrapped to 64 bits, sizes are bytes. A sender gets a board with its first
duplicate ACK, SACK block or retransmission; flows that never lose have none.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import step
from pipeline.cc import parameter
from pipeline.cc.parameter import Record

INTERVALS = 6
"""SACKed intervals of one sender; of more the highest are forgotten and `overflowed` is set."""
DUP_THRESH = 3
"""RFC 6675 section 2: segments SACKed above one that make it lost."""

BOARD = parameter.state_dtype(
    (("i8", INTERVALS), "low", "high"),
    ("i8", "lost_to", "again_to", "nxt", "expected"),
    ("i4", "sent_again"),
    ("i1", "count", "sack", "overflowed"),
)
"""nxt is SND.NXT of a sender whose SND.NXT retreats; expected the segment that it sends again in
answer to an ACK, else -1; sent_again the bytes sent again since the last reduction began."""


def board(count: int = 1) -> NDArray[Any]:
    """`count` blank boards; `clear` makes one ready."""
    return np.zeros(count, BOARD)


@step
def clear(b: Record, snd_una: int, snd_nxt: int) -> None:
    """Nothing SACKed, lost or sent again."""
    b.count = 0
    b.sack = 0
    b.overflowed = 0
    b.sent_again = 0
    b.lost_to = snd_una
    b.again_to = snd_una
    b.nxt = snd_nxt
    b.expected = -1


@step
def sacked_between(b: Record, low: int, high: int) -> int:
    """SACKed bytes of [low, high)."""
    total = 0
    for i in range(b.count):
        total += max(min(b.high[i], high) - max(b.low[i], low), 0)
    return int(total)


@step
def segments_between(b: Record, low: int, high: int, mss: int) -> int:
    """Segments of [low, high) that are not SACKed: each piece between intervals has its own."""
    total = 0
    for i in range(b.count):
        if b.high[i] > low and b.low[i] < high:
            total += -(-max(b.low[i] - low, 0) // mss)
            low = b.high[i]
    return int(total - (-max(high - low, 0) // mss))


@step
def remove(b: Record, i: int) -> None:
    """Close the gap that interval i leaves."""
    b.count -= 1
    for k in range(i, b.count):
        b.low[k] = b.low[k + 1]
        b.high[k] = b.high[k + 1]


@step
def insert(b: Record, i: int, low: int, high: int) -> None:
    """A new interval before interval i; the highest one goes when there is no room."""
    if b.count == INTERVALS:
        b.overflowed = 1
        if i == INTERVALS:
            return
        b.count -= 1
    for k in range(b.count, i, -1):
        b.low[k] = b.low[k - 1]
        b.high[k] = b.high[k - 1]
    b.low[i] = low
    b.high[i] = high
    b.count += 1


@step
def sack(b: Record, low: int, high: int) -> None:
    """One SACK block: joined with what it touches."""
    i = 0
    while i < b.count and b.high[i] < low:
        i += 1
    while i < b.count and b.low[i] <= high:
        low = min(low, b.low[i])
        high = max(high, b.high[i])
        remove(b, i)
    insert(b, i, low, high)


@step
def advance(b: Record, snd_una: int, snd_nxt: int, mss: int) -> None:
    """SND.UNA has moved: forget what lies below.

    A guess that covers SND.UNA was wrong there: it moves up as far as there is data, and the
    segment at SND.UNA is lost.
    """
    while b.count > 0 and b.high[0] <= snd_una:
        remove(b, 0)
    if b.count > 0 and b.low[0] <= snd_una:
        b.low[0] = snd_una
        if b.sack == 0:
            b.low[0] += mss
            b.high[0] += mss if b.high[0] < snd_nxt else 0
            b.lost_to = max(b.lost_to, snd_una + mss)
            if b.low[0] >= b.high[0]:
                remove(b, 0)
    b.lost_to = max(b.lost_to, snd_una)
    b.again_to = max(b.again_to, snd_una)


@step
def guess(b: Record, snd_una: int, snd_nxt: int, mss: int) -> None:
    """A duplicate ACK without SACK: one more segment has arrived, presumably the next one."""
    if b.count == 0:
        insert(b, 0, snd_una + mss, snd_una + mss)
    if b.high[0] < snd_nxt:
        b.high[0] += mss


@step
def find_lost(b: Record, mss: int) -> None:
    """RFC 6675 IsLost: what lies below `DUP_THRESH` SACKed segments is lost."""
    above = 0
    for i in range(b.count - 1, -1, -1):
        above += (b.high[i] - b.low[i] + mss - 1) // mss
        if above >= DUP_THRESH:
            b.lost_to = max(b.lost_to, b.low[i] + (above - DUP_THRESH) * mss)
            return


@step
def in_flight(b: Record, snd_una: int, snd_nxt: int) -> int:
    """RFC 6675 SetPipe: what was sent, less what arrived, less what is lost and not sent again.

    It counts what lies between HighACK and HighData alone; a segment that is lost may end behind.
    """
    low, high = max(b.again_to, snd_una), min(b.lost_to, snd_nxt)
    waiting = max(high - low, 0)
    if waiting > 0:
        waiting -= sacked_between(b, low, high)
    return int(snd_nxt - snd_una - sacked_between(b, snd_una, snd_nxt) - waiting)


@step
def next_lost(b: Record, snd_una: int) -> int:
    """RFC 6675 NextSeg rule 1: the first lost byte that is not sent again, or -1."""
    seq = max(b.again_to, snd_una)
    for i in range(b.count):
        if b.low[i] <= seq < b.high[i]:
            seq = b.high[i]
    return int(seq) if seq < b.lost_to else -1
