"""Who shares a hop: which flows cross it, how much each contributes, and who suffers from others.

A flow crosses a hop that its INT stack or a CSIG locator names, a hop that lies on all of its
possible paths, and the hop that holds it back. A *contributor* sends at least `LEAST_SHARE` of what
all of these send; a *victim* is held back at the hop although it sends less than a tenth of an
equal share of it.
"""

import polars as pl

from collector import at_once
from pipeline.groups import HOP, distinct, hops
from pipeline.intervals import SLICES
from pipeline.locate import KEY
from pipeline.reserved import PLACE
from pipeline.way_choice import common

LEAST_SHARE = 0.005
"""Share of a hop's bytes from which a flow contributes to its load."""
LITTLE = 0.1
"""Part of an equal share below which a flow contributes little."""
NAMED_SHARE = 0.05
"""Share of samples from which a hop that a locator names is taken to be on the way."""
CHANCE = 2.0
"""What one frame's chance adds to a share of the interval; that of n frames adds its n-th part."""
DIRECT = ("int", "csig")


def crossing(
    sent: pl.DataFrame, candidates: pl.DataFrame, chosen: pl.DataFrame, possible: pl.DataFrame
) -> pl.DataFrame:
    """Flows by hop and interval: time_ns, flow, node, port, data_bytes, contribution, held."""
    named = candidates.lazy().filter(
        pl.col("signal").is_in(DIRECT)
        & (pl.col("node") < PLACE)
        & ((pl.col("signal") == "int") | (pl.col("share") >= NAMED_SHARE))
    )
    held = chosen.lazy().filter(pl.col("node").is_not_null())
    own = [*KEY, *HOP]
    on_all = sent[KEY].lazy().join(common(possible).lazy(), on="flow", how="inner")
    rows = at_once(pl.concat(each.select(own) for each in (named, held, on_all)))
    told = sent[[*KEY, "bytes", "data_bytes", "data_frames", "slices"]].lazy()
    crossed = (
        distinct(rows, [*KEY, *hops(rows)])
        .lazy()
        .join(told, on=KEY, how="left")
        .join(held.select(*own, pl.lit(value=True).alias("held")), on=own, how="left")
    )
    here = ["time_ns", *HOP]
    whole = pl.col("data_bytes").sum().over(here)
    part = pl.when(whole > 0).then(pl.col("data_bytes") / whole).otherwise(1 / pl.len().over(here))
    is_held = pl.col("held").fill_null(value=False)
    return at_once(crossed.with_columns(part.alias("contribution"), is_held))


def counts(rows: pl.DataFrame) -> pl.DataFrame:
    """Contributors and victims of each hop, its bytes and its `duty`, from rows of `crossing`.

    Duty is the share of the interval in which any of its flows sent, in 32nds; few packets leave
    some of them empty by chance, which is made up for.
    """
    return rows.group_by("time_ns", *HOP).agg(COUNTS)


def sending_together() -> pl.Expr:
    """Share of an interval in which any of some flows sent; 1 where it is not known of one."""
    told = pl.col("slices").fill_null(0)
    share = sending(told.bitwise_or(), pl.col("data_frames").fill_null(0).sum())
    return pl.when((told > 0).all()).then(share).otherwise(1.0)


def sending(slices: pl.Expr, frames: pl.Expr) -> pl.Expr:
    """Share of an interval in which so many frames were sent that fell into these slices."""
    by_chance = 1 - (1 - 1 / SLICES) ** frames
    return (slices.bitwise_count_ones() / SLICES / by_chance + CHANCE / frames).clip(0.0, 1.0)


CONTRIBUTES = pl.col("contribution") >= LEAST_SHARE
SUFFERS = pl.col("held") & (pl.col("contribution") * pl.len() < LITTLE)
COUNTS = [
    CONTRIBUTES.sum().cast(pl.UInt32).alias("contributors"),
    SUFFERS.sum().cast(pl.UInt32).alias("victims"),
    sending_together().alias("duty"),
    pl.col("data_bytes").sum().alias("crossing_bytes"),
    pl.col("bytes").sum().alias("wire_bytes"),
]
