"""Ties: of CSIG's hops one is named, and others on the way may be as full."""

import polars as pl

from collector import at_once
from pipeline.groups import HOP, numbered, words
from pipeline.locate import KEY
from pipeline.portion import portions

LOCATED_SHARPNESS, SAMPLE_SHARPNESS = 0.05, 0.3
"""Difference of hop load at which one of two hops that locators name is e times as likely, from
many samples, and what one sample alone adds to it."""
TIE = 0.03
"""How likely a later hop that is never named is as full as the one that is, against that one."""
UPSTREAM = 0.002
"""The same of an earlier hop."""
UNFIT = 0.05
"""What is left to a hop that other flows speak against."""


def tied(named: pl.DataFrame, by_load: pl.DataFrame, ways: pl.DataFrame) -> pl.DataFrame:
    """CSIG's candidates: the hops that locators name, and hops on the way that may tie with them.

    A later hop may be as full; an earlier one is in a lower bucket on every packet that was seen.
    """
    places = ways.lazy().group_by([*KEY, *HOP], maintain_order=True).agg(pl.col("place").min())
    tagged = named.lazy()
    others = (
        by_load.lazy()
        .join(tagged, on=KEY, how="semi", maintain_order="left")
        .join(places, on=[*KEY, *HOP], how="left", maintain_order="left")
        .rename({"probability": "fits"})
    )
    joined = tagged.join(
        others, on=[*KEY, *HOP], how="full", coalesce=True, maintain_order="left_right"
    ).with_columns(pl.lit("csig").alias("signal"), pl.col("samples").fill_null(0))
    rows = at_once(joined)
    interval = pl.Series("interval", numbered(words(rows, KEY))[0])
    told = rows[["u_mean", "samples", "place", "fits"]].hstack([interval]).lazy()
    told = told.with_columns(*OF_INTERVAL).select("interval", "place", "first", "fits", own=OWN)
    share = portions(at_once(told), ["interval"], TIED)
    return at_once(rows.lazy().with_columns(share).drop("fits", "place"))


OF_INTERVAL = [
    pl.col("samples").max().over("interval").alias("most_samples"),
    pl.col("u_mean").max().over("interval").alias("most_u"),
    pl.when(pl.col("u_mean").is_not_null()).then("place").min().over("interval").alias("first"),
]
SHARP = (LOCATED_SHARPNESS**2 + SAMPLE_SHARPNESS**2 / pl.col("most_samples")).sqrt()
OWN = ((pl.col("u_mean") - pl.col("most_u")) / SHARP).exp()
UNNAMED = pl.when(pl.col("place") > pl.col("first")).then(TIE).otherwise(UPSTREAM)
FITS = pl.when(pl.col("fits").is_null()).then(1.0).otherwise(pl.col("fits") + UNFIT)
TIED = pl.coalesce(pl.col("own").clip(UPSTREAM), UNNAMED) * FITS
"""How likely a candidate is, against the others of its flow and interval."""
