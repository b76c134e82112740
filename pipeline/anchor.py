"""W taken from the bytes in flight, where the beginning of a flow or a part of it was not seen.

A sender that has data to send fills its window, so what is in flight when an ACK comes is W, or up
to a segment more for the last packet it let go. At a full update (line 22) that tells the W of the
update before, and by the lines that made it (13 or 17) the Wc that it was made from. What paces
below its window, or has nothing to send, is seen too low; so W is taken anew only where it does not
fit what is in flight, and remains an estimate (semantics.md section 3).
"""

import numpy as np

from collector import inlined
from pipeline.cc.hpcc import FAST, Branch
from pipeline.cc.parameter import Record
from pipeline.memory import Mark

LOOSE = 0.125
"""Below W by this share of it: a sender that paces, not another W."""


@inlined
def lost_track(slot: Record, d: int) -> bool:
    """Whether W of sender d cannot be followed from its beginning."""
    return bool(slot.marks[d] & Mark.GAP.value or not slot.marks[d] & Mark.SYN_SEEN.value)


@inlined
def anchor(slot: Record, d: int, s: Record, p: Record, ack: int, flight: int, far: bool) -> None:
    """Let W be what fits the bytes in flight before an ACK that makes a full update."""
    full = s.started != 0 and ack > s.lastUpdateSeq
    if not full or far or np.isnan(s.W_init) or flight <= 0:
        return
    segment = float(slot.largest[d])
    low, high = flight - segment, flight + max(2 * segment, LOOSE * s.W)
    if slot.marks[d] & Mark.ANCHORED.value and low <= s.W <= high:
        return
    slot.marks[d] |= Mark.ANCHORED.value
    W = min(max(float(flight), segment), float(s.W_init))
    R = W * s.B_nic_bps / s.W_init
    Wc, Rc = W, R
    if s.branch > FAST:  # W was made from a Wc that stayed
        Wc, Rc = W - s.W_ai, R - s.R_ai
        if s.branch != Branch.FAST_REACT_AI.value and s.U > 0:
            Wc, Rc = Wc * (s.U / p.eta), Rc * (s.U / p.eta)
    s.W, s.R = W, R
    s.Wc = min(max(Wc, segment), float(s.W_init))
    s.Rc = min(max(Rc, 0.0), float(s.B_nic_bps))
