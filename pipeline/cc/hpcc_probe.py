"""HPCC++ by probe and notification packets: draft-miao-ccwg-hpcc-03, sections 6.2, 7.1 and 7.2.

Telemetry travels in packets of its own: a probe gathers it on the way and its response brings it
back, or a notification comes unasked. A response acknowledges no data, so nothing here reads or
moves SND.NXT, SND.UNA, BytesAcked or bytes in flight. Feedback is a round trip late, and there is
one update in a round trip: a response updates when its probe left after the last update, so that
what it gathered is what that update did. `hpcc.new_ack` runs with the probe's time for ack.seq and
that of the response for snd_nxt; `lastUpdateSeq` of the HPCC++ state then holds the time of the
last update. Units are those of `hpcc`.

Probe and response are matched by the number that both carry. A response to no known probe, and a
notification, have no such time: where they are taken, they update once T has passed.

The response of 7.1 carries one link and not which: its counters make a difference only with those
of the same link, so it counts where what sent it is known to speak of one link, and L is of it.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import hpcc, parameter
from pipeline.cc.hop_record import B as CAPACITY
from pipeline.cc.hop_record import Ints, Links
from pipeline.cc.parameter import Parameter, Record, Value


class Branch(IntEnum):
    """What one response did: a branch of `hpcc.Branch`, or why it did nothing."""

    FIRST_RESPONSE = 1
    FULL_UPDATE_MI = 2
    FULL_UPDATE_MI_STAGE = 3
    FULL_UPDATE_AI = 4
    FAST_REACT_MI = 5
    FAST_REACT_MI_STAGE = 6
    FAST_REACT_AI = 7
    NO_TELEMETRY = 8
    BAD_TELEMETRY = 9
    PATH_CHANGE = 10
    WITHIN_RTT = 11
    NOT_TAKEN = 12


class Fault(IntEnum):
    """What was wrong with one probe or response beside `hpcc.Fault`, further bits of one number."""

    UNMATCHED = 1 << 18
    LINK_UNKNOWN = 1 << 19
    LINK_CHANGED = 1 << 20
    TIME_BACKWARDS = 1 << 21
    NUMBER_REUSED = 1 << 22
    PROBE_FORGOTTEN = 1 << 23


OUTSTANDING = 8
"""Probes that wait for a response; of more than these the oldest is forgotten."""
PATH, UNKNOWN = -2, -1
"""What a response is of: all links of the path, or one that neither it nor anything else names."""
REACT, TAKE = 1, 1
"""The second choices of `within_rtt` and `unmatched`."""

TABLE = (
    Parameter("within_rtt", "ignore", "", 0, 1,
              "A response within the round trip of the last update: nothing, L included, or lines"
              " 25-26.", "open", ("ignore", "react")),
    Parameter("unmatched", "ignore", "", 0, 1,
              "A response to no known probe: nothing, or as a notification.", "open",
              ("ignore", "take")),
)  # fmt: skip

STATE = parameter.state_dtype(
    (("i8", OUTSTANDING), "numbers", "sent_ns"),
    ("i8", "link", "link_b_bps", "now_ns", "rtt_ns", "forgotten"),
    ("i4", "faults"),
    ("i1", "count"),
)
"""One prober, beside its `hpcc.STATE`: `count` probes wait, the oldest first; `rtt_ns` is between
the last pair (-1: none yet), `forgotten` counts probes whose response never came, `link` and
`link_b_bps` are those of the last response with one link, `faults` those of the last probe."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank probers; `reset` makes one ready."""
    return np.zeros(count, STATE)


@borrowing
def reset(r: Record) -> None:
    """Start a prober with no probe under way; its `hpcc.STATE` has its own reset."""
    r.count = 0
    r.link = UNKNOWN
    r.link_b_bps = UNKNOWN
    r.now_ns = 0
    r.rtt_ns = -1
    r.forgotten = 0
    r.faults = 0


@borrowing
def tick(r: Record, now_ns: int) -> int:
    """Note the time; the faults of it."""
    faults = Fault.TIME_BACKWARDS.value if now_ns < r.now_ns else 0
    r.now_ns = max(r.now_ns, now_ns)
    return faults


@borrowing
def drop(r: Record, which: int) -> None:
    """Take one probe from those that wait."""
    for each in range(which + 1, r.count):
        r.numbers[each - 1] = r.numbers[each]
        r.sent_ns[each - 1] = r.sent_ns[each]
    r.count -= 1


@borrowing
def waiting(r: Record, number: int) -> int:
    """Where the probe of that number waits, -1 where none does."""
    for each in range(r.count):
        if r.numbers[each] == number:
            return each
    return -1


@borrowing
def probe_sent(r: Record, number: int, now_ns: int) -> None:
    """A probe leaves. A number that still waits is that of a new probe from now on."""
    r.faults = tick(r, now_ns)
    before = waiting(r, number)
    if before >= 0:
        r.faults |= Fault.NUMBER_REUSED.value
        drop(r, before)
    elif r.count == OUTSTANDING:
        r.faults |= Fault.PROBE_FORGOTTEN.value
        r.forgotten += 1
        drop(r, 0)
    r.numbers[r.count] = number
    r.sent_ns[r.count] = now_ns
    r.count += 1


@borrowing
def answered(r: Record, number: int, now_ns: int) -> int:
    """When the probe of a response left, -1 where that is not known; the two are then a pair."""
    which = waiting(r, number)
    if which < 0:
        return -1
    sent = r.sent_ns[which]
    drop(r, which)
    if sent > now_ns:
        return -1
    r.rtt_ns = now_ns - sent
    return int(sent)


@borrowing
def nothing(s: Record, branch: int, faults: int) -> int:
    """Leave everything as it is, and say why."""
    hpcc.no_telemetry(s)
    s.branch = branch
    s.faults = faults
    return branch


@borrowing
def same_link(s: Record, r: Record, link: int, b_bps: int) -> int:
    """Drop L when it is of another link, or of one with another capacity; the faults of it."""
    faults = 0
    if s.nhop > 0 and (link != r.link or b_bps != r.link_b_bps):
        faults = Fault.LINK_CHANGED.value
        s.nhop = 0
    r.link = link
    r.link_b_bps = b_bps
    return faults


@borrowing
def feedback(
    s: Record, r: Record, p: Record, q: Record, links: Links, as_of: int, now_ns: int, link: int,
    nhop: int, told: Ints, at: int, ts_mask: int, tx_mask: int, u_out: NDArray[np.float64],
) -> int:  # fmt: skip
    """Telemetry that is news of a time just before `as_of`: lines 21-27, an update if it is due."""
    if link == UNKNOWN:
        return nothing(s, Branch.NOT_TAKEN.value, Fault.LINK_UNKNOWN.value)
    early = s.started != 0 and as_of <= s.lastUpdateSeq  # line 22
    if early and nhop > 0 and q.within_rtt != REACT:
        return nothing(s, Branch.WITHIN_RTT.value, 0)
    faults = 0
    if link != PATH and nhop > 0:
        faults = same_link(s, r, link, told[CAPACITY, 0, at])
    branch = hpcc.new_ack(s, p, links, as_of, now_ns, nhop, told, at, ts_mask, tx_mask, u_out)
    s.faults |= faults
    return int(branch)


@borrowing
def notification(
    s: Record, r: Record, p: Record, q: Record, links: Links, now_ns: int, link: int, nhop: int,
    told: Ints, at: int, ts_mask: int, tx_mask: int, u_out: NDArray[np.float64],
) -> int:  # fmt: skip
    """Telemetry that comes unasked: it updates when more than T has passed since the last update.

    The arguments are those of `probe_response`, but for the number.
    """
    faults = tick(r, now_ns)
    branch = feedback(
        s, r, p, q, links, now_ns - s.T_ns, now_ns, link, nhop, told, at, ts_mask, tx_mask, u_out
    )
    s.faults |= faults
    return branch


@borrowing
def probe_response(
    s: Record, r: Record, p: Record, q: Record, links: Links, number: int, now_ns: int, link: int,
    nhop: int, told: Ints, at: int, ts_mask: int, tx_mask: int, u_out: NDArray[np.float64],
) -> int:  # fmt: skip
    """The response to the probe of that number; returns the `Branch`, leaves the rest in `s`, `r`.

    `p` is the record of HPCC++, `q` that of this module. `link` is `PATH` where the response has
    all hops; else (section 7.1) `nhop` is 1, hop 0 the one link whichever it is, and `link` what
    stands for its identity, from elsewhere; `UNKNOWN` is flagged and makes no difference. u_hop is
    then no place on the path. The other arguments are those of `hpcc.new_ack`.
    """
    faults = tick(r, now_ns)
    sent = answered(r, number, now_ns)
    as_of = sent + 1
    if sent < 0:
        faults |= Fault.UNMATCHED.value
        as_of = now_ns - s.T_ns
    if sent < 0 and q.unmatched != TAKE:
        return nothing(s, Branch.NOT_TAKEN.value, faults)
    branch = feedback(
        s, r, p, q, links, as_of, now_ns, link, nhop, told, at, ts_mask, tx_mask, u_out
    )
    s.faults |= faults
    return branch
