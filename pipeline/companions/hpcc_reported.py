"""Companion: HPCC++ (`cc.hpcc`) with the queue and the TX utilisation that hops tell of themselves.

For hops of P4 INT that tell no transmitted bytes. Their units are parameters. tau is that of the
worst hop's timestamps where it tells them, else the observer's.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.batch import Batch, Rows
from pipeline.cc import hop_load
from pipeline.cc.hop_load import LOAD
from pipeline.cc.hop_record import MAX_HOPS, QLEN, TS, B
from pipeline.cc.parameter import Value
from pipeline.companion import Course
from pipeline.companions.heard import NOBODY, Flags, Heard
from pipeline.companions.hop_values import (
    BEFORE,
    HopValues,
    begin_at,
    hop_values,
    name_of,
    same_hop,
    stacked,
    tau_of,
    worst_of,
)
from pipeline.companions.load_companion import ACTS, UNITS, LoadCompanion
from pipeline.companions.load_loop import DECIDED
from pipeline.memory import Ints

__all__ = ["DECIDED", "TABLE", "HpccReported"]

TABLE = (*UNITS, *ACTS)


class HpccReported(LoadCompanion):
    """See the module; ValueError names a parameter that is not accepted."""

    name = "hpcc_reported"

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        super().__init__(parameters, UNITS, ACTS, before=(BEFORE, MAX_HOPS))

    def pieces(self, course: Course) -> tuple[Flags, Flags]:
        """Rows with a stack of hops."""
        return stacked(course)

    def fill(self, course: Course, told: Heard, loads: NDArray[Any]) -> None:
        """The worst hop of each stack."""
        units, hops = self.parameters[0], np.zeros(MAX_HOPS, LOAD)
        values, masks = hop_values(course), course.rules.ts_mask
        before = self.book["before"]
        make(course.rows, course.batch, told, values, masks, before, units, hops, loads)


@borrowing
def make(
    rows: Rows, batch: Batch, told: Heard, values: HopValues, ts_mask: Ints,
    before: NDArray[Any], q: NDArray[Any], hops: NDArray[Any], loads: NDArray[Any],
) -> None:  # fmt: skip
    """A load of each stack; `hops` is overwritten."""
    for at in range(loads.size):
        place, now_ns = told.place[at], rows.time_ns[told.row[at]]
        if place == NOBODY:
            continue
        begin_at(before, place, told.news[at])
        row = rows.telemetry[told.row[at]]
        nhop, mask = batch.loads[row].nhop, ts_mask[batch.loads[row].width]
        for i in range(nhop):
            was = before[place * MAX_HOPS + i]
            queue, ts_ns = batch.stacks[QLEN, i, row], batch.stacks[TS, i, row]
            queue_before, since_ns, tau = -1, -1, 0
            if same_hop(was, values, i, row):
                queue_before, since_ns = was.queue, now_ns - was.seen_ns
                tau = tau_of(was, ts_ns, mask)
            hop_load.reported(
                hops[i], q[0], queue, queue_before, since_ns, values.utilization[i, row],
                batch.stacks[B, i, row], told.t_ns[at],
            )  # fmt: skip
            hops[i].tau_ns = tau
            was.queue, was.seen_ns, was.ts_ns, was.known = queue, now_ns, ts_ns, 1
            was.name = name_of(values, i, row)
        worst_of(loads[at], hops, nhop, values, row)
