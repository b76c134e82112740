"""Companion: HPCC++ (`cc.hpcc`) with Advanced ECN's inflight ratio in the place of u'.

The ratio is the largest of the routers so far, so only a tap behind the last of them reads that of
the path. It has no locator. No format of the collector brings it back to the sender: it is read
on data.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import hop_load
from pipeline.cc.parameter import Value
from pipeline.companion import Course
from pipeline.companions.heard import Flags, Heard
from pipeline.companions.load_companion import ACTS, LoadCompanion, has, numbers, wholes
from pipeline.companions.load_loop import DECIDED
from pipeline.memory import Ints

__all__ = ["DECIDED", "TABLE", "HpccAecn"]

TABLE = ACTS
INFLIGHT_RATIO = 1
"""The bit of `aecn_saturated` that speaks of it."""


class HpccAecn(LoadCompanion):
    """See the module; ValueError names a parameter that is not accepted."""

    name = "hpcc_aecn"

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        super().__init__(parameters, TABLE)

    def pieces(self, course: Course) -> tuple[Flags, Flags]:
        """Data that carries an inflight ratio."""
        return has(course.frame, "aecn_u"), np.zeros(course.frame.height, np.bool_)

    def fill(self, course: Course, told: Heard, loads: NDArray[Any]) -> None:
        """The ratios as they are."""
        ratios = numbers(course.frame, "aecn_u", told, np.nan)
        make(ratios, wholes(course.frame, "aecn_saturated", told), loads)


@borrowing
def make(ratios: NDArray[np.float64], saturated: Ints, loads: NDArray[Any]) -> None:
    """A load of each ratio; where nothing says which infos saturate, none does."""
    for at in range(loads.size):
        full = saturated[at] > 0 and saturated[at] & INFLIGHT_RATIO != 0
        hop_load.aecn(loads[at], ratios[at], full)
