"""DCTCP, the receiver: whether its ACKs echo CE as RFC 8257 section 3.2 and Figure 1 say.

A checker, fed with what a tap at or near the receiver sees: the data that reaches it (`data`) and
the ACKs that it sends (`ack`). DCTCP.CE is the CE of the last segment; ECE of an ACK is DCTCP.CE,
and a change sends an ACK at once, or two: one for what came before and one for what changed it. How
many segments another ACK covers, m, is the receiver's affair. A classic receiver (RFC 3168 section
6.1.3) sets ECE from a CE until CWR; CWR alone says nothing, for DCTCP's senders set it too. Where
CE is not seen, the two are told apart by how long ECE lasts (`classic`). Whose rules all the ACKs
follow is in `receiver_verdict`.

An ACK may be lost and data may arrive out of order, again, or not at all behind the tap: what is
then possible is in `ce_runs`, and an ACK contradicts only what is certain. Sequence numbers are
unwrapped to 64 bits, sizes bytes.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, step
from pipeline.cc import ce_runs, classic, parameter
from pipeline.cc.ce_runs import (
    CLASSIC,
    CLEAR,
    DCTCP,
    EITHER,
    HOLES,
    RIGHT,
    RUNS,
    SET,
    UNKNOWN,
    WRONG,
)
from pipeline.cc.parameter import Parameter, Record, Value
from pipeline.cc.receiver_verdict import Evidence, Verdict, conclude, sighted


class Branch(IntEnum):
    """What one ACK was."""

    NOTHING = 0
    EXPECTED = 1
    DELAYED = 2
    STRETCHED = 3
    AT_CHANGE_OLD = 4
    AT_CHANGE_NEW = 5
    LATE = 6
    DUPLICATE = 7
    OLD = 8
    UNSEEN = 9
    UNSIGHTED = 10
    LATCHED = 11
    ECE_UNEXPECTED = 12
    ECE_MISSING = 13


__all__ = ["TABLE", "Branch", "Evidence", "Verdict"]

FIN, SYN, RST, ACK, ECE, CWR = 1, 2, 4, 16, 64, 128
CE = 3
TABLE = (
    Parameter("sees_ce", "auto", "", 0, 1,
              "Whether all CE is set before the tap; auto is so from the first CE seen on.", "open",
              ("auto", "all", "none")),
    Parameter("m", 0, "segments", 0, 10_000,
              "Most segments that an ACK covers; 0 is any number, and the largest is learned.",
              "3.2"),
    Parameter("late", "tolerated", "", 0, 1,
              "Whether a change of CE that no ACK shows at once contradicts; an ACK may be lost.",
              "3.2", ("tolerated", "contradicts")),
    Parameter("cwr", "before_ce", "", 0, 1,
              "Which of CWR and CE of one segment is processed first.", "3168, 6.1.3",
              ("before_ce", "after_ce")),
    Parameter("not_ect", "either", "", 0, 1,
              "Whether data that is not ECT may leave DCTCP.CE as it is, or clears it.", "open",
              ("either", "clears")),
    Parameter("repeated", "either", "", 0, 1,
              "Whether data that had arrived before may change the state, or does not.", "open",
              ("either", "ignored")),
    Parameter("enough", 6, "ACKs", 1, 1000, "ACKs that must speak for a verdict.", "open"),
    Parameter("enough_wrong", 3, "ACKs", 1, 1000,
              "ACKs that must contradict both kinds of receiver.", "open"),
    Parameter("may_differ", 50, "ACKs", 1, 10_000,
              "One ACK in so many may contradict: the tap, too, misses segments.", "open"),
)  # fmt: skip

STATE = parameter.state_dtype(
    (("i8", 2 * RUNS), "start", "first"),
    (("i8", HOLES), "low", "high"),
    ("f8", "sure"),
    ("i8", "rcv_nxt", "rcv_una", "loose_to", "doubt", "cwr_end"),
    ("i8", "acked_bytes", "expected_bytes", "reported_bytes"),
    (("i4", 2), "judged", "wrong", "alone"),
    ("i4", "segments", "echoes", "missing", "changes", "late", "largest", "m"),
    (("i1", 2 * RUNS), "may"),
    (("i1", 2), "runs", "doubted"),
    ("i1", "waiting", "begun", "ect", "ce", "branch", "verdict", "evidence"),
    ("i1", "run", "early", "latched", "outlasted"),
)
"""One receiver. Of two, DCTCP's and the classic: judged ACKs that could tell, wrong those that it
could not have sent, alone those that only it could. expected_bytes arrived with CE and are
acknowledged, reported_bytes were acknowledged with ECE. start to high are of `ce_runs`; doubt is
the last ACK number that contradicted; cwr_end and run to outlasted are of `classic`."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` states of receivers first seen in mid-flow; `establish` makes one known."""
    made = np.zeros(count, STATE)
    made["cwr_end"] = made["doubt"] = -1
    return made


@borrowing
def establish(s: Record, rcv_nxt: int) -> None:
    """The handshake is over: RCV.NXT is this, and DCTCP.CE is false (section 3.2)."""
    ce_runs.begin(s, rcv_nxt, CLEAR)


@borrowing
def data(s: Record, p: Record, seq: int, octets: int, ecn: int, flags: int) -> None:
    """A segment to the receiver; `ecn` is the codepoint, `flags` those of TCP.

    CE of SYN, SYN-ACK, RST and of what carries no data is ignored.
    """
    end = seq + octets + (1 if flags & FIN else 0)
    if flags & (SYN | RST) or octets < 0 or end == seq:
        return
    if s.begun == 0:
        ce_runs.begin(s, seq, EITHER)
    before = int(s.rcv_nxt)
    fresh = ce_runs.arrive(s, seq, end)
    s.segments += 1
    s.largest = max(s.largest, octets)
    s.ect |= ecn != 0
    s.ce |= ecn == CE and octets > 0
    if not fresh:
        s.loose_to = max(s.loose_to, s.rcv_nxt)
        if seq <= s.doubt < end:
            tally(s, s.doubted[DCTCP], s.doubted[CLASSIC], -1)
            s.doubt = -1
    if fresh or p.repeated == 0:
        certain = fresh and octets > 0
        ce_runs.change(s, DCTCP, before, after_dctcp(s, p, ecn, flags, certain))
        ce_runs.change(s, CLASSIC, before, after_classic(s, p, ecn, flags, certain))
    if flags & CWR:
        classic.answer(s, end)


@step
def after_dctcp(s: Record, p: Record, ecn: int, flags: int, certain: bool) -> int:
    """Section 3.2, rules 1 to 3: what ECE may be after a segment.

    Where data that is not ECT or no news is left alone, CWR may still have taken the ECE away.
    """
    state = SET if ecn == CE else CLEAR
    if certain and (ecn != 0 or p.not_ect == 1):
        return state
    cleared = CLEAR if flags & CWR else 0
    return int(ce_runs.state_of(s, DCTCP) | state | cleared)


@step
def after_classic(s: Record, p: Record, ecn: int, flags: int, certain: bool) -> int:
    """RFC 3168 section 6.1.3: CE sets ECE until CWR clears it; CWR comes before CE."""
    state = ce_runs.state_of(s, CLASSIC)
    for turn in range(2):
        if turn == p.cwr and flags & CWR:
            state = CLEAR if certain else state | CLEAR
        if turn != p.cwr and ecn == CE:
            state = SET if certain else state | SET
    return int(state)


@step
def tally(s: Record, of_dctcp: int, of_classic: int, sign: int) -> None:
    """Count an ACK that tells something, or take it back."""
    s.judged[DCTCP] += sign * (of_dctcp != UNKNOWN)
    s.judged[CLASSIC] += sign * (of_classic != UNKNOWN)
    s.wrong[DCTCP] += sign * (of_dctcp == WRONG)
    s.wrong[CLASSIC] += sign * (of_classic == WRONG)
    s.alone[DCTCP] += sign * (of_dctcp == RIGHT and of_classic == WRONG)
    s.alone[CLASSIC] += sign * (of_classic == RIGHT and of_dctcp == WRONG)


@step
def passed(s: Record, number: int) -> tuple[int, bool, bool]:
    """Changes of CE that this ACK covers and none shows, and whether it stands after, before one.

    A change is shown by an ACK for what came before it, or for no more than what changed it.
    """
    late, after, before = 0, False, False
    for i in range(1, s.runs[DCTCP]):
        if s.may[i] + s.may[i - 1] == EITHER and s.rcv_una < s.first[i]:
            after = after or number == s.first[i]
            before = before or number == s.start[i]
            if s.rcv_una < s.start[i] < number and number > s.first[i]:
                late += 1
    return late, after, before


@borrowing
def ack(s: Record, p: Record, number: int, flags: int) -> int:
    """An ACK of the receiver; returns the `Branch`. ECE of a SYN-ACK is negotiation."""
    s.branch = Branch.NOTHING.value
    if flags & (SYN | RST) or not flags & ACK:
        return int(s.branch)
    if s.begun == 0:
        ce_runs.begin(s, number, EITHER)
    if number < s.rcv_una:
        s.branch = Branch.OLD.value
        return int(s.branch)
    ece = flags & ECE != 0
    newly = number - s.rcv_una
    s.echoes += ece
    s.acked_bytes += newly
    s.reported_bytes += newly if ece else 0
    if number > s.rcv_nxt:
        ce_runs.catch_up(s, number)
    s.expected_bytes += ce_runs.marked_between(s, s.rcv_una, number)
    if newly > 0:
        classic.hear(s, number, ece)
    s.branch = weigh(s, p, number, ece, newly)
    s.rcv_una = number
    ce_runs.forget(s)
    conclude(s, p)
    return int(s.branch)


@step
def weigh(s: Record, p: Record, number: int, ece: bool, newly: int) -> int:
    """The `Branch` of an ACK, counted where it tells something of the receiver."""
    if not sighted(s, p):
        return Branch.UNSIGHTED.value
    loose = newly == 0 or number <= s.loose_to
    of_dctcp = ce_runs.judge(s, DCTCP, number, ece, loose)
    of_classic = ce_runs.judge(s, CLASSIC, number, ece, loose)
    late, after, before = passed(s, number)
    s.late += late
    counted = WRONG if late > 0 and p.late == 1 else of_dctcp
    if ece or WRONG in (counted, of_classic):
        tally(s, counted, of_classic, 1)
    if newly > 0 and WRONG in (counted, of_classic):
        s.doubt = number
        s.doubted[DCTCP] = counted
        s.doubted[CLASSIC] = of_classic
    if of_dctcp == WRONG:
        s.missing += not ece
        if ece and of_classic == RIGHT:
            return Branch.LATCHED.value
        return Branch.ECE_UNEXPECTED.value if ece else Branch.ECE_MISSING.value
    if newly == 0:
        return Branch.DUPLICATE.value
    if of_dctcp == UNKNOWN:
        return Branch.UNSEEN.value
    if late > 0:
        return Branch.LATE.value
    ordinary = covers(s, p, newly)
    if after:
        return Branch.AT_CHANGE_NEW.value
    return Branch.AT_CHANGE_OLD.value if before else ordinary


@step
def covers(s: Record, p: Record, newly: int) -> int:
    """The `Branch` of an ordinary ACK, by the segments that it covers."""
    segments = -(-newly // max(s.largest, 1))
    s.m = max(s.m, segments)
    if 0 < p.m < segments:
        return Branch.STRETCHED.value
    return Branch.DELAYED.value if segments > 1 else Branch.EXPECTED.value
