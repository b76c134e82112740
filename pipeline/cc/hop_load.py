"""u' of a hop from every kind of telemetry, and HPCC++ run on it.

u' = 8*qlen/(B*T) + txRate/B (draft-miao-ccwg-hpcc-03 line 5) is exact only where a hop tells ts,
txBytes, qlen and B. What else there is gives both terms by other means, one of them, or bounds; so
a load has a lower and an upper value, NaN where nothing is known, and a `Tag` that says by what
rule, as semantics.md section 3 has it. Units: times ns, rates bit/s, sizes bytes; loads have no
dimension. A missing whole number is -1, a missing other one NaN.

`counted`, `reported`, `latency`, `aecn` and `csig_load.csig` make loads, `worst` that of a path
from its hops. `measured` then does what `hpcc.new_ack` does from line 8 on, with the lower value as
u' and, beside it, the moving average of the upper one.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import hpcc, parameter
from pipeline.cc.hpcc import Branch
from pipeline.cc.parameter import Parameter, Record, Value


class Tag(IntEnum):
    """By what rule a load is known; 0 is no telemetry at all."""

    MEASURED = 1
    REPORTED = 2
    LOWER_BOUND = 3
    BOUNDS = 4
    ROUTER_COMPUTED = 5


class Tau(IntEnum):
    """What tells tau: two records of the hop, or when the observer saw telemetry of the flow."""

    RECORDS = 0
    TAU_OBSERVER = 1


class Fault(IntEnum):
    """What was wrong with one load beside `hpcc.Fault`, as further bits of the same number."""

    BELOW_BASE = 1 << 24
    SATURATED = 1 << 25
    STALE = 1 << 26
    TIME_BACKWARDS = 1 << 27
    UPPER_UNKNOWN = 1 << 28
    OUT_OF_RANGE = 1 << 29


MISSING, ZERO_B = hpcc.Fault.MISSING_VALUE.value, hpcc.Fault.ZERO_B.value
ZERO_T, ZERO_DT = hpcc.Fault.ZERO_T.value, hpcc.Fault.ZERO_DT.value
TABLE = (
    Parameter("queue_unit_bytes", 1.0, "bytes", 1e-3, 1e9,
              "What one unit of a reported queue occupancy stands for.", "open"),
    Parameter("utilization_full", 1.0, "", 1e-9, 1e12,
              "A reported TX utilisation that says that the link is full.", "open"),
    Parameter("acts_on", "lower", "", 0, 1, "The U that decides W where there are two.", "open",
              ("lower", "upper")),
)  # fmt: skip
ACTS_ON_UPPER = 1

LOAD = parameter.state_dtype(
    ("f8", "lower", "upper", "tau_ns"), ("i8", "port"), ("i4", "faults"), ("i1", "tag", "tau_by",
    "hop"),
)  # fmt: skip
"""One load: `hop` its place on the path (-1: not of one hop), `port` CSIG's (-1: not of one port),
`tau_by` a `Tau`, tau_ns only where that is RECORDS, `faults` bits of `Fault` and `hpcc.Fault`."""

STATE = parameter.state_dtype(("f8", "U_upper", "known_ns"), ("i8", "last_ns"))
"""Beside an `hpcc.STATE`, whose U is the lower one: the upper U (NaN: unknown), for how long what
it averages has been known, and when telemetry was seen last."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def loads(count: int = 1) -> NDArray[Any]:
    """`count` loads to write into."""
    return np.zeros(count, LOAD)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank states; `reset` makes one ready."""
    return np.zeros(count, STATE)


@borrowing
def reset(v: Record, p: Record) -> None:
    """Start the upper U where HPCC++ starts U."""
    v.U_upper = p.U_init
    v.known_ns = 0.0
    v.last_ns = 0


@borrowing
def begin(load: Record, tag: int) -> None:
    """A load of which nothing is known yet."""
    load.lower = np.nan
    load.upper = np.nan
    load.tau_ns = 0.0
    load.port = -1
    load.faults = 0
    load.tag = tag
    load.tau_by = Tau.TAU_OBSERVER.value
    load.hop = -1


@borrowing
def counted(load: Record, s: Record, found: bool) -> None:
    """The path's load that `hpcc.hop_loads` has just left in `s`; `found` is what it returned."""
    begin(load, Tag.MEASURED.value)
    load.tau_by = Tau.RECORDS.value
    load.faults = s.faults
    load.hop = s.u_hop
    if found:
        load.lower = s.u_max
        load.upper = s.u_max
        load.tau_ns = s.tau_ns


@borrowing
def known(load: Record, value: float) -> bool:
    """Whether a number is there and can be meant; else the fault is noted."""
    if np.isnan(value):
        load.faults |= MISSING
    elif value < 0 or value == np.inf:
        load.faults |= Fault.OUT_OF_RANGE.value
    else:
        return True
    return False


@borrowing
def reported(
    load: Record, q: Record, queue: int, queue_before: int, since_ns: int, utilization: float,
    b_bps: int, t_ns: int,
) -> None:  # fmt: skip
    """Queue occupancy and TX utilisation as a hop tells them, in the units of the parameters.

    The queue is the lesser of two only when the sample before is at most T old (`since_ns`). With
    one of the two terms the load is a lower bound.
    """
    begin(load, Tag.REPORTED.value)
    queued, busy = np.nan, np.nan
    if queue_before >= 0 and 0 <= since_ns <= t_ns:
        queue = min(queue, queue_before)
    if t_ns <= 0:
        load.faults |= ZERO_T
    elif queue < 0 or b_bps < 0:
        load.faults |= MISSING
    elif b_bps == 0:
        load.faults |= ZERO_B
    else:
        queued = 8.0 * queue * q.queue_unit_bytes / (b_bps * (t_ns * 1e-9))
    if known(load, utilization / q.utilization_full):
        busy = utilization / q.utilization_full
    load.lower = queued + busy
    load.upper = load.lower
    if np.isnan(load.lower) and (queued >= 0 or busy >= 0):
        load.tag = Tag.LOWER_BOUND.value
        load.lower = queued if queued >= 0 else busy


@borrowing
def latency(load: Record, latency_ns: int, base_ns: int, t_ns: int) -> None:
    """Hop latency less the port's base delay, over T: the queue term alone, a lower bound."""
    begin(load, Tag.LOWER_BOUND.value)
    if t_ns <= 0:
        load.faults |= ZERO_T
    elif latency_ns < 0 or base_ns < 0:
        load.faults |= MISSING
    else:
        load.faults |= Fault.BELOW_BASE.value if latency_ns < base_ns else 0
        load.lower = max(latency_ns - base_ns, 0) / t_ns


@borrowing
def aecn(load: Record, inflight_ratio: float, saturated: bool) -> None:
    """The path's largest u' as its router computed it; at its highest value it is only a bound."""
    begin(load, Tag.ROUTER_COMPUTED.value)
    if known(load, inflight_ratio):
        load.lower = inflight_ratio
        load.upper = np.nan if saturated else inflight_ratio
        load.faults |= Fault.SATURATED.value if saturated else 0


@borrowing
def worst(path: Record, hops: NDArray[Any], nhop: int) -> None:
    """Lines 6-7: the load of a path from those of its hops; a tie goes to the lowest hop.

    A hop of which nothing is known leaves the upper value unknown; the tag is the weakest.
    """
    begin(path, 0)
    path.upper = 0.0 if nhop > 0 else np.nan
    for i in range(nhop):
        path.faults |= hops[i].faults
        path.tag = max(path.tag, hops[i].tag)
        path.upper = np.maximum(path.upper, hops[i].upper)  # NaN stays
        if not hops[i].lower <= path.lower and hops[i].lower >= 0:
            path.lower = hops[i].lower
            path.hop = i


@borrowing
def tau_of(s: Record, v: Record, load: Record, now_ns: int) -> float:
    """Tau, at most T; without ts it is the time since telemetry of the flow was seen last."""
    if load.tau_by == Tau.TAU_OBSERVER.value and s.started != 0:
        s.faults |= Fault.TIME_BACKWARDS.value if now_ns < v.last_ns else 0
        load.tau_ns = min(max(float(now_ns - v.last_ns), 0.0), s.T_ns)
    v.last_ns = max(v.last_ns, now_ns)
    return float(load.tau_ns)


@borrowing
def upper_inflight(s: Record, v: Record, upper: float, tau_ns: float) -> None:
    """Lines 8-10 with the upper value. Unknown makes it unknown until known for as long as T."""
    v.known_ns = 0.0 if np.isnan(upper) else min(v.known_ns + tau_ns, s.T_ns)
    if np.isnan(upper) or np.isnan(v.U_upper):
        v.U_upper = upper if v.known_ns >= s.T_ns else np.nan
        return
    lower = s.U
    s.U = v.U_upper
    v.U_upper = hpcc.measure_inflight(s, upper, tau_ns if upper > 0 else 0.0)
    s.U = lower


@borrowing
def act(s: Record, v: Record, p: Record, q: Record, ack_seq: int, snd_nxt: int) -> None:
    """Lines 22-26 with the U that `acts_on` names, the lower one where there is no other."""
    lower = s.U
    if q.acts_on == ACTS_ON_UPPER:
        s.faults |= Fault.UPPER_UNKNOWN.value if np.isnan(v.U_upper) else 0
        s.U = lower if np.isnan(v.U_upper) else v.U_upper
    hpcc.respond(s, p, ack_seq, snd_nxt)
    s.U = lower


@borrowing
def averaged(s: Record, v: Record, load: Record, now_ns: int) -> bool:
    """Lines 2-10 with a load of any tag: whether it went into both U; the first begins tau."""
    s.faults |= load.faults
    tau = tau_of(s, v, load, now_ns)
    if s.started == 0:
        s.started = 1
        return False
    s.u_max, s.u_hop, s.tau_ns = load.lower, load.hop, tau
    idle = load.tau_by == Tau.RECORDS.value and load.lower == 0
    s.faults |= ZERO_T if s.T_ns <= 0 else 0
    if tau <= 0 and s.T_ns > 0 and load.tau_by == Tau.TAU_OBSERVER.value:
        s.faults |= ZERO_DT
    if s.T_ns <= 0 or not load.lower >= 0 or not (tau > 0 or idle):
        return False
    hpcc.measure_inflight(s, load.lower, tau if load.lower > 0 else 0.0)
    upper_inflight(s, v, load.upper, tau)
    return True


@borrowing
def answered(
    s: Record, v: Record, p: Record, q: Record, began: bool, good: bool, ack_seq: int,
    snd_nxt: int,
) -> int:  # fmt: skip
    """Lines 21-27 after the loads of one ACK; returns the `Branch`.

    `began`: there was telemetry before this ACK, `good`: some load of it went into U.
    """
    s.branch = Branch.BAD_TELEMETRY.value
    if not began:
        s.lastUpdateSeq = snd_nxt
        s.branch = Branch.FIRST_ACK.value
    elif good:
        act(s, v, p, q, ack_seq, snd_nxt)
    return int(s.branch)


@borrowing
def measured(
    s: Record, v: Record, p: Record, q: Record, load: Record, ack_seq: int, snd_nxt: int,
    now_ns: int,
) -> int:  # fmt: skip
    """Lines 21-27 with a load of any tag in the place of `ack.L`; returns the `Branch`.

    `p` is the record of HPCC++, `q` that of this module, `now_ns` the observer's time; the others
    as in `hpcc.new_ack`. The first telemetry only begins tau and sets lastUpdateSeq.
    """
    hpcc.no_telemetry(s)
    if load.tag == 0:
        return int(s.branch)
    began = s.started != 0
    good = averaged(s, v, load, now_ns)
    return answered(s, v, p, q, began, good, ack_seq, snd_nxt)
