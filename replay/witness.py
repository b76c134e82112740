"""The one loop over rows and the decisions that they led to: what each sender does is written down.

Rows are in order, decisions in the order of their rows. All of it is compiled.
"""

from typing import Any

from numpy.typing import NDArray

from collector import borrowing, inlined
from replay import echo, flight, reaction
from replay.conduct import BEGAN_LARGER, MENDED_LARGER, MENDING, MID_FLOW, Act
from replay.opening import ACK, CWR, ECE, FIN, SYN, open_up, unwrap
from replay.sighting import CE, Ints, Seen, Told, note

MARGIN = 256
"""More events than one row can bring."""
MOST_SKIPPED = 32
"""Missing packets in a row: beyond, the sender counts its packets in another way."""
IDS = 1 << 16
HPCC, DCTCP = 1, 2
NEAR, END = 8, 4
"""Bits of a row's hint, those of its destination END higher."""


@borrowing
def observe(
    seen: Seen, told: Told, known: NDArray[Any], events: NDArray[Any], places: Ints
) -> None:
    """Rows from places[0] on, decisions from places[1] on; places[2] events are made.

    It stops where there is no room for the events of another row. Decisions that no row of the
    batch drove lead to nothing and are counted in places[3].
    """
    while places[0] < seen.time_ns.size and places[2] + MARGIN < events.size:
        at = places[0]
        if seen.flags[at] >= 0:
            handshake_and_ack(seen, at, known, events, places)
        first = driven(seen, at, told, places[1])
        places[3] += first - places[1]
        places[1] = first
        while places[1] < told.frame.size and drove(seen, at, told, places[1]):
            decided(told, places[1], known, events, places)
            places[1] += 1
        s = known[seen.sender[at]]
        if s.first_frame < 0:
            s.first_frame, s.first_source = seen.frame[at], seen.source[at]
        if seen.payload[at] > 0 and (seen.flags[at] < 0 or seen.flags[at] & SYN == 0):
            sent(s, seen, at, events, places)
        elif seen.flags[at] >= 0 and seen.flags[at] & FIN:
            s.nxt = max(s.nxt, unwrap(seen.seq[at], s.nxt) + 1)
        places[0] += 1


@inlined
def drove(seen: Seen, at: int, told: Told, decision: int) -> bool:
    """Whether a decision is of this row."""
    return bool(
        told.frame[decision] == seen.frame[at]
        and told.time_ns[decision] == seen.time_ns[at]
        and told.source[decision] == seen.source[at]
    )


@inlined
def driven(seen: Seen, at: int, told: Told, decision: int) -> int:
    """The first decision of this row from `decision` on, or else the first of a later one."""
    while decision < told.frame.size and told.time_ns[decision] < seen.time_ns[at]:
        decision += 1
    for later in range(decision, told.frame.size):
        if told.time_ns[later] != seen.time_ns[at]:
            break
        if drove(seen, at, told, later):
            return int(later)
    return int(decision)


@inlined
def handshake_and_ack(
    seen: Seen, at: int, known: NDArray[Any], events: NDArray[Any], places: Ints
) -> None:
    """What a TCP segment tells of its connection, and what it acknowledges."""
    s, o = known[seen.sender[at]], known[seen.other[at]]
    flags, now = seen.flags[at], seen.time_ns[at]
    s.tcp = o.tcp = 1
    identified(s, seen, at, events, places)
    if flags & SYN:
        open_up(s, o, seen, at)
    elif flags & ACK:
        if o.answers and not o.shaken:
            s.shaken = o.shaken = 1
            s.lag_ns, s.rtt_ns = now - o.syn_ns, now - s.syn_ns
            o.rtt_ns = s.rtt_ns
        if o.numbered:
            o.acks += 1
            ack = unwrap(seen.ack[at], o.una)
            echo.hear(s, o, seen, at, ack, events, places)
            o.una = max(o.una, ack)
            if flags & ECE:
                o.echoes += 1
                if o.echo_frame < 0:
                    o.echo_frame, o.echo_source = seen.frame[at], seen.source[at]
            if o.una > o.nxt:
                o.nxt = o.una
                hole(o, o.una, seen, at)
    hint = seen.hint[at]
    s.near |= 1 if hint & NEAR else 0
    o.near |= 1 if hint >> END & NEAR else 0


@inlined
def identified(s: Any, seen: Seen, at: int, events: NDArray[Any], places: Ints) -> None:
    """The IP identification: stacks count the packets of a connection, so a jump tells of loss."""
    number = seen.ip_id[at]
    if number < 0:
        return
    if s.id >= 0:
        step = (number - s.id) & (IDS - 1)
        if step == 1:
            s.id_next += 1
        elif 1 < step <= MOST_SKIPPED:
            s.id_missing += step - 1
            note(events, places, seen.other[at], Act.ACK_MISSING.value, seen.time_ns[at],
                 seen.frame[at], seen.source[at], -1, -1)  # fmt: skip
        else:
            s.id_odd += 1
    s.id = number


@inlined
def hole(s: Any, end: int, seen: Seen, at: int) -> None:
    """Data up to `end` that was not seen: CWR may have been on it."""
    s.holes += 1
    echo.unclear(s, end)
    s.mended = max(s.mended, end)
    reaction.drop(s)
    if s.hole_frame < 0:
        s.hole_frame, s.hole_source = seen.frame[at], seen.source[at]


@inlined
def sent(s: Any, seen: Seen, at: int, events: NDArray[Any], places: Ints) -> None:
    """Data of a sender."""
    s.segments += 1
    s.largest = max(s.largest, seen.payload[at])
    s.ect += 1 if seen.ecn[at] != 0 else 0
    s.ce += 1 if seen.ecn[at] == CE else 0
    s.packets = 1 if seen.packets[at] else 0
    if seen.flags[at] < 0:
        return
    if s.numbered == 0:
        s.numbered, s.untrue = 1, MID_FLOW
        s.nxt, s.una = seen.seq[at], seen.seq[at]
        s.heard = s.heard if s.told else seen.seq[at]
        s.told = 1
    seq = unwrap(seen.seq[at], s.nxt)
    if seq < s.nxt:
        s.resent += 1
        s.mended = s.nxt
        s.untrue = MENDING if s.untrue in (0, MENDED_LARGER) else s.untrue
        reaction.drop(s)
        if s.resending_frame < 0:
            s.resending_frame, s.resending_source = seen.frame[at], seen.source[at]
        s.nxt = max(s.nxt, seq + seen.payload[at])
        echo.unclear(s, s.nxt)
        return
    if seq > s.nxt:
        hole(s, seq, seen, at)
    s.later_sent += 1
    if seen.flags[at] & CWR:
        cause, source = s.due_frame, s.due_source
        told = reaction.reduced(s, seq)
        act = Act.LATE.value if told == 1 else Act.TWICE.value
        if told > 0:
            note(events, places, seen.sender[at], act, seen.time_ns[at], seen.frame[at],
                 seen.source[at], cause, source)  # fmt: skip
        s.due_frame, s.due_source = seen.frame[at], seen.source[at]
    s.data_ns = 0 if seen.ecn[at] == CE else seen.time_ns[at]
    s.nxt = seq + seen.payload[at] + (1 if seen.flags[at] & FIN else 0)
    echo.timed(s, s.nxt, seen, at)
    echo.told(s, s.nxt, seen.ecn[at], seen.flags[at] & CWR != 0)
    s.peak = max(s.peak, float(s.nxt - s.una))


@inlined
def hpcc_decided(s: Any, told: Told, at: int, events: NDArray[Any], places: Ints) -> None:
    """What a sender of HPCC++ was told, and what it has sent since the last ACK."""
    frame, source, now = told.frame[at], told.source[at], told.time_ns[at]
    s.line_bps = max(s.line_bps, told.rate[at])
    if s.base_ns == 0 and told.rate[at] > 0:
        s.base_ns = int(told.window[at] * flight.NS / told.rate[at])
    unit = max(s.largest, 1) if s.packets else 1
    inflight, acked = told.inflight[at] * unit, told.acked[at] * unit
    if s.largest > 0:
        beyond = flight.hpcc_sends(s, inflight, acked)
        fast = flight.hpcc_round(s, now, s.heard + told.inflight[at])
        act = Act.OVER_WINDOW.value if beyond else Act.OVER_RATE.value
        if beyond or fast:
            note(events, places, told.sender[at], act, now, frame, source, -1, -1)
    s.flight, s.ack_ns = inflight, now
    s.W, s.R = told.window[at], told.rate[at]
    s.window = max(s.window, s.W)
    s.acks += 1 if s.numbered == 0 else 0
    s.hpcc, s.exact = 1, 1 if told.exact[at] else 0
    if s.exact == 0 and s.inexact_frame < 0:
        s.inexact_frame, s.inexact_source, s.why = frame, source, told.why[at]


@inlined
def decided(told: Told, at: int, known: NDArray[Any], events: NDArray[Any], places: Ints) -> None:
    """What a sender was told by an ACK, as its congestion control takes it."""
    s = known[told.sender[at]]
    frame, source, now = told.frame[at], told.source[at], told.time_ns[at]
    s.heard = max(s.heard, unwrap(told.ack[at], s.heard)) if s.told else told.ack[at]
    s.told = 1
    if told.algorithm[at] == HPCC:
        hpcc_decided(s, told, at, events, places)
    elif told.algorithm[at] == DCTCP and s.numbered and not s.hpcc:
        s.stated |= 1 if told.stated[at] else 0
        s.classic |= 1 if told.classic[at] else 0
        cause, cause_source = s.due_frame, s.due_source
        began = s.untrue
        kept = flight.tcp_round(s, told.window[at], told.threshold[at], told.alpha[at])
        if kept:
            note(events, places, told.sender[at], Act.CUT_KEPT.value, now, frame, source,
                 cause, cause_source)  # fmt: skip
        if s.untrue == BEGAN_LARGER and began != BEGAN_LARGER:
            s.beyond_frame, s.beyond_source = frame, source
        owed = s.owes
        missed = reaction.hear(s, told.marked[at] > 0)
        if missed:
            note(events, places, told.sender[at], Act.UNANSWERED.value, now, frame, source,
                 cause, cause_source)  # fmt: skip
        if s.owes and not owed:
            s.due_frame, s.due_source = frame, source
