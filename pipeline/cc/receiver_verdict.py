"""Whose rules a receiver's ACKs follow: DCTCP's, those of classic ECN, of neither, or of no ECN.

A verdict needs ACKs that only one kind of receiver could have sent. Where CE is seen, nearly all
must be possible for it (semantics.md section 4); where it is not, ECE must have lasted as long as
that kind lets it last, run after run (`classic`).
"""

from enum import IntEnum

from collector import step
from pipeline.cc import classic
from pipeline.cc.ce_runs import CLASSIC, DCTCP
from pipeline.cc.parameter import Record

AUTO, ALL = 0, 1
"""Values of `sees_ce`."""


class Verdict(IntEnum):
    """Whose rules the ACKs follow."""

    UNKNOWN = 0
    DCTCP = 1
    CLASSIC = 2
    NOT_ECN = 3
    CONTRADICTS = 4


class Evidence(IntEnum):
    """What a verdict rests on."""

    NONE = 0
    MARKS = 1
    LATCH = 2
    NO_ECT = 3


@step
def sighted(s: Record, p: Record) -> bool:
    """Whether CE that the receiver gets is seen here."""
    return bool(p.sees_ce == ALL or (p.sees_ce == AUTO and s.ce == 1))


@step
def conclude(s: Record, p: Record) -> None:
    """The verdict of all ACKs so far."""
    settle(s, Verdict.UNKNOWN.value, Evidence.NONE.value, 0, 0)
    if s.ect == 0 and s.segments >= p.enough:
        settle(s, Verdict.NOT_ECN.value, Evidence.NO_ECT.value, s.segments, 0)
    elif sighted(s, p):
        by_marks(s, p)
    elif classic.is_classic(s):
        settle(s, Verdict.CLASSIC.value, Evidence.LATCH.value, s.latched, s.early)
    elif s.early >= p.enough and int(s.early) * classic.MAY_DIFFER > s.latched:
        missed = s.latched // classic.MAY_DIFFER
        settle(s, Verdict.DCTCP.value, Evidence.LATCH.value, s.early, missed)


@step
def by_marks(s: Record, p: Record) -> None:
    """The verdict where CE is seen: one kind of receiver could send nearly all, the other not."""
    marks = Evidence.MARKS.value
    fits_dctcp = s.wrong[DCTCP] * p.may_differ <= s.judged[DCTCP]
    fits_classic = s.wrong[CLASSIC] * p.may_differ <= s.judged[CLASSIC]
    if s.missing >= p.enough and s.echoes == 0:
        settle(s, Verdict.NOT_ECN.value, marks, s.missing, 0)
    elif fits_dctcp and s.alone[DCTCP] >= p.enough:
        settle(s, Verdict.DCTCP.value, marks, s.alone[DCTCP], s.wrong[DCTCP])
    elif fits_classic and s.alone[CLASSIC] >= p.enough:
        settle(s, Verdict.CLASSIC.value, marks, s.alone[CLASSIC], s.wrong[CLASSIC])
    elif not fits_dctcp and not fits_classic and min(s.wrong[0], s.wrong[1]) >= p.enough_wrong:
        settle(s, Verdict.CONTRADICTS.value, marks, min(s.wrong[0], s.wrong[1]), 0)


@step
def settle(s: Record, verdict: int, evidence: int, pro: int, contra: int) -> None:
    """A verdict with its evidence, and how sure it is by the rule of succession; 0 for none."""
    s.verdict = verdict
    s.evidence = evidence
    s.sure = (pro + 1) / (pro + contra + 2) if verdict != Verdict.UNKNOWN.value else 0.0
