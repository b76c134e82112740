"""DCTCP as the sender of ns-3 3.37 runs it: its loss recovery decides what an ACK counts.

ns-3 hands a congestion control the segments that an ACK stands for, which is not what it delivers:
one for a duplicate ACK and for a partial one, those beyond the duplicates when order returns, those
beyond the recovery point after a timeout (ns-3's ProcessAck and DupAck, RFC 6675 section 5). Its
SND.NXT is where the last segment ended that it sent, or began when it was sent again at once, so it
retreats and returns. alpha is the one before the ACK wherever an ACK reduces.
"""

from collector import step
from pipeline.cc import recovery, scoreboard
from pipeline.cc.parameter import Record
from pipeline.cc.recovery import CWR, DISORDER, LOSS, OPEN, RECOVERY


@step
def new_ack(
    s: Record, p: Record, b: Record, ack: int, snd_nxt: int, ece: bool, sacked: int, duplicate: bool
) -> int:
    """One ACK after loss was seen; returns the segments that it counts, or -1 for none at all.

    `snd_nxt` is the highest number sent, `sacked` what this ACK is the first to SACK,
    `duplicate` that it is a duplicate where there is no SACK. cwnd and
    ssthresh are brought up to date; the window is the caller's (`dctcp.count`).
    """
    before = int(s.snd_una)
    if ack < before:
        return -1
    past = scoreboard.sacked_between(b, before, ack) if b.sack else 0
    delivered = ack - before - past + sacked
    s.snd_una = ack
    scoreboard.advance(b, ack, snd_nxt, s.mss)
    flight = scoreboard.in_flight(b, ack, snd_nxt)
    if s.ca_state == CWR and ack > s.recover:
        s.ca_state = OPEN
        s.cwnd = s.ssthresh
    if ack > before and ece:
        s.echoed = 1
        if s.ca_state != CWR:
            begin(s, p, b, CWR, snd_nxt, delivered)
    elif not ece:
        s.echoed = 0
    duplicate = sacked > 0 if b.sack else duplicate
    duplicates = int(s.dup_acks)
    if duplicate:
        take_duplicate(s, p, b, snd_nxt, flight, delivered)
    if ack == before:
        return 1 if ack != snd_nxt else -1
    if not duplicate:
        s.dup_acks = 0
    return progress(s, p, b, snd_nxt, flight, ack - before, delivered, duplicate, duplicates)


@step
def begin(s: Record, p: Record, b: Record, state: int, snd_nxt: int, delivered: int) -> None:
    """EnterCwr and EnterRecovery: alpha reduces ssthresh, and PRR begins."""
    flight = scoreboard.in_flight(b, s.snd_una, snd_nxt)
    recovery.enter(s, state, recovery.reduced(s, p), snd_nxt, snd_nxt - s.snd_una)
    s.reduced = 1
    b.sent_again = 0
    slide(s, p, b, snd_nxt, flight, delivered)


@step
def slide(s: Record, p: Record, b: Record, snd_nxt: int, flight: int, delivered: int) -> None:
    """DoRecovery of TcpPrrRecovery; `flight` is the pipe before this ACK said what is lost."""
    sent = snd_nxt - s.recover + b.sent_again
    recovery.proportional_rate_reduction(s, p, flight, sent, delivered)


@step
def send_head(s: Record, b: Record) -> None:
    """DoRetransmit: the first lost segment, at once; SND.NXT is where it begins."""
    lost = scoreboard.next_lost(b, s.snd_una)
    seq = lost if lost >= 0 else s.snd_una
    b.expected = seq
    b.nxt = seq


@step
def lose_head(s: Record, b: Record) -> None:
    """MarkHeadAsLost: the segment at SND.UNA is lost, and not sent again."""
    b.lost_to = max(b.lost_to, s.snd_una + s.mss)
    b.again_to = s.snd_una if b.sack == 0 else b.again_to


@step
def take_duplicate(
    s: Record, p: Record, b: Record, snd_nxt: int, flight: int, delivered: int
) -> None:
    """DupAck: two make disorder, the third or a lost head starts recovery."""
    if s.ca_state == LOSS:
        return
    if s.ca_state != RECOVERY:
        s.dup_acks += 1
    if s.ca_state == OPEN:
        s.ca_state = DISORDER
    if s.ca_state == RECOVERY:
        if b.sack == 0:
            scoreboard.guess(b, s.snd_una, snd_nxt, s.mss)
        slide(s, p, b, snd_nxt, flight, delivered)
    elif s.ca_state == DISORDER:
        third = s.dup_acks == scoreboard.DUP_THRESH
        if (third and (s.snd_una >= s.recover or not s.lossy)) or b.lost_to > s.snd_una + s.mss:
            recover(s, p, b, snd_nxt, delivered)
        elif b.sack == 0:
            scoreboard.guess(b, s.snd_una, snd_nxt, s.mss)


@step
def recover(s: Record, p: Record, b: Record, snd_nxt: int, delivered: int) -> None:
    """EnterRecovery: the head is lost and sent again."""
    if b.sack == 0:
        scoreboard.guess(b, s.snd_una, snd_nxt, s.mss)
    lose_head(s, b)
    s.lossy = 1
    begin(s, p, b, RECOVERY, snd_nxt, delivered)
    recovery.lose(s, p)
    send_head(s, b)


@step
def progress(
    s: Record,
    p: Record,
    b: Record,
    snd_nxt: int,
    flight: int,
    acked: int,
    delivered: int,
    duplicate: bool,
    duplicates: int,
) -> int:
    """ProcessAck where SND.UNA moved: the segments that count, by the state of the sender."""
    segments = (s.carry + acked) // s.mss
    s.carry += acked - segments * s.mss
    counted = segments
    ack = int(s.snd_una)
    if s.ca_state == RECOVERY and ack < s.recover:
        if b.sack == 0:
            lose_head(s, b)
        if segments >= 1:
            slide(s, p, b, snd_nxt, flight, delivered)
        if b.again_to < ack + s.mss:
            send_head(s, b)
        counted = 1
    elif s.ca_state == LOSS and ack < s.recover:
        recovery.grow(s, p, segments * s.mss)
    elif s.ca_state == CWR:
        if segments >= 1:
            slide(s, p, b, snd_nxt, flight, delivered)
    else:
        if s.ca_state == DISORDER:
            counted = segments - duplicates if segments >= duplicates else -1
            s.ca_state = DISORDER if duplicate else OPEN
        elif s.ca_state == RECOVERY:
            segments = counted = acked // s.mss
            s.cwnd = s.ssthresh
            s.ca_state = OPEN
            s.dup_acks = 0
        elif s.ca_state == LOSS:
            segments = counted = (ack - s.recover) // s.mss
            s.ca_state = OPEN
        if ack >= s.recover:
            s.lossy = 0
        if s.ca_state == OPEN:
            recovery.grow(s, p, segments * s.mss)
    return int(counted)
