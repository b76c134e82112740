"""Decisions as they are written down, in the documents' names."""

from collector import inlined
from pipeline.cc import dctcp
from pipeline.cc.parameter import Record
from pipeline.memory import Algorithm, Batch, Count

ENDS = (dctcp.Branch.WINDOW_END.value, dctcp.Branch.WINDOW_END_REDUCE.value)


@inlined
def decision(
    slot: Record, d: int, at: int, ack: int, acked: int, ece: bool, batch: Batch
) -> Record:
    """A new row of decisions with what both algorithms share."""
    made = batch.decisions[batch.counts[Count.DECISIONS.value]]
    batch.counts[Count.DECISIONS.value] += 1
    made.row = at
    made.direction = d
    made.ack = ack
    made.snd_nxt = slot.snd_nxt[d]
    made.inflight_bytes = slot.snd_nxt[d] - slot.snd_una[d]
    made.acked_bytes = acked
    made.marked_bytes = acked if ece else 0
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
    made.lastUpdateSeq = s.lastUpdateSeq
    made.u_max = s.u_max
    made.u_hop = s.u_hop
    made.hop_count = s.nhop


@inlined
def tell_dctcp(made: Record, s: Record) -> None:
    """The RFC's variables into a decision; where a window ended, that window's counts."""
    closed = s.branch in ENDS
    made.algorithm = Algorithm.DCTCP.value
    made.branch = s.branch
    made.alpha = s.alpha
    made.M = s.M
    made.BytesAcked = s.closed_acked if closed else s.BytesAcked
    made.BytesMarked = s.closed_marked if closed else s.BytesMarked
    made.WindowEnd = s.WindowEnd
    made.cwnd = s.cwnd
    made.ssthresh = s.ssthresh
