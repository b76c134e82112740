"""Full ports of flows that no mark tells of: by what the ports carry.

A port that sends all that it can, where nothing before it holds its flows back, is full even if no
queue was long enough to mark. And where others are held back at a port, it sends all that it can:
a flow without which it could not is among those that fill it, though its own class met no queue.
"""

import polars as pl

from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.marking import BRIM
from pipeline.throughput import FULL, wire_bps

SURE = 0.8
"""Probability from which others count as held back at some port that a flow must fill."""
FOUND = {"time_ns": pl.Int64, "flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32,
         "probability": pl.Float64, "filled": pl.Float64}  # fmt: skip


def brimming(calm: pl.DataFrame, ways: pl.DataFrame, carried: pl.DataFrame) -> pl.DataFrame:
    """Ports that send all they can, of flows that surely cross them: see `FOUND`.

    `calm` are flow-intervals that were marked nowhere, `ways` the paths that are left (`fed`).
    """
    full = carried.filter(pl.col("least") >= BRIM)[["time_ns", *HOP, "least"]]
    if calm.is_empty() or full.is_empty():
        return pl.DataFrame(schema=FOUND)
    paths = pl.col("path").n_unique()
    return (
        ways.join(calm[KEY], on=KEY, how="inner", maintain_order="left")
        .filter(paths.over(*KEY, *HOP) == paths.over(KEY))
        .unique([*KEY, *HOP], maintain_order=True)
        .join(full, on=["time_ns", *HOP], how="inner", maintain_order="left")
        .sort(*KEY, "least", "place", descending=[False, False, True, False])
        .unique(KEY, keep="first", maintain_order=True)
        .select(*KEY, *HOP, pl.lit(1.0).alias("probability"), pl.lit(1.0).alias("filled"))
    )


def needed(
    calm: pl.DataFrame,
    ways: pl.DataFrame,
    carried: pl.DataFrame,
    held: pl.DataFrame,
    sent: pl.DataFrame,
) -> pl.DataFrame:
    """Ports that others are held back at and that could not be full without a flow: see `FOUND`.

    `held` has the probability that others are, by time_ns and hop; `filled` is that of any such
    port of the flow.
    """
    if calm.is_empty() or held.is_empty():
        return pl.DataFrame(schema=FOUND)
    limits = carried.filter("whole")[["time_ns", *HOP, "most", "capacity_bps"]]
    rates = sent.select(*KEY, wire_bps().alias("bps"))
    found = (
        ways[[*KEY, *HOP]]
        .join(held, on=["time_ns", *HOP], how="inner", maintain_order="left")
        .join(calm[KEY], on=KEY, how="inner", maintain_order="left")
        .unique([*KEY, *HOP], maintain_order=True)
        .join(limits, on=["time_ns", *HOP], how="inner", maintain_order="left")
        .join(rates, on=KEY, how="inner", maintain_order="left")
        .filter(
            (pl.col("most") >= FULL)
            & (pl.col("most") - pl.col("bps") / pl.col("capacity_bps") < FULL)
        )
    )
    whole = pl.col("probability").sum().over(KEY)
    return (
        found.with_columns(whole.alias("whole"))
        .filter(pl.col("whole") >= SURE)
        .select(
            *KEY,
            *HOP,
            (pl.col("probability") / pl.col("whole")).alias("probability"),
            pl.col("whole").clip(0.0, 1.0).alias("filled"),
        )
    )
