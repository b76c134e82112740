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
def next_of(batch: Batch) -> np.uint64:
    """The place in the block of the decision that is made next; without a sign, for plain loads."""
    return np.uint64(batch.made[0])


@inlined
def tell_before(batch: Batch, value: float) -> None:
    """U or alpha as an ACK finds it, into the decision that is made next."""
    batch.block[0].before[next_of(batch)] = value


@inlined
def decision(
    slot: Record,
    d: int,
    at: int,
    ack: int,
    acked: int,
    echo: int,
    marked: int,
    again: bool,
    batch: Batch,
) -> None:
    """A new decision with what both algorithms share; `batch.write` keeps it.

    Of `marked` bytes `echo` says how the ACK told them (`Echo`); `again` whether it is not the
    first decision on the ACK.
    """
    made, n = batch.block[0], next_of(batch)
    made.row[n] = at
    made.direction[n] = d
    made.ack[n] = ack & WORD
    made.inflight_bytes[n] = slot.snd_nxt[d] - slot.snd_una[d]
    made.acked_bytes[n] = acked
    made.marked_bytes[n] = marked
    unseen = echo == Echo.ECE.value and not slot.marks[d] & Mark.SYN_SEEN.value
    made.again[n] = again
    made.echo[n] = Echo.UNKNOWN.value if unseen else echo


@inlined
def tell_quality(batch: Batch, told: tuple[int, int]) -> None:
    """How far a decision can be trusted, and why not further."""
    made, n = batch.block[0], next_of(batch)
    made.quality[n], made.why[n] = told


@inlined
def tell_dialect(batch: Batch, dialect: int, basis: int) -> None:
    """The dialect that decided, and how it was found."""
    made, n = batch.block[0], next_of(batch)
    made.dialect[n], made.basis[n] = dialect, basis


@inlined
def tell_hpcc(batch: Batch, s: Record) -> None:
    """The draft's variables into a decision."""
    made, n = batch.block[0], next_of(batch)
    made.algorithm[n] = Algorithm.HPCC.value
    batch.made[2] |= Algorithm.HPCC.value
    made.branch[n] = s.branch
    made.faults[n] = s.faults
    made.U[n] = s.U
    made.W[n] = s.W
    made.Wc[n] = s.Wc
    made.R[n] = s.R
    made.incStage[n] = s.incStage
    made.lastUpdateSeq[n] = s.lastUpdateSeq & WORD
    made.u_max[n] = s.u_max
    made.u_hop[n] = s.u_hop
    made.hop_count[n] = s.nhop


@inlined
def tell_dctcp(batch: Batch, s: Record) -> None:
    """The RFC's variables into a decision; where a window ended, that window's counts."""
    made, n = batch.block[0], next_of(batch)
    closed = s.branch in ENDS
    made.algorithm[n] = Algorithm.DCTCP.value
    batch.made[2] |= Algorithm.DCTCP.value
    made.branch[n] = s.branch + HPCC_BRANCHES
    made.alpha[n] = s.alpha
    made.M[n] = s.M
    made.BytesAcked[n] = s.closed_acked if closed else s.BytesAcked
    made.BytesMarked[n] = s.closed_marked if closed else s.BytesMarked
    made.WindowEnd[n] = s.WindowEnd & WORD
    made.cwnd[n] = s.cwnd
    made.ssthresh[n] = s.ssthresh


@inlined
def tell_accecn(batch: Batch, echo: int) -> None:
    """Alpha of a sender that hears counters: as DCTCP would have it; what it does then is open."""
    made, n = batch.block[0], next_of(batch)
    made.cwnd[n] = np.nan
    made.ssthresh[n] = np.nan
    if made.quality[n] != Quality.UNKNOWN.value:
        made.quality[n] = Quality.ESTIMATED.value
        made.why[n] = Why.ACCECN.value if echo == Echo.BYTES.value else Why.ACE.value


@inlined
def tell_classic(batch: Batch) -> None:
    """A sender that runs classic ECN has neither alpha nor windows of DCTCP."""
    made, n = batch.block[0], next_of(batch)
    made.before[n] = np.nan
    made.alpha[n] = np.nan
    made.M[n] = np.nan
    made.quality[n] = Quality.UNKNOWN.value
    made.why[n] = Why.CLASSIC_ECN.value
