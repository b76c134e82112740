"""Vantage: of several points that saw a flow, the one from which its sender's state is known best.

A packet that is mirrored twice drives two states; a replay tells each decision once.
"""

import polars as pl

KEY = ("flow", "algorithm")


def vantage(decisions: pl.DataFrame) -> pl.DataFrame:
    """One row (flow, algorithm, point) a sender: most exact decisions, then most decisions."""
    seen = decisions.group_by(*KEY, "point").agg(
        (pl.col("quality") == "exact").sum().alias("exact"), pl.len().alias("all")
    )
    ranked = seen.sort(*KEY, "exact", "all", "point", descending=[False, False, True, True, False])
    return ranked.unique(KEY, keep="first", maintain_order=True).select(*KEY, "point")


def from_best(decisions: pl.DataFrame, best: pl.DataFrame) -> pl.DataFrame:
    """The decisions as seen from those points, in their order."""
    return decisions.join(best, on=[*KEY, "point"], how="semi", maintain_order="left")
