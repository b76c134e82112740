"""What a row is to the sender of its own direction or of the other: an ACK, a loss, or nothing."""

from enum import IntEnum

from collector import inlined
from pipeline.batch import Kind, Rows
from pipeline.cc.parameter import Record

DUPLICATES = 3
"""RFC 5681: after as many repeated ACKs, data that is sent again is a fast retransmit."""


class Event(IntEnum):
    """What a congestion control hears of."""

    NOTHING = 0
    ACKED = 1
    FAST_RECOVERY = 2
    TIMEOUT = 3


@inlined
def own_event(m: Record, resent: int) -> int:
    """Data of this sender: what is sent again says how its sender found the loss.

    Of a whole window that is sent again only the first segment counts; `m.repeats` counts ACKs
    that repeat another, -1 while what was lost is not acknowledged.
    """
    if not resent or m.repeats < 0:
        return Event.NOTHING.value
    found = Event.FAST_RECOVERY.value if m.repeats >= DUPLICATES else Event.TIMEOUT.value
    m.repeats = -1
    return found


@inlined
def other_event(m: Record, rows: Rows, at: int, mark: Record, d: int) -> int:
    """An ACK for this sender, new or repeated."""
    if mark.acked > 0:
        m.repeats = 0
        return Event.ACKED.value
    plain = rows.kind[at] == Kind.TCP.value and rows.payload[at] == 0
    if plain and mark.snd_nxt[d] > mark.snd_una[d] and m.repeats >= 0:
        m.repeats += 1
    return Event.NOTHING.value
