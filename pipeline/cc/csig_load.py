"""u' from CSIG (draft-ravi-ippm-csig-00): bounds from the terms of two tags.

A tag carries one signal: min(ABW) or min(ABW/C) stand for the rate term of u', max(PD) for the
queue term. The two come with different packets and possibly from different ports. The larger of
the terms bounds the path's u' from below, their sum from above; a hop's load it is only where both
locators resolve to one port and both samples are of one time. This mapping is hopsight's, not the
draft's. Values are those of the observation: bit/s, a ratio or ns, both ends of a bucket, NaN for
the high end of an open one.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import parameter
from pipeline.cc.hop_load import MISSING, ZERO_B, ZERO_T, Fault, Tag, begin, known
from pipeline.cc.parameter import Parameter, Record, Value


class Signal(IntEnum):
    """CSIG's signal types."""

    ABW = 0
    ABW_OVER_C = 1
    PD = 2


TABLE = (
    Parameter("C_over_B", 1.0, "", 1e-3, 1e3,
              "C of min(ABW/C) over B: the rate term is (1 - ABW/C)*C/B.", "open"),
    Parameter("apart_T", 1.0, "T", 0.0, 1e6,
              "Samples further apart than this do not make one load.", "open"),
)  # fmt: skip

STATE = parameter.state_dtype(
    (("f8", 2), "low", "high"), (("i8", 2), "seen_ns", "port"), (("i1", 2), "known")
)
"""The last rate term (0) and queue term (1) of one flow; zeros are none."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` states that know nothing, ready for use."""
    return np.zeros(count, STATE)


@borrowing
def term(
    load: Record, q: Record, signal: int, low: float, high: float, b_bps: int, base_ns: int,
    t_ns: int,
) -> tuple[float, float]:  # fmt: skip
    """Both ends of the term that one signal stands for; `high` is NaN where a bucket is open."""
    if not known(load, low):
        return np.nan, np.nan
    if high < low:
        load.faults |= Fault.OUT_OF_RANGE.value
    high = high if low <= high < np.inf else np.nan
    if signal == Signal.PD.value:
        if t_ns <= 0 or base_ns < 0:
            load.faults |= ZERO_T if t_ns <= 0 else MISSING
            return np.nan, np.nan
        load.faults |= Fault.BELOW_BASE.value if high <= base_ns else 0
        most = np.nan if np.isnan(high) else max(high - base_ns, 0.0) / t_ns
        return max(low - base_ns, 0.0) / t_ns, most
    full, scale = 1.0, q.C_over_B
    if signal == Signal.ABW.value:
        full, scale = float(b_bps), 1.0
    if full <= 0:
        load.faults |= ZERO_B if b_bps == 0 else MISSING
        return np.nan, np.nan
    load.faults |= Fault.OUT_OF_RANGE.value if low > full else 0
    least = 0.0 if np.isnan(high) else max(1 - high / full, 0.0) * scale
    return least, max(1 - low / full, 0.0) * scale


@borrowing
def csig(
    load: Record, c: Record, q: Record, signal: int, low: float, high: float, port: int,
    b_bps: int, base_ns: int, now_ns: int, t_ns: int,
) -> None:  # fmt: skip
    """One CSIG tag: the larger of both terms below, their sum above, when both are of one time.

    `port` is what the locator resolves to (-1: nothing), B and base delay are that port's. The load
    is of one port where both terms are of it, else of the path. One term alone has no upper value.
    """
    begin(load, Tag.BOUNDS.value)
    if not 0 <= signal <= Signal.PD.value:
        load.faults |= Fault.OUT_OF_RANGE.value
        return
    least, most = term(load, q, signal, low, high, b_bps, base_ns, t_ns)
    if np.isnan(least):
        return
    at = 1 if signal == Signal.PD.value else 0
    c.low[at], c.high[at], c.seen_ns[at], c.port[at], c.known[at] = least, most, now_ns, port, 1
    load.lower = least
    if not c.known[1 - at]:
        return
    if abs(now_ns - c.seen_ns[1 - at]) > q.apart_T * t_ns:
        load.faults |= Fault.STALE.value
        return
    load.lower = max(least, c.low[1 - at])
    load.upper = c.high[0] + c.high[1]
    load.port = port if port == c.port[1 - at] else -1
