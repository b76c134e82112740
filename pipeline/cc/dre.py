"""DRE, the discounting rate estimator: CONGA (SIGCOMM 2014), section 3.2, over (time, bytes).

X grows by the bytes of each packet and is discounted to X*(1-alpha) at the end of each period
T_dre, so that X is in proportion to the rate: X = R*tau with tau = T_dre/alpha. Here a rate is
estimated so where a hop tells no counters. Units: times ns, sizes bytes, rates bit/s.

Periods end at the multiples of T_dre after an epoch, as a timer's would; what a sample leaves of a
period counts for the next one, so that nothing depends on how often the estimator is called. n
periods without a packet are one discount of (1-alpha)**n. `settled` is the share 1-(1-alpha)**n of
the final value that X can have had the time to reach since the first sample.
"""

from collections.abc import Mapping
from enum import IntEnum
from math import pow as power
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import parameter
from pipeline.cc.parameter import Parameter, Record, Value


class Branch(IntEnum):
    """What one sample did: the first one, one within the period, one after a period's end."""

    FIRST_SAMPLE = 1
    SAME_PERIOD = 2
    DISCOUNT = 3


class Fault(IntEnum):
    """What was wrong with one sample, as bits."""

    TIME_BACKWARDS = 1
    NEGATIVE_BYTES = 2
    NOT_SETTLED = 4
    TOO_MANY_BYTES = 8


AT_EPOCH, AT_FIRST_SAMPLE = 0, 1
MOST_BYTES = 10**15
"""A sample larger than this cannot be meant and is left out."""

TABLE = (
    Parameter("alpha", 0.1, "", 1e-6, 0.999, "Share of X that goes at a period's end.", "3.2"),
    Parameter("T_dre_ns", 16_000, "ns", 1, 10**12, "Period of the discount.", "3.2"),
    Parameter("periods_start", "epoch", "", 0, 1,
              "Periods are counted from time 0, or from the first sample.", "open",
              ("epoch", "first_sample")),
    Parameter("settled_least", 0.9, "", 0.0, 1.0,
              "Below this share of its final value an estimate is flagged.", "open"),
)  # fmt: skip

STATE = parameter.state_dtype(
    ("f8", "X", "rate_bps", "settled"), ("i8", "start_ns", "now_ns", "period", "first"),
    ("i4", "faults"), ("i1", "started", "branch"),
)  # fmt: skip
"""One estimator. `period` is the number of the one that `now_ns` is in, `first` that of the first
sample; after `sample`, rate_bps is the estimate (NaN: none yet), `faults` bits of `Fault`."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank estimators; `reset` makes one ready."""
    return np.zeros(count, STATE)


@borrowing
def reset(s: Record) -> None:
    """Start an estimator that has seen nothing."""
    s.X = 0.0
    s.rate_bps = np.nan
    s.settled = 0.0
    s.start_ns = 0
    s.now_ns = 0
    s.period = 0
    s.first = 0
    s.faults = 0
    s.started = 0
    s.branch = 0


@borrowing
def begin(s: Record, p: Record, now_ns: int) -> None:
    """The first sample: from when on periods are counted."""
    s.started = 1
    s.now_ns = now_ns
    s.start_ns = now_ns if p.periods_start == AT_FIRST_SAMPLE else 0
    s.period = (now_ns - s.start_ns) // p.T_dre_ns
    s.first = s.period


@borrowing
def sample(s: Record, p: Record, now_ns: int, sent_bytes: int) -> int:
    """The bytes that went out at a time (0 only asks for the rate then); returns the `Branch`.

    A sample from before the last one counts as of the last one, and is flagged.
    """
    s.faults = 0
    s.branch = Branch.SAME_PERIOD.value
    if s.started == 0:
        begin(s, p, now_ns)
        s.branch = Branch.FIRST_SAMPLE.value
    s.faults |= Fault.TIME_BACKWARDS.value if now_ns < s.now_ns else 0
    s.now_ns = max(s.now_ns, now_ns)
    period = (s.now_ns - s.start_ns) // p.T_dre_ns
    if period > s.period:
        s.X *= power(1 - p.alpha, float(period - s.period))
        s.period = period
        s.branch = Branch.DISCOUNT.value
    if sent_bytes < 0:
        s.faults |= Fault.NEGATIVE_BYTES.value
    elif sent_bytes > MOST_BYTES:
        s.faults |= Fault.TOO_MANY_BYTES.value
    else:
        s.X += sent_bytes
    s.settled = 1 - power(1 - p.alpha, float(s.period - s.first))
    s.faults |= Fault.NOT_SETTLED.value if s.settled < p.settled_least else 0
    s.rate_bps = 8 * s.X * p.alpha / (p.T_dre_ns * 1e-9)  # R = X/tau
    return int(s.branch)
