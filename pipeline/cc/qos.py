"""u' of a traffic class: draft-miao-ccwg-hpcc-03, section 9.3, for queues served by DWRR.

A hop with a queue for each class tells how long a packet was in its own queue. That sojourn time
stands in the place of qlen: u' = sojourn/T + txRate/B_eff. B_eff is the class's part of the link:
B*weight/(sum of weights) by DWRR, and more where others leave bandwidth over, for which the draft
names two strategies, the parameter `strategy`:

- binary_search: the class looks for the part that it can use, between its weight's and B;
- proportional: only the weights of classes that are active now are summed.

Only that much of 9.3 was at hand; how a search goes, and when a class is active, is hopsight's
reading. A search step comes at most once in `search_T` round trips. Where a packet
waited longer than `full_T` the part was too large, and becomes the upper end; where the class used
`used` of it without waiting so, it is the lower end; else nothing is learned. When both ends have
met, the end that the next step disagrees with opens again: bandwidth left over comes and goes.

A port has up to `MAX_CLASSES` classes; their weights are one array (0: no such queue). Units: times
ns, rates bit/s; -1 and NaN stand for unknown. `measured` writes a load of `hop_load`.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import parameter
from pipeline.cc.hop_load import MISSING, ZERO_B, ZERO_T, Tag, begin, known
from pipeline.cc.parameter import Parameter, Record, Value

MAX_CLASSES = 8


class Branch(IntEnum):
    """By what rule B_eff is as it is, or what one step of the search did."""

    NOMINAL = 1
    PROPORTIONAL = 2
    SEARCH_START = 3
    SEARCH_UP = 4
    SEARCH_DOWN = 5
    SEARCH_WAIT = 6
    UNKNOWN = 7


class Fault(IntEnum):
    """What was wrong beside `hpcc.Fault` and `hop_load.Fault`, as further bits of their number."""

    NO_CLASS = 1 << 8
    NO_WEIGHT = 1 << 9
    CLASS_TIME_BACKWARDS = 1 << 10


NONE, BINARY_SEARCH, PROPORTIONAL = 0, 1, 2
FROM_MIDDLE = 1
MOST_WEIGHT, MOST_BPS = 10**6, 10**15
TABLE = (
    Parameter("strategy", "none", "", 0, 1,
              "B_eff by weight alone, by search, or by the weights of active classes.", "9.3",
              ("none", "binary_search", "proportional")),
    Parameter("active_T", 1.0, "T", 1e-3, 1e6,
              "A class is active when a packet of it was seen no longer ago.", "open"),
    Parameter("search_from", "weight", "", 0, 1,
              "A search begins at the weight's part, or half-way to B.", "open",
              ("weight", "middle")),
    Parameter("search_T", 1.0, "T", 0.0, 1e6, "Least time between two steps.", "open"),
    Parameter("full_T", 0.05, "T", 0.0, 1e6,
              "A sojourn time above this says that the part is too large.", "open"),
    Parameter("used", 0.9, "", 0.0, 1.0, "A part is used from this share of it on.", "open"),
    Parameter("resolution", 0.01, "B", 1e-6, 1.0, "Ends no further apart than this have met.",
              "open"),
)  # fmt: skip

STATE = parameter.state_dtype(
    (("f8", MAX_CLASSES), "low", "high", "B_eff"),
    (("i8", MAX_CLASSES), "seen_ns", "stepped_ns"),
    ("i8", "B_bps"),
    ("i4", "faults"),
    (("i1", MAX_CLASSES), "seen", "searching"),
    ("i1", "branch"),
)
"""One port. B_eff is what each class had last (NaN: none yet), low and high the ends of its search,
`faults` bits of `Fault`, `branch` a `Branch` of the last call."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank ports; `reset` makes one ready."""
    return np.zeros(count, STATE)


@borrowing
def reset(s: Record, b_bps: int) -> None:
    """Start a port of that rate (-1: unknown) that has seen no class."""
    s.B_bps = b_bps
    s.faults = 0
    s.branch = Branch.UNKNOWN.value
    for i in range(MAX_CLASSES):
        s.low[i], s.high[i], s.B_eff[i] = np.nan, np.nan, np.nan
        s.seen_ns[i], s.stepped_ns[i] = 0, 0
        s.seen[i], s.searching[i] = 0, 0


@borrowing
def is_active(s: Record, q: Record, klass: int, now_ns: int, t_ns: int) -> bool:
    """Whether a packet of the class was seen no longer than active_T round trips ago."""
    return bool(s.seen[klass] != 0 and now_ns - s.seen_ns[klass] <= q.active_T * t_ns)


@borrowing
def part(
    s: Record, q: Record, weights: NDArray[np.int64], klass: int, now_ns: int, t_ns: int,
    of_active: bool,
) -> float:  # fmt: skip
    """B*weight/(sum of weights), of all classes or only of the active ones and this one."""
    total = 0
    for i in range(MAX_CLASSES):
        if 0 < weights[i] <= MOST_WEIGHT and (
            i == klass or not of_active or is_active(s, q, i, now_ns, t_ns)
        ):
            total += weights[i]
    return float(float(s.B_bps) * weights[klass] / total)


@borrowing
def step(
    s: Record, q: Record, klass: int, least: float, now_ns: int, t_ns: int, sojourn_ns: float,
    rate_bps: float,
) -> int:  # fmt: skip
    """One step of the search above `least`, the weight's part; returns the `Branch`."""
    most, apart = float(s.B_bps), q.resolution * s.B_bps
    if s.searching[klass] == 0:
        s.searching[klass] = 1
        s.low[klass], s.high[klass] = least, most
        s.B_eff[klass] = (least + most) / 2 if q.search_from == FROM_MIDDLE else least
        s.stepped_ns[klass] = now_ns
        return Branch.SEARCH_START.value
    low, high = max(s.low[klass], least), max(s.high[klass], least)
    here = min(max(s.B_eff[klass], least), most)
    branch = Branch.SEARCH_WAIT.value
    if now_ns - s.stepped_ns[klass] >= q.search_T * t_ns:
        met = high - low <= apart
        if sojourn_ns > q.full_T * t_ns:
            low, high = (least if met else low), here
            branch = Branch.SEARCH_DOWN.value
        elif sojourn_ns >= 0 and rate_bps >= q.used * here:
            low, high = here, (most if met else high)
            branch = Branch.SEARCH_UP.value
        if branch != Branch.SEARCH_WAIT.value:
            here = (low + high) / 2
            s.stepped_ns[klass] = now_ns
    s.low[klass], s.high[klass], s.B_eff[klass] = low, high, here
    return branch


@borrowing
def usable(s: Record, weights: NDArray[np.int64], klass: int, t_ns: int) -> bool:
    """Whether class, weight, B and T are known; else the fault is noted."""
    if s.B_bps <= 0 or s.B_bps > MOST_BPS:
        s.faults |= ZERO_B if s.B_bps == 0 else MISSING
    if t_ns <= 0:
        s.faults |= ZERO_T
    if not 0 <= klass < MAX_CLASSES:
        s.faults |= Fault.NO_CLASS.value
    elif not 0 < weights[klass] <= MOST_WEIGHT:
        s.faults |= Fault.NO_WEIGHT.value
    return bool(s.faults == 0)


@borrowing
def effective(
    s: Record, q: Record, weights: NDArray[np.int64], klass: int, now_ns: int, t_ns: int,
    sojourn_ns: float, rate_bps: float,
) -> float:  # fmt: skip
    """A packet of a class at a time: the class's B_eff then (NaN: unknown); `branch` says how.

    `sojourn_ns` and `rate_bps`, the class's transmit rate, matter to a search only.
    """
    s.faults = 0
    s.branch = Branch.UNKNOWN.value
    if not usable(s, weights, klass, t_ns):
        return np.nan
    if s.seen[klass] != 0 and now_ns < s.seen_ns[klass]:
        s.faults |= Fault.CLASS_TIME_BACKWARDS.value
        now_ns = s.seen_ns[klass]
    if not is_active(s, q, klass, now_ns, t_ns):
        s.searching[klass] = 0
    s.seen[klass] = 1
    s.seen_ns[klass] = now_ns
    if q.strategy == BINARY_SEARCH:
        least = part(s, q, weights, klass, now_ns, t_ns, False)
        s.branch = step(s, q, klass, least, now_ns, t_ns, sojourn_ns, rate_bps)
    else:
        of_active = q.strategy == PROPORTIONAL
        s.B_eff[klass] = part(s, q, weights, klass, now_ns, t_ns, of_active)
        s.branch = Branch.PROPORTIONAL.value if of_active else Branch.NOMINAL.value
    return float(s.B_eff[klass])


@borrowing
def measured(
    load: Record, s: Record, q: Record, weights: NDArray[np.int64], klass: int, now_ns: int,
    t_ns: int, sojourn_ns: int, sojourn_before_ns: int, rate_bps: float,
) -> int:  # fmt: skip
    """U' of a class from one packet of it: sojourn/T + rate/B_eff; returns the `Branch`.

    The lesser of two sojourn times counts, as of two qlens in line 5 (`sojourn_before_ns` -1: there
    is none). With one of the two terms the load is a lower bound.
    """
    begin(load, Tag.REPORTED.value)
    b_eff = effective(s, q, weights, klass, now_ns, t_ns, float(sojourn_ns), rate_bps)
    load.faults = s.faults
    waited = min(sojourn_ns, sojourn_before_ns) if sojourn_before_ns >= 0 else sojourn_ns
    queued, busy = np.nan, np.nan
    if sojourn_ns < 0:
        load.faults |= MISSING
    elif t_ns > 0:
        queued = waited / t_ns
    told = np.inf if rate_bps > MOST_BPS else rate_bps  # a rate that no link has is out of range
    if known(load, told) and b_eff > 0:
        busy = rate_bps / b_eff
    load.lower = queued + busy
    load.upper = load.lower
    if np.isnan(load.lower) and (queued >= 0 or busy >= 0):
        load.tag = Tag.LOWER_BOUND.value
        load.lower = queued if queued >= 0 else busy
    return int(s.branch)
