"""DCTCP, the sender: RFC 8257 sections 3.3 and 4, in the dialects that deployed senders speak.

The names are the RFC's; the nine steps are written out in semantics.md section 4. BytesAcked and
BytesMarked count bytes since the last window's end, WindowEnd is SND.NXT at that moment, M the
marked share of the window, alpha its moving average. Sizes are bytes, sequence numbers unwrapped to
64 bits.

Dialects differ in when a window ends, what is counted and when cwnd is reduced: `DIALECTS` is the
table of these differences, each a parameter, and `new_ack` the one recurrence that reads them. cwnd
and ssthresh are in `recovery`.
"""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, merged, step
from pipeline.cc import ns3, parameter, recovery, scoreboard
from pipeline.cc.dialect import DIALECTS, TABLE, record
from pipeline.cc.parameter import Record
from pipeline.cc.recovery import BYTES, OPEN, REAL, SCALED, WHOLE_SEGMENTS


class Branch(IntEnum):
    """What one ACK did: counted, ended or opened a window, reduced cwnd, or nothing at all."""

    COUNT = 1
    COUNT_REDUCE = 2
    WINDOW_END = 3
    WINDOW_END_REDUCE = 4
    WINDOW_OPEN = 5
    WINDOW_OPEN_REDUCE = 6
    NOTHING = 7


__all__ = ["DIALECTS", "TABLE", "record"]

UNIT = 1024
"""Linux's alpha is in 1/1024."""

STATE = parameter.state_dtype(
    ("f8", "alpha", "M", "cwnd", "ssthresh", "prr_flight"),
    ("i8", "WindowEnd", "snd_una", "recover", "cwr_end"),
    ("i4", "BytesAcked", "BytesMarked", "closed_acked", "closed_marked", "acked", "marked"),
    ("i4", "carry", "windows", "scaled", "mss", "prr_delivered", "grown", "board", "late"),
    ("i2", "dup_acks"),
    ("i1", "opened", "ca_state", "branch", "lossy", "echoed", "reduced"),
    ("i1", "run", "early", "latched", "outlasted"),
)
"""State of one sender. closed_acked and closed_marked are the last closed window's BytesAcked and
BytesMarked; acked and marked those of the open window in what the dialect counts; scaled is alpha
in whole numbers; cwnd, ssthresh are bytes; ca_state is a state of `recovery`, recover where it
ends; echoed says that the last ACK of new data had ECE and no CWR has answered it; lossy that a
loss is not mended; board and late are places plus one of its scoreboard and of ACKs that it has
yet to hear; cwr_end to outlasted are of `classic`."""


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank states; `reset` makes one ready."""
    return np.zeros(count, STATE)


@borrowing
def reset(s: Record, p: Record) -> None:
    """Start a sender at sequence number 0; `establish` gives another number and MSS."""
    s.alpha = p.alpha_init
    s.scaled = int(p.alpha_init * (p.SCF if p.arithmetic == SCALED else UNIT))
    s.M = np.nan
    s.windows = 0
    s.ca_state = OPEN
    s.dup_acks = 0
    s.lossy = 0
    s.echoed = 0
    s.reduced = 0
    s.grown = 0
    s.branch = 0
    s.cwr_end = -1
    s.run = 0
    s.early = 0
    s.latched = 0
    s.outlasted = 0
    s.closed_acked = 0
    s.closed_marked = 0
    s.ssthresh = np.inf
    s.prr_flight = 1.0
    s.prr_delivered = 0
    s.recover = 0
    establish(s, p, s.recover, p.mss)


@borrowing
def establish(s: Record, p: Record, snd_una: int, mss: int) -> None:
    """The handshake is over (or the flow was first seen here): SND.UNA = SND.NXT = `snd_una`."""
    s.mss = mss
    s.cwnd = float(p.initial_window * mss)
    s.snd_una = snd_una
    s.carry = 0
    s.opened = 1 if p.first_window == 0 else 0
    open_window(s, snd_una)


@borrowing
def open_window(s: Record, snd_nxt: int) -> None:
    """Steps 7 and 8."""
    s.WindowEnd = snd_nxt
    s.BytesAcked = 0
    s.BytesMarked = 0
    s.acked = 0
    s.marked = 0


@merged
def take(s: Record, p: Record, delivered: int, units: int, marked: bool) -> None:
    """Steps 2 and 3, in bytes and in what the dialect counts (`units` where that is segments)."""
    if p.counts == BYTES:
        units = delivered
    elif p.counts == WHOLE_SEGMENTS:
        delivered = units * s.mss
    s.BytesAcked += delivered
    s.acked += units
    if marked:
        s.BytesMarked += delivered
        s.marked += units


@step
def mark(s: Record, p: Record, octets: int, acked: int) -> None:
    """Step 3 by a counter of bytes (RFC 9768) at an ACK of `acked` ones, in the place of ECE."""
    unit = 1 if p.counts == BYTES else int(s.mss)
    s.BytesMarked = min(s.BytesMarked + octets, s.BytesAcked + acked)
    s.marked = min(s.marked - (-octets // unit), s.acked - (-acked // unit))


@borrowing
def update_alpha(s: Record, p: Record) -> None:
    """Steps 5 and 6. With nothing acked M is 0; in 1/1024 it falls by alpha*g, at the end to 0."""
    s.M = s.marked / s.acked if s.acked > 0 else 0.0
    s.closed_acked = s.BytesAcked
    s.closed_marked = s.BytesMarked
    s.windows += 1
    if p.arithmetic == REAL:
        s.alpha = s.alpha * (1 - p.g) + p.g * s.M
    elif p.arithmetic == SCALED:  # section 4.2
        share = p.SCF * s.marked // max(s.acked, 1)
        if s.scaled >> p.SHF == 0:
            s.scaled = 0
        s.scaled += (share >> p.SHF) - (s.scaled >> p.SHF)
        s.scaled = min(s.scaled, p.SCF)
        s.alpha = s.scaled / p.SCF
    else:
        divisor = int(np.rint(1 / p.g))
        fall = s.scaled // divisor
        s.scaled -= fall if fall > 0 else s.scaled
        if s.marked > 0:
            s.scaled = min(s.scaled + s.marked * (UNIT // divisor) // max(s.acked, 1), UNIT)
        s.alpha = s.scaled / UNIT


@merged
def count(
    s: Record, p: Record, snd_nxt: int, delivered: int, units: int, marked: bool
) -> tuple[bool, bool]:
    """Steps 2 to 8 after SND.UNA moved; whether this opened the first window, or ended one."""
    opens = s.opened == 0
    closes = not opens and (
        s.snd_una > s.WindowEnd or (p.window_ends == 1 and s.snd_una == s.WindowEnd)
    )  # step 4
    if closes and p.closing_ack == 1:
        update_alpha(s, p)
        open_window(s, snd_nxt)
    take(s, p, delivered, units, marked)
    if closes and p.closing_ack == 0:
        update_alpha(s, p)
        open_window(s, snd_nxt)
    if opens:
        s.opened = 1
        s.WindowEnd = snd_nxt
    return opens, closes


@borrowing
def branch_of(s: Record, opens: bool, closes: bool) -> int:
    """The `Branch` of an ACK, kept in the state too."""
    branch = (
        Branch.WINDOW_OPEN.value
        if opens
        else Branch.WINDOW_END.value
        if closes
        else Branch.COUNT.value
    )
    s.branch = branch + s.reduced
    return int(s.branch)


@borrowing
def nothing(s: Record) -> int:
    """The branch of an ACK that is ignored."""
    s.branch = Branch.NOTHING.value
    return int(s.branch)


@merged
def new_ack(
    s: Record, p: Record, ack: int, snd_nxt: int, ece: bool, sacked: int, duplicate: bool
) -> int:
    """One ACK of a sender that has lost nothing: steps 1-9 in the dialect of `p`; the `Branch`.

    `snd_nxt` is SND.NXT before the data that this ACK releases; `sacked` the bytes that it is the
    first to acknowledge selectively, less those acknowledged so before (0 without SACK);
    `duplicate` that it is a duplicate ACK (RFC 5681 section 2). ECE on a SYN-ACK is negotiation and
    must not come here.
    """
    delivered = max(ack - s.snd_una, 0) + sacked  # step 1
    if duplicate and p.duplicate_counts == 1:
        delivered = s.mss
    s.reduced = 0
    s.snd_una = max(s.snd_una, ack)
    if delivered == 0 and p.empty_ack == 0:
        return nothing(s)
    s.echoed = 1 if ece else 0
    units = -(-delivered // s.mss)
    if p.counts == WHOLE_SEGMENTS:
        units = (s.carry + delivered) // s.mss
        s.carry += delivered - units * s.mss
        delivered = units * s.mss
    return settle(s, p, snd_nxt, 0, snd_nxt - s.snd_una, delivered, units, ece)


@merged
def settle(
    s: Record,
    p: Record,
    snd_nxt: int,
    again: int,
    in_flight: int,
    delivered: int,
    units: int,
    ece: bool,
) -> int:
    """Steps 2 to 9; `again` is what was sent again since the last reduction began."""
    if p.reduces_by == 1:
        s.reduced = recovery.adjust_cwnd(s, p, snd_nxt, again, in_flight, delivered, ece, False)
    opens, closes = count(s, p, snd_nxt, delivered, units, ece)
    if p.reduces_by == 0:
        s.reduced = recovery.adjust_cwnd(s, p, snd_nxt, again, in_flight, delivered, ece, closes)
    return branch_of(s, opens, closes)


@borrowing
def lossy_ack(
    s: Record,
    p: Record,
    b: Record,
    ack: int,
    snd_nxt: int,
    ece: bool,
    sacked: int,
    units: int,
    duplicate: bool,
) -> int:
    """As `new_ack`, of a sender with a `scoreboard` that has taken the SACK blocks of this ACK.

    `sacked` and `units` are the bytes and segments that those are the first to SACK;
    `duplicate` that the ACK says that data arrived out of order.
    """
    s.reduced = 0
    if p.recovery == 1:
        segments = ns3.new_ack(s, p, b, ack, snd_nxt, ece, sacked, duplicate)
        if segments < 0:
            return nothing(s)
        opens, closes = count(s, p, b.nxt, segments * s.mss, segments, s.echoed == 1)
        b.nxt = max(b.nxt, s.snd_una)
        return branch_of(s, opens, closes)
    before = int(s.snd_una)
    s.dup_acks = s.dup_acks + 1 if duplicate else 0
    if ack > before:
        sacked += ack - before - scoreboard.sacked_between(b, before, ack)
        units += scoreboard.segments_between(b, before, ack, s.mss)
        s.snd_una = ack
        scoreboard.advance(b, ack, snd_nxt, s.mss)
    if sacked == 0 and p.empty_ack == 0:
        return nothing(s)
    flight = scoreboard.in_flight(b, s.snd_una, snd_nxt)
    branch = settle(s, p, snd_nxt, b.sent_again, flight, sacked, units, ece)
    b.sent_again = 0 if s.reduced else b.sent_again
    return branch
