"""Bytes in flight and rate of a sender against W and R that its congestion control gives.

HPCC++ is judged send by send: what was in flight after the last one before an ACK is what was in
flight with that ACK, and the W that held then is that of the ACK before. TCP approaches a smaller
cwnd gradually (RFC 6937), so there the most that a round trip had in flight stands against the
largest cwnd of it and of the one before; and a cut was made if two round trips later less is in
flight than when it was due. cwnd is an estimate, so that is asked only of cuts that must be seen.
"""

from typing import Any

from collector import inlined
from replay.conduct import BEGAN_LARGER, BINS, MENDED_LARGER, MENDING, PER_WINDOW

SEGMENTS = 2
"""Segments above W: the one that crosses it, and one that is on its way through the host."""
SHARE = 0.02
ROUND_SEGMENTS, ROUND_SHARE = 3, 0.25
"""The same of TCP, whose cwnd is an estimate."""
SEEN_SEGMENTS = 4
"""A cut of so many segments is seen, although the window has grown since."""
PACED_SEGMENTS, PACED_SHARE = 4, 0.1
"""The same of what R lets go in a round trip."""
NS = 8e9


@inlined
def tally(s: Any, flight: float, window: float) -> None:
    """Count in-flight bytes over a window."""
    s.histogram[min(int(flight * PER_WINDOW / window), BINS - 1)] += 1


@inlined
def next_round(s: Any, snd_nxt: int) -> None:
    """A round trip is over; the next lasts until SND.NXT of now is acknowledged."""
    s.window_before, s.window = s.window, 0.0
    s.peak_then, s.peak_before, s.peak = s.peak_before, s.peak, 0.0
    s.cut_then, s.cut_before, s.cut = s.cut_before, s.cut, 0.0
    s.fall_then, s.fall_before, s.fall = s.fall_before, s.fall, 0.0
    s.sent, s.allowed = 0, 0.0
    s.round_nxt = snd_nxt


@inlined
def mended(s: Any, ssthresh: float) -> None:
    """All that was sent before a loss is acknowledged: rounds begin anew, and know of no cut."""
    s.untrue = 0
    s.mendings += 1
    s.due_mended = s.due
    s.threshold = ssthresh
    s.window = s.window_before = 0.0
    s.peak = s.peak_before = s.peak_then = float(s.nxt - s.una)
    s.cut = s.cut_before = s.cut_then = 0.0
    s.fall = s.fall_before = s.fall_then = 0.0
    s.round_nxt = s.nxt


@inlined
def tcp_round(s: Any, cwnd: float, ssthresh: float, alpha: float) -> bool:
    """An ACK of TCP and what it leaves; whether the round that ends shows that a cut was not made.

    What begins with more in flight than cwnd, before anything asked for less, has another window;
    so has what goes on so after a loss, whose end is when all that was sent before is acknowledged.
    """
    if s.untrue == MENDING and s.heard >= s.mended:
        mended(s, ssthresh)
    s.window = max(s.window, cwnd)
    if ssthresh > 0 and (s.threshold == 0 or ssthresh < s.threshold):
        s.cut, s.fall = ssthresh, alpha / 2
    s.threshold = ssthresh
    if s.heard < s.round_nxt:
        return False
    kept = False
    most = max(s.window, s.window_before)
    if s.peak > 0 and most > 0 and s.untrue == 0:
        beyond = s.peak > (1 + ROUND_SHARE) * most + ROUND_SEGMENTS * s.largest
        if beyond and s.due == s.due_mended:
            s.untrue = MENDED_LARGER if s.resent > 0 else BEGAN_LARGER
        else:
            s.rounds += 1
            s.rounds_over += 1 if beyond else 0
            tally(s, s.peak, most)
            kept = cut_kept(s)
    next_round(s, s.nxt)
    return kept


@inlined
def cut_kept(s: Any) -> bool:
    """Whether as much is in flight as two rounds ago, when a cut was due that must be seen."""
    if s.cut_then <= 0 or s.fall_then * s.peak_then < SEEN_SEGMENTS * s.largest:
        return False
    s.cuts += 1
    beyond = s.peak > (1 + ROUND_SHARE) * s.cut_then + ROUND_SEGMENTS * s.largest
    kept = beyond and s.peak >= s.peak_then
    s.cuts_kept += 1 if kept else 0
    return bool(kept)


@inlined
def hpcc_sends(s: Any, inflight: int, acked: int) -> bool:
    """What was sent since the last ACK; whether it was more than W let go."""
    flight = float(inflight + acked)
    sent = flight - s.flight
    beyond = False
    if s.exact == 1 and s.flight >= 0 and sent > 0 and s.W > 0:
        slack = SEGMENTS * s.largest + SHARE * s.W
        before = max(s.window, s.window_before)
        s.sends += 1
        s.sends_less += 1 if before > s.W + slack else 0
        tally(s, flight, max(s.W, float(s.largest)))  # of a window below a segment one goes
        if flight > s.W + slack:
            beyond = True
            s.sends_over += 1
            s.sends_late += 1 if flight <= before + slack else 0
    s.sent += max(int(sent), 0)
    return beyond


@inlined
def outruns(s: Any, now_ns: int) -> None:
    """A round ends: count it where all that was sent so far is more than the line rate lets go."""
    if s.since_ns == 0:
        s.since_ns = now_ns
        return
    s.total += s.sent
    line = s.line_bps * (now_ns - s.since_ns) / NS
    if s.exact == 1 and s.total > (1 + PACED_SHARE) * line + PACED_SEGMENTS * s.largest:
        s.faster += 1


@inlined
def hpcc_round(s: Any, now_ns: int, snd_nxt: int) -> bool:
    """R let so much go since the last ACK; whether the round that ends here was faster."""
    s.allowed += s.R * (now_ns - s.ack_ns) / NS
    if s.heard < s.round_nxt:
        return False
    outruns(s, now_ns)
    slack = PACED_SEGMENTS * s.largest + PACED_SHARE * s.allowed
    beyond = False
    if s.exact == 1 and s.R > 0 and s.sent > 0:
        beyond = s.sent > s.allowed + slack
        s.paced += 1
        s.paced_over += 1 if beyond else 0
    next_round(s, snd_nxt)
    return beyond
