"""Truth per signal: which hop of a flow's path each signal is about, by exact counters.

A signal of CSIG or INT tells of one hop, and that is not the same one for all (Figure 5 of the CSIG
draft): the least available bandwidth, its least share of a link, the longest delay, the largest
u' may lie at different ports, and marks come from where a queue was above K. Ties go to the lowest
hop. Where the next hop is as good but for a margin that no bucket would show (`apart`), none is
said to be right or wrong.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from replay.fabric import Run
from replay.state import DATA

GROUP = ("script", "flow_row", "at")
HOP = ("hop_index", "node", "port", "device", "interface", "stage", "orientation")


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal: the column of the hops that it is about, and how far apart two hops must be."""

    name: str
    column: str
    largest: bool
    apart: float
    """In the unit of the column."""
    share: float = 0.0
    """And as a share of the winning value, where its scale is none of equal steps."""


SIGNALS = (
    Signal("u", "u_mean", largest=True, apart=0.05),
    Signal("abw", "abw_bps", largest=False, apart=1e9),
    Signal("abw_share", "abw_share", largest=False, apart=0.08),
    Signal("delay", "delay_mean_ns", largest=True, apart=1_000, share=0.4),
    Signal("marks", "marks", largest=True, apart=10, share=0.5),
)
"""Buckets of CSIG are a 32nd of 12.5 Gbit/s or of a link, and delays in steps of a square root of
two: hops are apart that two of them would show. Marks are counted in packets of the flow."""


def marks_of(run: Run, interval_ns: int) -> pl.DataFrame:
    """flow_row, at, hop_index, marks: data that reached its receiver, by where it was marked."""
    packets = run.packets
    marked = packets[(packets["kind"] == DATA) & (packets["last_ns"] > 0) & (packets["ce"] == 1)]
    hop = marked["ce_hop"].astype(np.int64)
    return (
        pl.DataFrame(
            {"flow_row": marked["flow"], "at": marked["last_ns"] // interval_ns, "hop_index": hop}
        )
        .group_by("flow_row", "at", "hop_index")
        .agg(pl.len().cast(pl.Int64).alias("marks"))
    )


def signal_frame(run: Run, hops: pl.DataFrame, interval_ns: int) -> pl.DataFrame:
    """One row a flow, interval and signal: `signal`, the hop with its value, that of the next one.

    `runner_up` is null on a path of one hop. In ports that serve classes the delay of one is not
    that of the port, so that there is no such row; nor is there one of marks where there are none.
    """
    marked = marks_of(run, interval_ns)
    told = hops.join(marked, on=["flow_row", "at", "hop_index"], how="left", maintain_order="left")
    told = told.with_columns(pl.col("marks").fill_null(0))
    known = [each for each in SIGNALS if each.name != "delay" or run.world.queues == "one"]
    return pl.concat([best(told, signal) for signal in known]).sort(*GROUP, "signal")


def best(hops: pl.DataFrame, signal: Signal) -> pl.DataFrame:
    """The rows of one signal."""
    value = pl.col(signal.column).cast(pl.Float64)
    ranked = hops.with_columns(value.alias("value")).sort(
        *GROUP, "value", "hop_index", descending=[False] * 3 + [signal.largest, False]
    )
    margin = (pl.col("value") - pl.col("runner_up")).abs()
    least = pl.max_horizontal(pl.lit(signal.apart), pl.col("value").abs() * signal.share)
    found = ranked.group_by(GROUP, maintain_order=True).agg(
        *(pl.col(name).first() for name in HOP),
        pl.col("value").first(),
        pl.col("value").get(1, null_on_oob=True).alias("runner_up"),
    )
    if signal.name == "marks":
        found = found.filter(pl.col("value") > 0)
    return found.with_columns(
        pl.lit(signal.name).alias("signal"), (margin >= least).fill_null(value=True).alias("apart")
    )
