"""Companion: HPCC++ (`cc.hpcc`) with hop latencies for u': the queue term of the slowest hop.

A latency is the one that a hop tells, or the time between its two timestamps; less the delay of
the port without a queue and over T it bounds u' from below. How busy the link is, it does not say.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.batch import Batch, Rows
from pipeline.cc import hop_load
from pipeline.cc.hop_load import LOAD
from pipeline.cc.hop_record import MAX_HOPS
from pipeline.cc.parameter import Value
from pipeline.companion import Course
from pipeline.companions.heard import NOBODY, Flags, Heard
from pipeline.companions.hop_values import HopValues, delay_of, hop_values, stacked, worst_of
from pipeline.companions.load_companion import ACTS, BASE, LoadCompanion
from pipeline.companions.load_loop import DECIDED, Fault
from pipeline.memory import Ints

__all__ = ["DECIDED", "TABLE", "HpccLatency"]

TABLE = (*BASE, *ACTS)


class HpccLatency(LoadCompanion):
    """See the module; ValueError names a parameter that is not accepted."""

    name = "hpcc_latency"

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        super().__init__(parameters, BASE, ACTS)

    def pieces(self, course: Course) -> tuple[Flags, Flags]:
        """Rows with a stack of hops."""
        return stacked(course)

    def fill(self, course: Course, told: Heard, loads: NDArray[Any]) -> None:
        """The worst hop of each stack."""
        base, hops = self.parameters[0], np.zeros(MAX_HOPS, LOAD)
        values, masks = hop_values(course), course.rules.ts_mask
        make(
            course.rows, course.batch, told, values, masks, int(base[0].base_delay_ns), hops, loads
        )


@borrowing
def make(
    rows: Rows, batch: Batch, told: Heard, values: HopValues, ts_mask: Ints, base_ns: int,
    hops: NDArray[Any], loads: NDArray[Any],
) -> None:  # fmt: skip
    """A load of each stack; `hops` is overwritten."""
    for at in range(loads.size):
        if told.place[at] == NOBODY:
            continue
        row = rows.telemetry[told.row[at]]
        nhop, mask = batch.loads[row].nhop, ts_mask[batch.loads[row].width]
        for i in range(nhop):
            base = values.base_ns[i, row] if values.base_ns[i, row] >= 0 else base_ns
            waited = delay_of(values, batch, i, row, mask)
            hop_load.latency(hops[i], waited, max(base, 0), told.t_ns[at])
            hops[i].faults |= Fault.BASE_UNKNOWN.value if base < 0 else 0
        worst_of(loads[at], hops, nhop, values, row)
