"""Classic ECN told from DCTCP by how long ECE lasts, where CE is not seen (RFC 3168 section 6.1).

A classic receiver sets ECE on every ACK from the first CE on until the sender's CWR arrives
(section 6.1.3): ECE never ends before the segment with CWR is acknowledged, and mostly ends with
it. DCTCP's ECE follows the marks (RFC 8257 section 3.2), so it ends at any segment and CWR ends
nothing. Each run of ACKs with ECE is one observation; all of a sender's speak together.
"""

from collector import borrowing, merged
from pipeline.cc.parameter import Record

MOST = 100
"""Runs are counted up to here."""
ENOUGH = 6
"""Runs that must have ended with CWR before a flow is called classic."""
MAY_DIFFER = 8
"""One run in so many may seem to end early: the tap may have missed a CWR."""
QUIET, ECHOES, OUTLASTS = 0, 1, 2
"""No ECE now; a run of ECE; a run that went on after the segment with CWR was acknowledged."""


@merged
def hear(s: Record, ack: int, ece: bool) -> None:
    """One ACK of new data in order."""
    if ece:
        if s.run == QUIET:
            s.run = ECHOES
            s.cwr_end = -1
        elif 0 <= s.cwr_end <= ack:
            s.run = OUTLASTS
        return
    if s.run == ECHOES and not 0 <= s.cwr_end <= ack:
        s.early = min(s.early + 1, MOST)
    elif s.run == ECHOES:
        s.latched = min(s.latched + 1, MOST)
    elif s.run == OUTLASTS:
        s.outlasted = min(s.outlasted + 1, MOST)
    s.run = QUIET


@borrowing
def answer(s: Record, end: int) -> None:
    """Data with CWR that ends at `end`: the first of a run counts."""
    if s.cwr_end < 0:
        s.cwr_end = end


@borrowing
def is_classic(s: Record) -> bool:
    """Whether the runs so far are those of a classic receiver."""
    return bool(
        s.latched >= ENOUGH and s.latched >= s.outlasted and int(s.early) * MAY_DIFFER <= s.latched
    )
