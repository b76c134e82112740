"""Whether kinds of telemetry that speak of one hop say the same.

Agreement is the ratio of the least to the largest load that a kind reports of the hop, each with
`LITTLE_U` added so that two small loads agree; 1 is the same, none where one kind alone speaks.
Loads are compared as packets met them: counters alone tell of the time between packets (`timed`).
What is told in part (`bounded`), or at the highest value that telemetry can tell, is at least so
much and agrees with what is more (by as much as `above`).
"""

from math import inf

import polars as pl

from collector import at_once
from pipeline.groups import HOP
from pipeline.reserved import PLACE
from pipeline.runs import begun

LITTLE_U = 0.25
DIFFER = 0.6
"""Agreement below which kinds of telemetry are said to differ."""
LIKELY = 0.9
"""Probability from which a kind without locators is taken to speak of a hop: that kinds contradict
each other is nothing to be guessed."""
SPEAK = ("int", "csig", "aecn")


def agreement(candidates: pl.DataFrame) -> pl.DataFrame:
    """Agreement of each hop and interval with the loads by kind: time_ns, hop, agreement, kinds."""
    sure = (pl.col("signal") != "aecn") | (pl.col("probability") > LIKELY)
    rows = candidates.lazy().filter(
        pl.col("signal").is_in(SPEAK)
        & sure
        & (pl.col("node") < PLACE)
        & (pl.col("samples") > 0)
        & pl.col("u_mean").is_not_null()
    )
    weight = pl.col("samples") * pl.col("share").fill_null(1.0) ** 2
    met = pl.coalesce("packet_u", "u_mean")
    unbounded = pl.when(pl.col("bounded").fill_null(value=False).any()).then(inf).otherwise(0.0)
    above = (pl.col("above").fill_null(0.0) * weight).sum() / weight.sum()
    loads = at_once(
        rows.group_by(["time_ns", *HOP, "signal"], maintain_order=True)
        .agg(((met * weight).sum() / weight.sum()).alias("u"), (unbounded + above).alias("above"))
        .sort("time_ns", *HOP, "signal")
    )
    bound = pl.when(pl.col("above") > 0).then(pl.lit("at least ")).otherwise(pl.lit(""))
    told = pl.format("{} {}{}", pl.col("signal"), bound, pl.col("u").round(2))
    least, largest = (pl.col("u") + pl.col("above")).min() + LITTLE_U, pl.col("u").max() + LITTLE_U
    here = ["time_ns", *HOP]
    first = begun(loads, here)
    several = ~first
    several[:-1] |= ~first[1:]  # few hops are spoken of by several kinds
    if not several.any():
        return NOTHING
    return (
        loads.filter(pl.Series(several))
        .group_by(here, maintain_order=True)
        .agg(
            (least / largest).clip(0.0, 1.0).alias("agreement"),
            told.str.join(", ").alias("kinds"),
        )
    )


NOTHING = pl.DataFrame(schema={"time_ns": pl.Int64, "node": pl.UInt32, "port": pl.UInt32,
                               "agreement": pl.Float64, "kinds": pl.String})  # fmt: skip


def disagreement() -> pl.Expr:
    """A sentence where kinds of telemetry differ on the headline's hop, else empty."""
    said = pl.format("telemetry differs on this hop: load {}", pl.col("kinds"))
    return pl.when(pl.col("agreement") < DIFFER).then(said).otherwise(pl.lit(""))
