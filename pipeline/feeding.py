"""Which hops of a path can be its fullest, by what feeds them.

A queue grows at a port into which more comes than it can send. Where all that may be held back at a
port comes by one link that is no faster than the port, the port at the other end of that link is at
least as full, or nothing is: such a hop is never the fullest of its path. So one flow alone cannot
fill a last hop that is as fast as its way there, and flows that share two hops in a row queue at
the first.
"""

import numpy as np
import polars as pl

from collector import arrow, at_once
from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.met import SEVERAL, by_others
from pipeline.topology import Topology

VIA = ["via_node", "via_port"]
HERE = ["time_ns", *HOP]
OFF = 2.0
"""Spreads by which what a flow was told may be off."""
AS_FAST = 0.99
"""Part of a link's rate from which a port is as fast."""
MEASURED_OFF = 0.02
"""By how much two loads that INT tells must differ to say which port is fuller."""


def fed(
    told: pl.DataFrame,
    all_ways: pl.DataFrame,
    hop_loads: pl.DataFrame,
    topology: Topology | None,
    zero: float,
) -> pl.DataFrame:
    """The rows of `all_ways` that belong to flow-intervals that were `told` something.

    Left out are hops that others feed no more than they can send, hops of which INT tells that
    another of the path is fuller, and paths of which none is left, unless all are. `all_ways` holds
    time_ns and the columns of `ways.paths` for every flow that was seen, `hop_loads` is as
    `locate.loads` gives it; `told` has low, high and spread as in `comparison`, on a scale that
    begins at `zero`.
    """
    if told.is_empty() or all_ways.is_empty():
        return all_ways.clear()
    least = (pl.col("low").clip(0) + zero).log() - OFF * pl.col("spread")
    most = (pl.col("high").clip(0) + zero).log() + OFF * pl.col("spread")
    # Who names a hop itself is not told by others which of two it is.
    tagged = pl.col("signal") == "csig" if "signal" in told.columns else pl.lit(value=False)
    own = (
        told.lazy()
        .group_by(KEY)
        .agg(least.max().alias("least"), most.min().alias("most"), tagged.any().alias("tagged"))
    )
    link = pl.col("via_node").cast(pl.UInt64) * (1 << 32) + pl.col("via_port")
    linked = all_ways.lazy().with_columns(link.fill_null(int(SEVERAL)).alias("link"))
    ways = at_once(linked.join(own, on=KEY, how="left", maintain_order="left"))
    told_of = np.flatnonzero(~arrow.nulls(ways["least"]))
    mine = ways[told_of]
    if topology is None or mine.is_empty():
        return mine.select(all_ways.columns)
    rates = topology.frame.lazy().select(*HOP, pl.col("capacity_bps").alias("bps"))
    behind = rates.select(pl.all().name.prefix("via_"))
    rows = (
        measured(mine.hstack([by_others(ways)[told_of]]), hop_loads)
        .join(rates, on=HOP, how="left", maintain_order="left")
        .join(behind, on=VIA, how="left", maintain_order="left")
    )
    may = at_once(rows.with_columns(STARVED).select(*KEY, MAY))
    if may["may"].all():
        return mine.select(all_ways.columns)
    kept = may.select(pl.col("may") | ~pl.col("may").any().over(KEY)).to_series()
    return mine.select(all_ways.columns).filter(kept)


def starved() -> pl.Expr:
    """Whether others feed a hop no more than it can send."""
    as_fast = pl.col("bps") >= AS_FAST * pl.col("via_bps")
    return (as_fast & (pl.col("others") < pl.col("least"))).fill_null(value=False)


STARVED = starved().alias("starved")
BY_INT = pl.col("lower") | (pl.col("starved") & ~pl.col("fuller"))
MAY = (~pl.when("tagged").then("starved").otherwise(BY_INT)).alias("may")
"""Whether a hop may be the fullest of its path."""


def measured(mine: pl.DataFrame, hop_loads: pl.DataFrame) -> pl.LazyFrame:
    """The ways with `lower` and `fuller`: what INT tells of a hop beside others of its path.

    It is lower than another one, or fuller than the one before it: stacks grow on the way, so that
    a port may have more to send than an equal one that feeds it.
    """
    ways = mine.lazy()
    known = hop_loads["measured"] & ~hop_loads["bounded"]
    if not known.any():
        never = pl.lit(value=False)
        return ways.with_columns(never.alias("lower"), never.alias("fuller"))
    told = hop_loads.lazy().filter(known).select(*HERE, pl.col("load").alias("here_u"))
    before = told.select("time_ns", pl.col(HOP).name.prefix("via_"), before_u="here_u")
    most = pl.col("here_u").max().over(*KEY, "path")
    return (
        ways.join(told, on=HERE, how="left", maintain_order="left")
        .join(before, on=["time_ns", *VIA], how="left", maintain_order="left")
        .with_columns(
            (pl.col("here_u") < most - MEASURED_OFF).fill_null(value=False).alias("lower"),
            (pl.col("here_u") > pl.col("before_u") + MEASURED_OFF)
            .fill_null(value=False)
            .alias("fuller"),
        )
    )
