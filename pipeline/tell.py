"""Decisions as they are written down, in the documents' names."""

import numpy as np

from collector import inlined
from pipeline.batch import Batch
from pipeline.cc import dctcp, hpcc
from pipeline.cc.parameter import Record
from pipeline.memory import Algorithm, Echo, Mark, Quality, Why

WORD = 0xFFFF_FFFF
"""Sequence numbers are told modulo 2**32, as they are on the wire."""
HPCC_BRANCHES = len(hpcc.Branch)
"""Branches of HPCC++ come first among those of both."""
ENDS = (dctcp.Branch.WINDOW_END.value, dctcp.Branch.WINDOW_END_REDUCE.value)


@inlined
def tell_before(batch: Batch, value: float) -> None:
    """U or alpha as an ACK finds it, into the decision that is made next."""
    batch.block[batch.made[0]].before = value


@inlined
def decision(
    slot: Record, d: int, at: int, ack: int, acked: int, echo: int, marked: int, batch: Batch
) -> Record:
    """A new decision with what both algorithms share; `batch.write` keeps it.

    Of `marked` bytes `echo` says how the ACK told them (`Echo`).
    """
    made = batch.block[batch.made[0]]
    made.row = at
    made.direction = d
    made.ack = ack & WORD
    made.inflight_bytes = slot.snd_nxt[d] - slot.snd_una[d]
    made.acked_bytes = acked
    made.marked_bytes = marked
    unseen = echo == Echo.ECE.value and not slot.marks[d] & Mark.SYN_SEEN.value
    made.echo = Echo.UNKNOWN.value if unseen else echo
    return made


@inlined
def tell_hpcc(made: Record, s: Record) -> None:
    """The draft's variables into a decision."""
    made.algorithm = Algorithm.HPCC.value
    made.branch = s.branch
    made.faults = s.faults
    made.U = s.U
    made.W = s.W
    made.Wc = s.Wc
    made.R = s.R
    made.incStage = s.incStage
    made.lastUpdateSeq = s.lastUpdateSeq & WORD
    made.u_max = s.u_max
    made.u_hop = s.u_hop
    made.hop_count = s.nhop


@inlined
def tell_dctcp(made: Record, s: Record) -> None:
    """The RFC's variables into a decision; where a window ended, that window's counts."""
    closed = s.branch in ENDS
    made.algorithm = Algorithm.DCTCP.value
    made.branch = s.branch + HPCC_BRANCHES
    made.alpha = s.alpha
    made.M = s.M
    made.BytesAcked = s.closed_acked if closed else s.BytesAcked
    made.BytesMarked = s.closed_marked if closed else s.BytesMarked
    made.WindowEnd = s.WindowEnd & WORD
    made.cwnd = s.cwnd
    made.ssthresh = s.ssthresh


@inlined
def tell_accecn(made: Record, echo: int) -> None:
    """Alpha of a sender that hears counters: as DCTCP would have it; what it does then is open."""
    made.cwnd = np.nan
    made.ssthresh = np.nan
    if made.quality != Quality.UNKNOWN.value:
        made.quality = Quality.ESTIMATED.value
        made.why = Why.ACCECN.value if echo == Echo.BYTES.value else Why.ACE.value


@inlined
def tell_classic(made: Record) -> None:
    """A sender that runs classic ECN has neither alpha nor windows of DCTCP."""
    made.before = np.nan
    made.alpha = np.nan
    made.M = np.nan
    made.quality = Quality.UNKNOWN.value
    made.why = Why.CLASSIC_ECN.value
