"""Flows without locators, placed by comparison: flows that share links, taps that share a path.

`told` has a row a flow and interval that knows its path's load, or the share of its bytes that the
path marked: time_ns, flow, low, high (the value lies between them), spread (how far it may be off,
in steps of e), most (congested hops at most; null: not told) and wanted (whether candidates are
asked for). `known` says what else is known of hops, a row a source: time_ns, node, port, low,
high, spread.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from collector import at_once
from pipeline.belief import fullest, graph, window
from pipeline.groups import HOP, among
from pipeline.messages import Floats

TOLD = {"time_ns": pl.Int64, "flow": pl.UInt64, "low": pl.Float64, "high": pl.Float64,
        "spread": pl.Float64, "most": pl.UInt8, "wanted": pl.Boolean}  # fmt: skip
KNOWN = {"time_ns": pl.Int64, "node": pl.UInt32, "port": pl.UInt32, "low": pl.Float64,
         "high": pl.Float64, "spread": pl.Float64}  # fmt: skip
FOUND = {"time_ns": pl.Int64, "flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32,
         "probability": pl.Float64}  # fmt: skip
SHARPER = 2.0
"""Power of the probabilities: what is left for surprises at every flow and hop makes them flatter
than what comes true, by scenarios of development. Hops that nothing tells apart stay so."""


@dataclass(frozen=True)
class Quantity:
    """What is compared: its levels, how likely each is at a hop nobody knows of, its zero.

    Values are told apart by their ratio; `zero` is what counts as little. A hop counts as congested
    above the level `full`.
    """

    levels: tuple[float, ...]
    prior: tuple[float, ...]
    zero: float
    full: float

    def scaled(self, value: Floats) -> Floats:
        """Values on the scale on which they are told apart."""
        return np.asarray(np.log(self.zero + np.maximum(value, 0.0)))


LOAD = Quantity(
    levels=(0.1, 0.3, 0.5, 0.7, 0.85, 0.97, 1.1, 1.3, 1.5, 1.75, 2.0, 2.4, 2.9, 3.6, 4.5, 6.0, 9.0),
    prior=(24, 18, 12, 8, 5, 4, 2, 1, 1, 1, 1, 1, 1, 1, 0.5, 0.3, 0.2),
    zero=0.25,
    full=1.0,
)
"""Hop load u': most ports are far from full."""
MARKS = Quantity(
    levels=(0.0, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.32, 0.5, 0.75, 1.0),
    prior=(80, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1),
    zero=0.01,
    full=0.0,
)
"""Share of marked bytes: most ports mark none."""


def compared(
    told: pl.DataFrame, known: pl.DataFrame, paths: pl.DataFrame, quantity: Quantity
) -> pl.DataFrame:
    """Candidates of the flow-intervals that are `wanted`: time_ns, flow, hop, probability.

    `paths` holds the possible paths of each flow (`ways.paths`), or of a flow in one interval where
    it has a column time_ns.
    """
    # No interval knows of another: what nobody is asked about in one tells of no other.
    asked = told["time_ns"].filter(told["wanted"])
    if asked.is_empty() or paths.is_empty():
        return pl.DataFrame(schema=FOUND)
    here = np.flatnonzero(among(told["time_ns"], asked))
    factors = told[here].with_row_index("factor")
    timed = ["time_ns"] if "time_ns" in paths.columns else []
    rows = factors[["factor", "time_ns", "flow"]].join(
        paths, on=[*timed, "flow"], how="inner", maintain_order="left_right"
    )
    if rows.is_empty():
        return pl.DataFrame(schema=FOUND)
    hops = rows[["time_ns", *HOP]].unique(maintain_order=True).with_row_index("hop")
    rows = rows.join(hops, on=["time_ns", *HOP], how="left", maintain_order="left")
    sorted_rows = rows.sort("factor", "path", "place")
    g = graph(
        *(sorted_rows[name].to_numpy().astype(np.int64) for name in ("factor", "path", "hop"))
    )
    probability = fullest(
        g, likelihood(factors, quantity), prior(hops, known, quantity), most(factors, quantity)
    )
    numbers = [g.edge_factor.astype(np.uint32), g.edge_hop.astype(np.uint32), probability]
    edges = pl.LazyFrame(dict(zip(("factor", "hop", "probability"), numbers, strict=True)))
    sharper = pl.col("probability") ** SHARPER
    edges = edges.with_columns(sharper / sharper.sum().over("factor"))
    wanted = factors.lazy().filter("wanted")
    named = hops.lazy().drop("time_ns")
    return at_once(
        edges.join(wanted, on="factor", how="inner", maintain_order="left")
        .join(named, on="hop", how="left", maintain_order="left")
        .select(list(FOUND))
    )


def likelihood(rows: pl.DataFrame, quantity: Quantity) -> Floats:
    """Likelihood of each level by what each row says."""
    levels = quantity.scaled(np.array(quantity.levels))
    low, high = (quantity.scaled(rows[name].to_numpy()) for name in ("low", "high"))
    return window(levels, low, high, rows["spread"].to_numpy())


def prior(hops: pl.DataFrame, known: pl.DataFrame, quantity: Quantity) -> Floats:
    """Distribution of each hop before flows are compared: by what located it, else by habit."""
    usual = np.array(quantity.prior) / sum(quantity.prior)
    made = np.repeat(usual[None, :], hops.height, axis=0)
    rows = hops.join(known, on=["time_ns", *HOP], how="inner", maintain_order="left")
    np.multiply.at(made, rows["hop"].to_numpy(), likelihood(rows, quantity))
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def most(factors: pl.DataFrame, quantity: Quantity) -> np.ndarray:
    """Highest level of the other hops, where only one hop can be congested; else the last level."""
    calm = int(np.searchsorted(quantity.levels, quantity.full, side="right")) - 1
    last = len(quantity.levels) - 1
    return (
        factors.select(pl.when(pl.col("most") <= 1).then(calm).otherwise(last))
        .to_series()
        .to_numpy()
    )
