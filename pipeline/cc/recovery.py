"""cwnd and ssthresh of a DCTCP sender: reduction, growth and loss (RFC 5681, 6675, 6937).

RFC 8257 changes one thing of conventional TCP: ECE reduces by alpha (section 3.3 step 9), once a
window. Loss does what it does without DCTCP (section 3.5): ssthresh is half of cwnd, or by the
dialect's parameter falls by alpha too. What is named RECOVERY, LOSS and so on are the states that
Linux and ns-3 share; a sender is in one of them. Sizes are bytes.
"""

import numpy as np

from collector import borrowing, merged, step
from pipeline.cc import scoreboard
from pipeline.cc.parameter import Record

OPEN, DISORDER, CWR, RECOVERY, LOSS = 0, 1, 2, 3, 4
"""Nothing unusual; duplicate ACKs; reducing for ECE; mending a loss; after a timeout."""
BYTES, SEGMENTS, WHOLE_SEGMENTS = 0, 1, 2
"""What `counts` may be; whole segments carry what is left of one to the next ACK, as ns-3 does."""
REAL, WHOLE, SCALED = 0, 1, 2
"""What `arithmetic` may be: real numbers, Linux's 1/1024, or the RFC's form with SCF and SHF."""


@borrowing
def reduced(s: Record, p: Record) -> float:
    """Step 9: cwnd*(1 - alpha/2), not below the smallest window; 1/1024 takes whole segments."""
    least = float(p.min_cwnd * s.mss)
    if p.arithmetic == WHOLE:
        segments = int(s.cwnd / s.mss)
        return max(float((segments - (segments * s.scaled >> 11)) * s.mss), least)
    cwnd = float(s.cwnd) * (1 - float(s.alpha) / 2)
    return float(max(np.floor(cwnd) if p.counts == WHOLE_SEGMENTS else cwnd, least))


@step
def after_loss(s: Record, p: Record) -> float:
    """What ssthresh becomes after a loss: half of cwnd in whole segments, or as after ECE."""
    if p.loss_reduces == 1:
        return reduced(s, p)
    return float(max((int(s.cwnd / s.mss) >> 1) * s.mss, 2 * s.mss))


@borrowing
def proportional_rate_reduction(
    s: Record, p: Record, in_flight: int, sent: int, delivered: int
) -> None:
    """RFC 6937 section 3.1; `sent` is prr_out. The first segment of a reduction always goes out.

    Below ssthresh cwnd grows by what was delivered and not sent, and a segment; ns-3's grows by
    what this ACK delivers.
    """
    s.prr_delivered += delivered
    room = s.ssthresh - in_flight
    if room < 0:
        allowed = np.ceil(s.prr_delivered * s.ssthresh / s.prr_flight) - sent
    elif p.counts == WHOLE_SEGMENTS:
        allowed = min(float(delivered), room)
    else:
        allowed = min(room, float(max(s.prr_delivered - sent, delivered) + s.mss))
    s.cwnd = in_flight + max(allowed, 0.0 if sent > 0 else float(s.mss))


@borrowing
def enter(s: Record, state: int, ssthresh: float, snd_nxt: int, flight: float) -> None:
    """A reduction begins: ssthresh falls at once, cwnd by PRR until SND.NXT is acknowledged."""
    s.ssthresh = ssthresh
    s.recover = snd_nxt
    s.ca_state = state
    s.prr_flight = max(flight, 1.0)
    s.prr_delivered = 0


@borrowing
def grow(s: Record, p: Record, delivered: int) -> None:
    """RFC 5681: slow start below ssthresh, else one segment a window; ns-3 in whole segments."""
    if s.cwnd < s.ssthresh:
        s.cwnd = min(s.cwnd + delivered, s.ssthresh)
    elif p.counts != WHOLE_SEGMENTS:
        s.cwnd += s.mss * delivered / s.cwnd
    else:
        window = max(int(s.cwnd) // s.mss, 1)
        if s.grown >= window:
            s.grown = 0
            s.cwnd += s.mss
        s.grown += delivered // s.mss
        s.cwnd += s.grown // window * s.mss
        s.grown %= window


@merged
def adjust_cwnd(
    s: Record, p: Record, snd_nxt: int, again: int, in_flight: int, delivered: int, ece: bool,
    closed: bool,
) -> bool:  # fmt: skip
    """Step 9 and conventional growth; true when this ACK reduced.

    `again` is what was sent again since the last reduction began.
    """
    if s.ca_state >= CWR and s.snd_una >= s.recover + p.recovery:
        if s.ca_state != LOSS:
            s.cwnd = s.ssthresh
        s.ca_state = OPEN
    if p.reduces == 0:
        if closed and s.closed_marked > 0 and s.ca_state < RECOVERY:
            s.cwnd = reduced(s, p)
            s.ssthresh = s.cwnd
            return True
        if not ece or s.ca_state >= RECOVERY:
            react(s, p, snd_nxt + again, in_flight, delivered)
        return False
    enters = bool(ece and s.ca_state < CWR)
    if enters:
        enter(s, CWR, reduced(s, p), snd_nxt, in_flight if p.recovery == 1 else s.cwnd)
        again = 0
        if p.recovery == 1:
            react(s, p, snd_nxt, in_flight, delivered)
    react(s, p, snd_nxt + again, in_flight, delivered)
    return enters


@borrowing
def react(s: Record, p: Record, sent_to: int, in_flight: int, delivered: int) -> None:
    """Let cwnd follow ssthresh while a reduction lasts, and grow otherwise.

    `sent_to` is SND.NXT and what was sent again: RFC 6937's prr_out has both.
    """
    if s.ca_state in (CWR, RECOVERY):
        proportional_rate_reduction(s, p, in_flight, sent_to - s.recover, delivered)
    else:
        grow(s, p, delivered)


@step
def lose(s: Record, p: Record) -> None:
    """What a loss may do to alpha (RFC 8257 section 3.5): nothing, or it starts again."""
    if p.alpha_on_loss == 1:
        s.alpha = p.alpha_init
        s.scaled = int(p.alpha_init * (p.SCF if p.arithmetic == SCALED else 1024))


@borrowing
def sent_again(s: Record, p: Record, b: Record, seq: int, end: int, snd_nxt: int) -> None:
    """Data up to `end` is on its way again: in answer to an ACK, or because a timer ran out.

    A timeout shows by data sent again that no duplicate or selective ACK asked for.
    """
    if b.expected == seq:
        b.expected = -1
        b.nxt = seq
    else:
        known = b.count > 0 or s.dup_acks >= scoreboard.DUP_THRESH
        if p.recovery == 1:
            known = b.again_to <= seq < b.lost_to
        if s.ca_state == LOSS:
            known = seq >= b.again_to
        if not known:
            time_out(s, p, b, snd_nxt)
        elif s.ca_state < RECOVERY and p.recovery == 0:
            enter(s, RECOVERY, after_loss(s, p), snd_nxt, s.cwnd)
            s.prr_delivered = s.mss  # by the ACK that this answers
            b.sent_again = 0
            b.lost_to = max(b.lost_to, end)
            lose(s, p)
        b.nxt = end
    b.sent_again += end - seq
    b.again_to = max(b.again_to, end)


@step
def time_out(s: Record, p: Record, b: Record, snd_nxt: int) -> None:
    """RFC 6298: everything is lost, cwnd is one segment; only the first of several reduces."""
    if s.ca_state != LOSS or b.again_to <= s.snd_una:
        s.ssthresh = after_loss(s, p)
    s.cwnd = float(s.mss)
    s.ca_state = LOSS
    s.recover = snd_nxt
    s.lossy = 1
    s.dup_acks = 0
    if b.sack == 0:
        b.count = 0
    b.lost_to = snd_nxt
    b.again_to = s.snd_una
    b.expected = -1
    lose(s, p)
