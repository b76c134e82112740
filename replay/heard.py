"""What a decision heard: the load of each hop, beside the decision that it led to.

Telemetry that an ACK reflects is a row of `hop_loads` of that ACK. Telemetry that data carried is
heard with the ACK that covers it: it is the newest load of the flow, at this point and up to then,
whose largest u' is to the bit the one that decided.
"""

import re

import numpy as np
import polars as pl
import pyarrow as pa

from collector import arrow
from pipeline import Tracked

HOPS = "u_hops"
"""The column of u' of each hop, from hop 0 at the sender; null where it cannot be known."""
HOP = re.compile(r"u\d+")
FLOW = ("point", "flow")
WAITING = 64
"""Loads on data of each flow that an ACK of a later batch may cover."""
LIST = pl.List(pl.Float64)
EMPTY = pl.DataFrame(
    schema={"time_ns": pl.Int64, "point": pl.String, "flow": pl.UInt64, "u_max": pl.Float64,
            HOPS: LIST}
)  # fmt: skip


class Heard:
    """Finds the loads of decisions, batch by batch."""

    def __init__(self) -> None:
        self.waiting = EMPTY

    def advance(self, tracked: Tracked) -> pl.DataFrame:
        """The tracker's decisions with `u_hops`."""
        decisions, loads = tracked.decisions, tracked.hop_loads
        nothing = pl.repeat(None, decisions.height, dtype=LIST, eager=True).alias(HOPS)
        if loads.is_empty() and self.waiting.is_empty():
            return decisions.with_columns(nothing)
        hops = by_hop(loads)
        found = nothing
        if hops.len() and tracked.heard is not None:
            own = pl.Series(tracked.heard)
            found = hops.gather(own.set(own < 0, None)).alias(HOPS)
        carried = loads.select("time_ns", *FLOW, largest(loads), hops)
        carried = carried.filter(~loads["reflected"])
        waiting = pl.concat([self.waiting, carried])
        if waiting.height:
            found = found.zip_with(found.is_not_null(), covered(decisions, waiting))
            kept = waiting.group_by(FLOW, maintain_order=True).tail(WAITING)
            self.waiting = kept.select(EMPTY.columns)
        return decisions.with_columns(found)


def named(loads: pl.DataFrame) -> list[str]:
    """The columns of loads by hop."""
    return [name for name in loads.columns if HOP.fullmatch(name)]


def largest(loads: pl.DataFrame) -> pl.Expr:
    """The largest u' of each row."""
    names = named(loads)
    value = pl.max_horizontal(names) if names else pl.lit(None, pl.Float64)
    return value.alias("u_max")


def by_hop(loads: pl.DataFrame) -> pl.Series:
    """The loads of each row as a list as long as its path."""
    names = named(loads)
    values = loads.select(pl.col(names).fill_null(np.nan)).to_numpy().reshape(-1, len(names))
    count = np.minimum(loads["hop_count"].to_numpy().astype(np.int64), len(names))
    told = values[np.arange(len(names)) < count[:, None]]
    ends = arrow.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(count)]))
    loads_told = arrow.array(told, arrow.bitmap(~np.isnan(told)))
    lists = pa.LargeListArray.from_arrays(ends, loads_told)
    made = pl.from_arrow(lists)
    assert isinstance(made, pl.Series)
    return made.cast(LIST).alias(HOPS)


def covered(decisions: pl.DataFrame, waiting: pl.DataFrame) -> pl.Series:
    """What data carried, for the decisions that its ACKs drove."""
    asked = decisions.select("time_ns", *FLOW, "u_max").with_row_index("at")
    given = waiting.drop_nulls("u_max").sort("time_ns", maintain_order=True)
    found = (
        asked.drop_nulls("u_max")
        .sort("time_ns", maintain_order=True)
        .join_asof(given, on="time_ns", by=[*FLOW, "u_max"], check_sortedness=False)
    )
    whole = asked.select("at").join(
        found.select("at", HOPS), on="at", how="left", maintain_order="left"
    )
    return whole[HOPS]
