"""HPCC++, receiver side: draft-miao-ccwg-hpcc-03, lines 28-34 of its pseudo-code.

The receiver runs MeasureInflight and ComputeWind itself, over the telemetry `int` of each packet,
and sends W to the sender in a message of its own. It does not see where a burst began, so it parts
full updates from fast reactions by time: lastUpdateTime stands in the place of lastUpdateSeq, and
one round trip T in that of a window. Line 29, `now > lastUpdateTime + T`, is line 22 with now - T
for ack.seq, and line 32 is line 24 with now for snd_nxt; so `hpcc.new_ack` runs with these two, and
`lastUpdateSeq` of the HPCC++ state holds lastUpdateTime. Units are those of `hpcc`.

`now` is the tap's time. At the receiver's edge that is the receiver's, up to a constant; elsewhere
packets have queues still to pass, which `Clock` says. A receiver also sees every flow of its last
hop and can count them (`flow_count`): their number N sets W_ai = W_init*(1-eta)/N.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import hpcc, parameter
from pipeline.cc.hop_record import Ints, Links
from pipeline.cc.hpcc import Branch
from pipeline.cc.parameter import Parameter, Record, Value

__all__ = ["TABLE", "Branch", "Clock", "Fault", "new_int", "record", "reset", "state"]


class Fault(IntEnum):
    """What was wrong with one packet beside `hpcc.Fault`, as further bits of the same number."""

    TIME_BACKWARDS = 1 << 16
    FLOWS_UNKNOWN = 1 << 17


class Clock(IntEnum):
    """Whose time `now` is."""

    ELSEWHERE = 0
    RECEIVER_EDGE = 1


FROM_LAST_HOP, FROM_ZERO = 1, 1
"""The second choices of `N_from` and `lastUpdateTime_starts`."""

TABLE = (
    Parameter("N_from", "last_hop", "", 0, 1,
              "N of W_ai: the parameter of HPCC++, or the flows counted at the last hop.", "4.3",
              ("parameter", "last_hop")),
    Parameter("lastUpdateTime_starts", "first_packet", "", 0, 1,
              "At the first packet, which only stores L, or at 0: then the second updates Wc.",
              "open", ("first_packet", "zero")),
)  # fmt: skip

STATE = parameter.state_dtype(
    ("f8", "W_sent"), ("i8", "now_ns", "N", "messages"), ("i1", "clock", "sent")
)
"""One receiver, beside its `hpcc.STATE`. After `new_int`: `sent` whether this packet made it send a
message, `W_sent` the window of the last one (NaN: none yet, or unknown), `messages` their number,
`N` the flows that W_ai was last set by (0: the parameter's), `clock` a `Clock`."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank receivers; `reset` makes one ready."""
    return np.zeros(count, STATE)


@borrowing
def reset(r: Record, clock: int) -> None:
    """Start a receiver that is seen at a tap of that `Clock`; its `hpcc.STATE` has its own reset.

    That state must have the T and the B_nic of the path to this receiver.
    """
    r.W_sent = np.nan
    r.now_ns = 0
    r.N = 0
    r.messages = 0
    r.clock = clock
    r.sent = 0


@borrowing
def set_flows(s: Record, r: Record, p: Record, N: int) -> None:
    """Section 4.3 with N as measured: W_ai, and the step of the rate form that follows from it."""
    r.N = N
    if p.W_ai == 0:
        s.W_ai = s.W_init * (1 - p.eta) / N
    if p.R_ai_bps == 0 and s.W_init > 0:
        s.R_ai = np.floor(8 * s.W_ai / (s.T_ns * 1e-9))


@borrowing
def new_int(
    s: Record, r: Record, p: Record, q: Record, links: Links, now_ns: int, N: int, nhop: int,
    told: Ints, at: int, ts_mask: int, tx_mask: int, u_out: NDArray[np.float64],
) -> int:  # fmt: skip
    """Lines 28-34: one packet at the receiver; returns the `Branch`, leaves the rest in `s`, `r`.

    `p` is the record of HPCC++, `q` that of this module. `N` counts the flows at the last hop, with
    this one (0: not known, W_ai stays); the other arguments are those of `hpcc.new_ack`. L is
    int.L after every packet with telemetry. Time that runs backwards never makes a full update.
    """
    faults = Fault.TIME_BACKWARDS.value if now_ns < r.now_ns else 0
    r.now_ns = max(r.now_ns, now_ns)
    if q.N_from == FROM_LAST_HOP:
        if N > 0:
            set_flows(s, r, p, N)
        else:
            faults |= Fault.FLOWS_UNKNOWN.value
    branch = hpcc.new_ack(
        s, p, links, now_ns - s.T_ns, now_ns, nhop, told, at, ts_mask, tx_mask, u_out
    )  # lines 29-34
    s.faults |= faults
    r.sent = 0
    if branch == Branch.FIRST_ACK.value and q.lastUpdateTime_starts == FROM_ZERO:
        s.lastUpdateSeq = 0
    elif Branch.FULL_UPDATE_MI.value <= branch <= Branch.FULL_UPDATE_AI.value:
        r.sent = 1  # line 31
        r.W_sent = s.W
        r.messages += 1
    return int(branch)
