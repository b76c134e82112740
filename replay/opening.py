"""A TCP connection opens: its numbers begin, and ECN is agreed on or not."""

from typing import Any

from collector import inlined

FIN, SYN, ACK, ECE, CWR, AE = 1, 2, 16, 64, 128, 256
WHOLE, HALF = 1 << 32, 1 << 31


@inlined
def unwrap(number: int, near: int) -> int:
    """The number modulo 2**32 that is nearest."""
    apart = (number - near) & (WHOLE - 1)
    return near + (apart - WHOLE if apart >= HALF else apart)


@inlined
def begin(s: Any, seq: int) -> None:
    """A connection begins: what was due of the one before is forgotten."""
    s.numbered, s.told, s.owes, s.untrue = 1, 1, 0, 0
    s.due_mended = s.due
    s.answers, s.shaken, s.agreed, s.refused = 0, 0, 0, 0
    s.nxt, s.una, s.heard, s.iss = seq + 1, seq + 1, seq + 1, seq
    s.cut_end, s.mended, s.quiet_nxt, s.id, s.flight = -1, -1, -1, -1, -1
    s.clear, s.clear_end, s.clear_shown = 1, -1, 0
    s.round_nxt, s.window, s.window_before, s.threshold = 0, 0.0, 0.0, 0.0
    s.peak, s.peak_before, s.peak_then = 0.0, 0.0, 0.0
    s.cut, s.cut_before, s.cut_then = 0.0, 0.0, 0.0


@inlined
def open_up(s: Any, o: Any, seen: Any, at: int) -> None:
    """SYN and SYN-ACK: numbers begin, ECN is agreed on (RFC 3168 section 6.1.1) or not."""
    flags, now = seen.flags[at], seen.time_ns[at]
    asked = flags & (ECE | CWR | AE)
    if flags & ACK:
        begin(s, seen.seq[at])
        s.lag_ns, s.syn_ns = now - o.syn_ns, now
        s.answers = 1
        agreed = asked == ECE and o.asked == 1
        s.agreed = o.agreed = 1 if agreed else 0
        s.refused = o.refused = 0 if agreed else 1
        return
    if s.numbered == 0 or s.iss != seen.seq[at] or s.shaken == 1:
        begin(s, seen.seq[at])
        begin(o, 0)
        o.numbered = o.told = 0
    s.syn_ns = now
    s.asked = 1 if flags & (ECE | CWR) == ECE | CWR else 0
