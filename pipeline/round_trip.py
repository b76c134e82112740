"""Round trips: the time from data to the ACK that covers it, for every row that acknowledges.

At a tap beside the sender this is its RTT; elsewhere the handshake's time from the tap to the
sender and back is added (`sender`). Data that was sent again measures nothing (RFC 6298 section 3,
Karn's rule), and of several segments that one ACK covers the last one counts, which waited least.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import Kind, Rows
from pipeline.book import Book, holder
from pipeline.cc.parameter import Record, state_dtype
from pipeline.memory import Ints

SEGMENTS = 64
"""Segments of a sender that are timed at a time; of more in flight the later are not timed."""
NONE = -1

TIMED = state_dtype(
    (("i8", SEGMENTS), "end", "sent_ns"), ("i8", "highest"), ("i2", "first", "count")
)
"""Segments under way, the oldest at `first`; `highest` is the end of all that was seen."""


class Timed(NamedTuple):
    """Of each row the round trip in ns that it completes (-1: none), and whether it sends again."""

    rtt_ns: Ints
    resent: NDArray[np.uint8]


class RoundTrips:
    """Times the data of every sender."""

    def __init__(self) -> None:
        self.book = Book(timed=(TIMED, 1))

    def advance(self, rows: Rows, trail: NDArray[Any], slots: int) -> Timed:
        """See `Timed`; `slots` are all that the trail may name."""
        self.book.room(slots, trail.size)
        timed = Timed(np.full(trail.size, NONE, np.int64), np.zeros(trail.size, np.uint8))
        measure(rows, trail, self.book.book, self.book.used, self.book["timed"], *timed)
        return timed


@borrowing
def measure(
    rows: Rows, trail: NDArray[Any], book: NDArray[Any], used: Ints, timed: NDArray[Any],
    rtt_ns: Ints, resent: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Every row: what it acknowledges is timed, what it sends is noted."""
    for at in range(trail.size):
        mark, r = trail[at], rows.direction[at]
        if mark.acked > 0:
            place, fresh = holder(book, used, mark, 1 - r)
            if not fresh:
                rtt = acknowledged(timed[place], mark.snd_una[1 - r], rows.time_ns[at])
                rtt_ns[at] = rtt if rtt == NONE else rtt + max(mark.lag_ns[1 - r], 0)
            else:
                begin(timed[place], mark.snd_nxt[1 - r])
        if rows.payload[at] > 0 and is_numbered(rows.kind[at]):
            place, fresh = holder(book, used, mark, r)
            if fresh:
                begin(timed[place], mark.snd_nxt[r] - rows.payload[at])
            resent[at] = not sent(timed[place], mark.snd_nxt[r], rows.time_ns[at])


@inlined
def is_numbered(kind: int) -> bool:
    """Whether data of a row moves SND.NXT: that of probes, READ responses and others does not."""
    return bool(kind > Kind.PROBE.value and kind != Kind.ROCE_RESPONSE.value)


@inlined
def begin(s: Record, highest: int) -> None:
    """Time nothing yet; what was sent before is not known."""
    s.first, s.count, s.highest = 0, 0, highest


@inlined
def sent(s: Record, snd_nxt: int, now_ns: int) -> bool:
    """Whether data moved SND.NXT and is timed; else it was sent again, and nothing is any more."""
    if snd_nxt <= s.highest:
        s.count = 0
        return False
    s.highest = snd_nxt
    if s.count < SEGMENTS:
        at = (s.first + s.count) % SEGMENTS
        s.end[at], s.sent_ns[at] = snd_nxt, now_ns
        s.count += 1
    return True


@inlined
def acknowledged(s: Record, ack: int, now_ns: int) -> int:
    """The round trip of the last segment that an ACK covers."""
    rtt = np.int64(NONE)
    while s.count > 0 and s.end[s.first] <= ack:
        rtt = now_ns - s.sent_ns[s.first]
        s.first = (s.first + 1) % SEGMENTS
        s.count -= 1
    return int(rtt)
