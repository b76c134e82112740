"""One headline out of all signals: the hop that they make likeliest together.

Each signal's probabilities count as its likelihood, and likelihoods multiply; a signal that may be
wrong altogether leaves a rest to every hop, the larger the less it can be trusted.
"""

import polars as pl

from collector import at_once
from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.portion import portions
from pipeline.runs import first_of

DOUBT = {"int": 0.0005, "csig": 0.003, "aecn": 0.002, "ecn": 0.003}
"""What a signal leaves to each hop besides those it points at, in the order in which they are
asked what the load of the headline's hop is: measured before inferred."""


def joined(candidates: pl.DataFrame) -> pl.DataFrame:
    """Every hop that a signal points at with its joint `probability`, the likeliest first.

    Its other columns are those of the signal of lowest rank that points at it. A flow-interval
    whose signals name no hop keeps one row without a hop.
    """
    names = list(DOUBT)
    ranked = (
        candidates.lazy()
        .filter(pl.col("signal").is_in(names))
        .with_columns(
            pl.col("signal").replace_strict(DOUBT, return_dtype=pl.Float64).alias("doubt"),
            pl.col("signal")
            .replace_strict({name: rank for rank, name in enumerate(names)}, return_dtype=pl.UInt8)
            .alias("rank"),
        )
    )
    said = (pl.col("probability") / pl.col("doubt") + 1).log().fill_null(0.0)
    hops = (
        ranked.sort(*KEY, "rank", nulls_last=True, maintain_order=True)
        .with_columns(said.alias("said"))
        .group_by([*KEY, *HOP], maintain_order=True)
        .agg(pl.col("said").sum(), pl.exclude("said", *KEY, *HOP).first())
    )
    named = at_once(hops.filter(pl.col("node").is_not_null() | (pl.len().over(KEY) == 1)))
    weight = (pl.col("said") - pl.col("said").max().over(KEY)).exp()
    return named.with_columns(portions(named, KEY, weight)).sort(
        [*KEY, "probability", "rank", "hop_index", *HOP],
        descending=[False, False, True, False, False, False, False],
        nulls_last=True,
    )


def headline(joint: pl.DataFrame) -> pl.DataFrame:
    """The likeliest hop of each flow-interval, from what was `joined`."""
    return first_of(joint, KEY)
