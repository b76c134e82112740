"""What a row is to the sender of its own direction or of the other: an ACK, a loss, or nothing."""

from enum import IntEnum

from collector import inlined
from pipeline.batch import Kind, Rows
from pipeline.book import holder
from pipeline.cc.parameter import Record
from pipeline.companion import decide, quality_of_sender
from pipeline.companions import sample
from pipeline.companions.sample import Senders
from pipeline.sender import segment_size

DUPLICATES = 3
"""RFC 5681: after as many repeated ACKs, data that is sent again is a fast retransmit."""


class Event(IntEnum):
    """What a congestion control hears of."""

    NOTHING = 0
    ACKED = 1
    FAST_RECOVERY = 2
    TIMEOUT = 3


@inlined
def happened(
    senders: Senders, rows: Rows, at: int, mark: Record, d: int, resent: int
) -> tuple[int, bool, int]:
    """The place of a sender, whether it is new there, and the `Event` that a row is to it."""
    place, fresh = holder(senders.book, senders.used, mark, d)
    m = senders.samples[place]
    if fresh:
        sample.begin(m)
    own = d == rows.direction[at]
    return place, fresh, own_event(m, resent) if own else other_event(m, rows, at, mark, d)


@inlined
def acked_packets(mark: Record, d: int, packet_bytes: int) -> int:
    """Packets of the MSS that a row is the first to acknowledge."""
    mss = max(segment_size(mark, d, packet_bytes), 1)
    return int((mark.acked + mss - 1) // mss)


@inlined
def decide_window(made: Record, mark: Record, rows: Rows, at: int, d: int) -> None:
    """What a decision about a sender's window has, whichever algorithm made it."""
    decide(made, mark, d, at, mark.snd_una[d], mark.acked if d != rows.direction[at] else 0)
    made.quality, made.why = quality_of_sender(mark, d)


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
