"""DCTCP, the sender: RFC 8257 sections 3.3 and 4, in the dialects that deployed senders speak.

The names are the RFC's; the nine steps are written out in semantics.md section 4. BytesAcked and
BytesMarked count bytes since the last window's end, WindowEnd is SND.NXT at that moment, M the
marked share of the window, alpha its moving average. Sizes are bytes, sequence numbers unwrapped to
64 bits.

Dialects differ in when a window ends, what is counted and when cwnd is reduced: `DIALECTS` is the
table of these differences, each a parameter, and `new_ack` the one recurrence that reads them. cwnd
and ssthresh are conventional TCP (RFC 5681) but for the reduction; PRR is RFC 6937.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import kernel
from pipeline.cc import parameter
from pipeline.cc.parameter import Parameter, Record, Value


class Branch(IntEnum):
    """What one ACK did: counted, ended or opened a window, reduced cwnd, or nothing at all."""

    COUNT = 1
    COUNT_REDUCE = 2
    WINDOW_END = 3
    WINDOW_END_REDUCE = 4
    WINDOW_OPEN = 5
    WINDOW_OPEN_REDUCE = 6
    NOTHING = 7


UNIT = 1024
"""Linux's alpha is in 1/1024."""

BYTES, SEGMENTS, WHOLE_SEGMENTS = 0, 1, 2
"""What `counts` may be; whole segments carry what is left of one to the next ACK, as ns-3 does."""

TABLE = (
    Parameter("dialect", "auto", "", 0, 1,
              "Whose reading of the RFC; auto is linux unless the handshake shows ns3.", "4",
              ("auto", "linux", "linux_before", "ns3", "rfc8257")),
    Parameter("g", 0.0625, "", 1e-3, 1.0,
              "Gain of the moving average; 1/1024 arithmetic takes it as one over a whole.", "4.2"),
    Parameter("alpha_init", 1.0, "", 0.0, 1.0, "alpha before the first window ends.", "3.3"),
    Parameter("mss", 1448, "bytes", 1, 65535,
              "Payload of a full segment where the trace does not tell.", "open"),
    Parameter("initial_window", 10, "segments", 1, 1000, "cwnd at the start.", "open"),
    Parameter("min_cwnd", 2, "segments", 1, 1000, "cwnd is never reduced below it.", "open"),
    Parameter("window_ends", "at", "", 0, 1, "SEG.ACK past WindowEnd, or at it.", "3.3 step 4",
              ("past", "at")),
    Parameter("first_window", "established", "", 0, 1, "When the first window opens.", "3.3",
              ("established", "first_ack")),
    Parameter("closing_ack", "own", "", 0, 1, "Window in which the closing ACK counts.", "3.3",
              ("own", "next")),
    Parameter("counts", "segments", "", 0, 1, "What M is a share of.", "3.3",
              ("bytes", "segments", "whole_segments")),
    Parameter("arithmetic", "1024", "", 0, 1, "Real numbers, or whole 1/1024.", "4",
              ("real", "1024")),
    Parameter("reduces", "first_ece", "", 0, 1,
              "cwnd falls at the window's end, or at the first ECE outside CWR.", "3.3 step 9",
              ("window_end", "first_ece")),
    Parameter("empty_ack", "closes", "", 0, 1,
              "Whether an ACK that delivers nothing may end a window.", "open",
              ("ignored", "closes")),
    Parameter("predicted_ns", 20_000, "ns", 0, 10**9,
              "Data without ECE that repeats an ACK and follows the last data sooner takes the"
              " sender's fast path, which does not read the ACK.", "open"),
    Parameter("duplicate_counts", "no", "", 0, 1, "Whether a duplicate ACK counts one MSS.",
              "open", ("no", "yes")),
)  # fmt: skip

DIALECTS: dict[str, dict[str, Value]] = {
    "linux": {},
    "linux_before": {"closing_ack": "next"},
    "ns3": {"first_window": "first_ack", "counts": "whole_segments", "arithmetic": "real",
            "empty_ack": "ignored", "duplicate_counts": "yes", "predicted_ns": 0},
    "rfc8257": {"window_ends": "past", "counts": "bytes", "arithmetic": "real",
                "empty_ack": "ignored", "reduces": "window_end", "predicted_ns": 0},
}  # fmt: skip
"""How each dialect differs from the defaults above."""

STATE = parameter.state_dtype(
    ("f8", "alpha", "M", "cwnd", "ssthresh", "prior_cwnd", "prr_delivered"),
    ("i8", "BytesAcked", "BytesMarked", "WindowEnd", "snd_una", "recover"),
    ("i8", "closed_acked", "closed_marked", "acked", "marked", "carry", "windows"),
    ("i4", "alpha_1024", "mss"),
    ("i1", "opened", "in_cwr", "branch"),
)
"""State of one sender. closed_acked and closed_marked are the last closed window's BytesAcked and
BytesMarked; acked and marked those of the open window in what the dialect counts; cwnd, ssthresh
are bytes."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """The defaults, the dialect's differences, then `values`, as one record.

    ValueError names an unknown parameter or a value that is not accepted.
    """
    chosen = dict(parameter.known(TABLE, values or {}))
    return parameter.record(TABLE, DIALECTS.get(str(chosen.get("dialect")), {}) | chosen)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank states; `reset` makes one ready."""
    return np.zeros(count, STATE)


@kernel
def reset(s: Record, p: Record) -> None:
    """Start a sender at sequence number 0; `establish` gives another number and MSS."""
    s.alpha = p.alpha_init
    s.alpha_1024 = int(p.alpha_init * UNIT)
    s.M = np.nan
    s.windows = 0
    s.in_cwr = 0
    s.branch = 0
    s.closed_acked = 0
    s.closed_marked = 0
    s.ssthresh = np.inf
    s.prior_cwnd = 0.0
    s.prr_delivered = 0.0
    s.recover = 0
    establish(s, p, s.recover, p.mss)


@kernel
def establish(s: Record, p: Record, snd_una: int, mss: int) -> None:
    """The handshake is over (or the flow was first seen here): SND.UNA = SND.NXT = `snd_una`."""
    s.mss = mss
    s.cwnd = float(p.initial_window * mss)
    s.snd_una = snd_una
    s.carry = 0
    s.opened = 1 if p.first_window == 0 else 0
    open_window(s, snd_una)


@kernel
def open_window(s: Record, snd_nxt: int) -> None:
    """Steps 7 and 8."""
    s.WindowEnd = snd_nxt
    s.BytesAcked = 0
    s.BytesMarked = 0
    s.acked = 0
    s.marked = 0


@kernel
def take(s: Record, p: Record, delivered: int, ece: bool) -> None:
    """Steps 2 and 3, in bytes and in what the dialect counts."""
    units = delivered
    if p.counts == SEGMENTS:
        units = -(-delivered // s.mss)
    elif p.counts == WHOLE_SEGMENTS:
        units = (s.carry + delivered) // s.mss
        s.carry += delivered - units * s.mss
        delivered = units * s.mss
    s.BytesAcked += delivered
    s.acked += units
    if ece:
        s.BytesMarked += delivered
        s.marked += units


@kernel
def update_alpha(s: Record, p: Record) -> None:
    """Steps 5 and 6. With nothing acked M is 0; in 1/1024 it falls by alpha*g, at the end to 0."""
    s.M = s.marked / s.acked if s.acked > 0 else 0.0
    s.closed_acked = s.BytesAcked
    s.closed_marked = s.BytesMarked
    s.windows += 1
    if p.arithmetic == 0:
        s.alpha = s.alpha * (1 - p.g) + p.g * s.M
        return
    divisor = int(np.rint(1 / p.g))
    fall = s.alpha_1024 // divisor
    s.alpha_1024 -= fall if fall > 0 else s.alpha_1024
    if s.marked > 0:
        s.alpha_1024 = min(s.alpha_1024 + s.marked * (UNIT // divisor) // max(s.acked, 1), UNIT)
    s.alpha = s.alpha_1024 / UNIT


@kernel
def reduced(s: Record, p: Record) -> float:
    """Step 9: cwnd*(1 - alpha/2), not below the smallest window; 1/1024 takes whole segments."""
    least = float(p.min_cwnd * s.mss)
    if p.arithmetic == 1:
        segments = int(s.cwnd / s.mss)
        return max(float((segments - (segments * s.alpha_1024 >> 11)) * s.mss), least)
    return max(float(s.cwnd) * (1 - float(s.alpha) / 2), least)


@kernel
def enter_cwr(s: Record, p: Record, snd_nxt: int) -> None:
    """The slow start threshold falls at once, cwnd by PRR until SND.NXT of now is acknowledged."""
    s.ssthresh = reduced(s, p)
    s.prior_cwnd = s.cwnd
    s.prr_delivered = 0.0
    s.recover = snd_nxt
    s.in_cwr = 1


@kernel
def proportional_rate_reduction(s: Record, snd_nxt: int, delivered: int) -> None:
    """RFC 6937 section 3.1, with the slow start bound; what was sent since is SND.NXT - recover."""
    in_flight = snd_nxt - s.snd_una
    sent = snd_nxt - s.recover
    s.prr_delivered += delivered
    room = s.ssthresh - in_flight
    if room < 0:
        allowed = s.ssthresh * s.prr_delivered / s.prior_cwnd - sent
    else:
        allowed = min(room, max(s.prr_delivered - sent, delivered) + s.mss)
    s.cwnd = in_flight + max(allowed, 0.0 if sent > 0 else float(s.mss))


@kernel
def grow(s: Record, delivered: int) -> None:
    """RFC 5681: slow start below ssthresh, else one segment a window."""
    if s.cwnd < s.ssthresh:
        s.cwnd = min(s.cwnd + delivered, s.ssthresh)
    else:
        s.cwnd += s.mss * delivered / s.cwnd


@kernel
def adjust_cwnd(
    s: Record, p: Record, snd_nxt: int, delivered: int, ece: bool, closed: bool
) -> bool:
    """Step 9 and conventional growth; true when this ACK reduced."""
    if s.in_cwr and s.snd_una >= s.recover:
        s.in_cwr = 0
        s.cwnd = s.ssthresh
    if p.reduces == 0:
        if closed and s.closed_marked > 0:
            s.cwnd = reduced(s, p)
            s.ssthresh = s.cwnd
            return True
        if not ece:
            grow(s, delivered)
        return False
    enters = bool(ece and not s.in_cwr)
    if enters:
        enter_cwr(s, p, snd_nxt)
    if s.in_cwr:
        proportional_rate_reduction(s, snd_nxt, delivered)
    else:
        grow(s, delivered)
    return enters


@kernel
def new_ack(
    s: Record, p: Record, ack: int, snd_nxt: int, ece: bool, sacked: int, duplicate: bool
) -> int:
    """One ACK of a sender: steps 1-9 in the dialect of `p`; returns the `Branch`.

    `snd_nxt` is SND.NXT before the data that this ACK releases; `sacked` the bytes that it is the
    first to acknowledge selectively, less those acknowledged so before (0 without SACK);
    `duplicate` that it is a duplicate ACK (RFC 5681 section 2). ECE on a SYN-ACK is negotiation and
    must not come here.
    """
    delivered = max(ack - s.snd_una, 0) + sacked  # step 1
    if duplicate and p.duplicate_counts == 1:
        delivered = s.mss
    s.snd_una = max(s.snd_una, ack)
    if delivered == 0 and p.empty_ack == 0:
        s.branch = Branch.NOTHING.value
        return Branch.NOTHING.value
    opens = s.opened == 0
    closes = not opens and (
        s.snd_una > s.WindowEnd or (p.window_ends == 1 and s.snd_una == s.WindowEnd)
    )  # step 4
    if closes and p.closing_ack == 1:
        update_alpha(s, p)
        open_window(s, snd_nxt)
    take(s, p, delivered, ece)
    if closes and p.closing_ack == 0:
        update_alpha(s, p)
        open_window(s, snd_nxt)
    if opens:
        s.opened = 1
        s.WindowEnd = snd_nxt
    branch = (
        Branch.WINDOW_OPEN.value
        if opens
        else Branch.WINDOW_END.value
        if closes
        else Branch.COUNT.value
    )
    if adjust_cwnd(s, p, snd_nxt, delivered, ece, closes):
        branch += 1
    s.branch = branch
    return branch
