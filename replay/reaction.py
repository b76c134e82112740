"""Reactions of a TCP sender: ECE asks for one, CWR on new data says that it was made.

RFC 8257 section 3.3 leaves both to RFC 3168: a sender reduces once a window of data (section 6.1.2)
and sets CWR on the first new data that it sends then. How late a reaction is is measured in
windows: 0 at once, 1 when all that was in flight has been acknowledged. A sender by the letter of
RFC 8257 reduces where its window ends, so anywhere between. What a loss or a hole in the capture
may have hidden is not judged.
"""

from typing import Any

from collector import inlined

LATE = 0.8
"""Part of a window after which a reaction is late, if it is so again and again."""


@inlined
def hear(s: Any, echo: bool) -> bool:
    """An ACK up to `s.heard` reaches the sender; whether a reaction that was due did not come."""
    missed = False
    if s.owes:
        if s.stage == 0 and s.heard > s.due_nxt:
            s.stage = 1
            s.later_nxt = s.nxt
            s.later_sent = 0
        elif s.stage == 1 and s.heard > s.later_nxt:
            missed = s.later_sent > 0
            if missed:
                s.unanswered += 1
            else:
                s.unjudged += 1
            s.owes = 0
    if echo and not missed and not s.owes and s.heard > s.cut_end and s.heard >= s.mended:
        s.owes = 1
        s.stage = 0
        s.due += 1
        s.due_una = s.heard
        s.due_nxt = s.nxt
        s.fresh = 1 if s.heard > s.quiet_nxt else 0
    if echo:
        s.quiet_nxt = s.nxt
    return missed


@inlined
def drop(s: Any) -> None:
    """What was due cannot be judged any more."""
    s.unjudged += s.owes
    s.owes = 0


@inlined
def reduced(s: Any, seq: int) -> int:
    """CWR on new data from `seq` on: 0 as it should be, 1 late, 2 a second time in a window."""
    told = 0
    if s.owes:
        s.answered += 1
        window = s.due_nxt - s.due_una
        if s.fresh and window > 0 and s.una - s.due_una >= LATE * window:
            s.late += 1
            told = 1
        elif s.fresh:
            s.prompt += 1
        s.owes = 0
    elif s.una < s.cut_end and s.una >= s.mended:
        s.twice += 1
        told = 2
    s.cut_end = seq
    return told
