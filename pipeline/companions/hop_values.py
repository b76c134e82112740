"""What hops of stacks tell beside counters, as arrays (hop, row of those with telemetry)."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import inlined
from pipeline.batch import Batch
from pipeline.cc import hop_load
from pipeline.cc.hop_load import Tau
from pipeline.cc.hop_record import MAX_HOPS, TS
from pipeline.cc.parameter import Record, state_dtype
from pipeline.companion import Course
from pipeline.companions.heard import Flags, News
from pipeline.memory import Ints
from pipeline.stacks import whole

BEFORE = state_dtype(
    ("i8", "ts_ns", "tx_bytes", "queue", "sojourn_ns", "seen_ns", "name"), ("i1", "known")
)
"""What a hop told a flow last, when that was seen, and the hop's `name_of`."""


class HopValues(NamedTuple):
    """Of each hop, -1 or NaN where it is not told."""

    latency_ns: Ints
    ingress_ts_ns: Ints
    queue: Ints
    base_ns: Ints
    node: Ints
    port: Ints
    utilization: NDArray[np.float64]


def hop_values(course: Course) -> HopValues:
    """The values of a batch."""
    hops = course.batch.stacks.shape[1]
    told = course.told
    values = {name: stack(told, name, hops, -1) for name in HopValues._fields[:-1]}
    return HopValues(**values, utilization=stack(told, "utilization", hops, np.nan))


def stack(told: pl.DataFrame, name: str, hops: int, absent: float) -> NDArray[Any]:
    """One kind of value, `absent` where it is null."""
    values = np.full((hops, told.height), absent)
    if absent == -1:
        values = np.full((hops, told.height), -1, np.int64)
    for hop in range(hops):
        if f"h{hop}_{name}" in told.columns:
            column = told[f"h{hop}_{name}"]
            values[hop] = whole(column) if absent == -1 else column.fill_null(absent).to_numpy()
    return values


def stacked(course: Course) -> tuple[Flags, Flags]:
    """The rows whose data carries a stack, and those that reflect one."""
    at = course.rows.telemetry
    there = at >= 0
    back = np.zeros(at.size, np.bool_)
    back[there] = course.batch.loads["reflected"][at[there]] != 0
    return there & ~back, back


@inlined
def name_of(values: HopValues, hop: int, row: int) -> int:
    """Node and port of a hop in one number; -1 where either is not told."""
    node, port = values.node[hop, row], values.port[hop, row]
    return int(node << 32 | port) if node >= 0 and port >= 0 else -1


@inlined
def delay_of(values: HopValues, batch: Batch, hop: int, row: int, mask: int) -> int:
    """The time in a hop: as told, else from ingress to egress by the hop's clock; -1: unknown."""
    if values.latency_ns[hop, row] >= 0:
        return int(values.latency_ns[hop, row])
    entered, left = values.ingress_ts_ns[hop, row], batch.stacks[TS, hop, row]
    return max(int((left - entered) & mask), -1) if entered >= 0 and left >= 0 else -1


@inlined
def begin_at(before: NDArray[Any], place: int, news: int) -> None:
    """Forget what hops told when a sender, or its reflections, begin."""
    if news != News.NOTHING.value:
        for hop in range(MAX_HOPS):
            before[place * MAX_HOPS + hop].known = 0


@inlined
def worst_of(load: Record, hops: NDArray[Any], nhop: int, values: HopValues, row: int) -> None:
    """Lines 6-7: the load of the path, with the port and the tau (where told) of its worst hop."""
    hop_load.worst(load, hops, nhop)
    if load.hop >= 0:
        load.port = name_of(values, load.hop, row)
        load.tau_ns = hops[load.hop].tau_ns
        if load.tau_ns > 0:
            load.tau_by = Tau.RECORDS.value


@inlined
def same_hop(was: Record, values: HopValues, hop: int, row: int) -> bool:
    """Whether it is the hop that told before."""
    return bool(was.known != 0 and was.name == name_of(values, hop, row))


@inlined
def tau_of(was: Record, ts_ns: int, mask: int) -> int:
    """Tau of a hop by its own clock; 0 where it does not tell that it went on."""
    if ts_ns < 0 or was.ts_ns < 0:
        return 0
    return max(int((ts_ns - was.ts_ns) & mask), 0)
