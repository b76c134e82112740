"""What ECE a receiver may set at an ACK number, from the data that it has taken.

A receiver's state changes with the segments that arrive, and the number of an ACK says how far it
had got when it was sent: so the state is kept by RCV.NXT, in runs over which it is the same. Two
receivers are kept beside each other, DCTCP's (RFC 8257 section 3.2: DCTCP.CE is the CE of the last
segment) and the classic one (RFC 3168 section 6.1.3: ECE from a CE until CWR). What a document or
the tap leaves open makes both states possible. Sequence numbers are unwrapped to 64 bits.
"""

from collector import step
from pipeline.cc.parameter import Record

DCTCP, CLASSIC = 0, 1
CLEAR, SET, EITHER = 1, 2, 3
"""ECE that may be set: no, yes, or either of both."""
WRONG, UNKNOWN, RIGHT = -1, 0, 1
RUNS = 16
"""Runs of one receiver; of more the oldest are forgotten."""
HOLES = 4
"""Pieces of data kept that arrived above a hole; more make what is judged there lenient."""


@step
def begin(s: Record, rcv_nxt: int, may: int) -> None:
    """RCV.NXT and the state are this, and nothing is known of before."""
    s.begun = 1
    s.rcv_nxt = rcv_nxt
    s.rcv_una = rcv_nxt
    s.loose_to = rcv_nxt - 1
    s.waiting = 0
    for h in range(2):
        s.runs[h] = 1
        s.start[h * RUNS] = rcv_nxt
        s.first[h * RUNS] = rcv_nxt
        s.may[h * RUNS] = may


@step
def state_of(s: Record, h: int) -> int:
    """What receiver h may set now."""
    return int(s.may[h * RUNS + s.runs[h] - 1])


@step
def drop(s: Record, h: int, count: int) -> None:
    """Forget the oldest `count` runs of receiver h."""
    s.runs[h] -= count
    for i in range(h * RUNS, h * RUNS + s.runs[h]):
        s.start[i] = s.start[i + count]
        s.first[i] = s.first[i + count]
        s.may[i] = s.may[i + count]


@step
def change(s: Record, h: int, before: int, may: int) -> None:
    """Receiver h may set `may` from now on; `before` is RCV.NXT before what changed it."""
    was = state_of(s, h)
    if was == may:
        return
    if s.runs[h] == RUNS:
        drop(s, h, 1)
    at = h * RUNS + s.runs[h]
    s.start[at] = before
    s.first[at] = s.rcv_nxt
    s.may[at] = may
    s.runs[h] += 1
    s.changes += h == DCTCP and was + may == EITHER


@step
def forget(s: Record) -> None:
    """No ACK that is judged can have a number below SND.UNA: drop what ended there."""
    for h in range(2):
        count = 0
        while count + 1 < s.runs[h] and s.start[h * RUNS + count + 1] < s.rcv_una:
            count += 1
        if count > 0:
            drop(s, h, count)


@step
def last_of(s: Record, h: int, i: int) -> int:
    """The highest RCV.NXT of run i."""
    return int(s.start[h * RUNS + i + 1] if i + 1 < s.runs[h] else s.rcv_nxt)


@step
def judge(s: Record, h: int, ack: int, ece: bool, loose: bool) -> int:
    """Whether receiver h could send this ACK: RIGHT and WRONG are certain.

    `loose`: it may have been sent in any state since, as where data was lost behind the tap.
    """
    bit = SET if ece else CLEAR
    known = possible = False
    for i in range(s.runs[h]):
        may = s.may[h * RUNS + i]
        inside = s.first[h * RUNS + i] <= ack <= last_of(s, h, i)
        if inside and may == bit:
            return RIGHT
        if inside or loose:
            known = True
            possible = possible or may & bit != 0
    return WRONG if known and not possible else UNKNOWN


@step
def marked_between(s: Record, low: int, high: int) -> int:
    """Bytes of (low, high] that arrived with CE for certain."""
    total = 0
    for i in range(s.runs[DCTCP]):
        if s.may[i] == SET:
            total += max(min(last_of(s, DCTCP, i), high) - max(s.start[i], low), 0)
    return int(total)


@step
def join(s: Record) -> None:
    """RCV.NXT passes over what had arrived above it."""
    i = 0
    while i < s.waiting:
        if s.low[i] <= s.rcv_nxt:
            s.rcv_nxt = max(s.rcv_nxt, s.high[i])
            s.waiting -= 1
            s.low[i] = s.low[s.waiting]
            s.high[i] = s.high[s.waiting]
            i = 0
        else:
            i += 1


@step
def arrive(s: Record, seq: int, end: int) -> bool:
    """Data [seq, end) arrives; whether it is new."""
    if end <= s.rcv_nxt:
        return False
    if seq <= s.rcv_nxt:
        s.rcv_nxt = end
        join(s)
        return True
    i = 0
    while i < s.waiting:
        if s.low[i] <= seq and end <= s.high[i]:
            return False
        if s.low[i] <= end and seq <= s.high[i]:
            seq, end = min(seq, s.low[i]), max(end, s.high[i])
            s.waiting -= 1
            s.low[i] = s.low[s.waiting]
            s.high[i] = s.high[s.waiting]
        else:
            i += 1
    if s.waiting == HOLES:
        s.loose_to = max(s.loose_to, end)
        return True
    s.low[s.waiting] = seq
    s.high[s.waiting] = end
    s.waiting += 1
    return True


@step
def catch_up(s: Record, ack: int) -> None:
    """The receiver has data that was not seen here: its state may be either."""
    before = int(s.rcv_nxt)
    s.rcv_nxt = ack
    for h in range(2):
        change(s, h, before, EITHER)
    join(s)
