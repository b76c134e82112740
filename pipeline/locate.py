"""Which hop each kind of telemetry points at: candidates with their hop load and probability.

Every function takes interval tables (`pipeline.tables`) and gives one row a candidate hop:
time_ns, flow, signal, node, port, u_mean, u_max, queue_mean_bytes, standing_share, samples,
probability. Rows keep the order of the tables, so that sums of floats are the same at every run.
"""

from collections.abc import Sequence

import polars as pl

from pipeline.load_unit import NANO
from pipeline.reporter import REPORTER
from pipeline.reserved import PLACE
from pipeline.told_samples import BOUND

KEY = ["time_ns", "flow"]
HOP = ["node", "port"]
SHARPNESS = 0.03
"""Difference of hop load at which one hop is e times as likely as another."""


def load() -> list[pl.Expr]:
    """Sums over partial rows of one candidate as its mean load, largest load and mean queue."""
    samples = pl.col("samples").sum()
    return [
        (pl.col("u_sum_n").sum() / samples * NANO).alias("u_mean"),
        (pl.col("u_max_n").max() * NANO).alias("u_max"),
        (pl.col("queue_sum_bytes").sum() / samples).alias("queue_mean_bytes"),
        (pl.col("standing").sum() / samples).alias("standing_share"),
        samples.alias("samples"),
        pl.col("hop_index").min(),
    ]


def probability(sharpness: float) -> pl.Expr:
    """Softmax of the hop loads of one flow and interval."""
    weight = ((pl.col("u_mean") - pl.col("u_mean").max().over(KEY)) * (1 / sharpness)).exp()
    return (weight / weight.sum().over(KEY)).alias("probability")


def best(rows: pl.DataFrame, view: Sequence[str], merit: Sequence[pl.Expr]) -> pl.DataFrame:
    """The rows of one view of each flow and interval: the one of most merit, the first first."""
    judged = rows.group_by([*KEY, *view], maintain_order=True).agg(
        one.alias(f"merit{place}") for place, one in enumerate(merit)
    )
    merits = [f"merit{place}" for place in range(len(merit))]
    chosen = judged.sort(
        *merits, *view, descending=[True] * len(merits) + [False] * len(view)
    ).unique(KEY, keep="first", maintain_order=True)
    return rows.join(
        chosen.select(*KEY, *view), on=[*KEY, *view], how="semi", maintain_order="left"
    )


def inband(hops: pl.DataFrame) -> pl.DataFrame:
    """Hops of INT stacks, from the point that saw most of the path (then most samples).

    What switches report is seen from one point, whichever they are. A hop has one load: that of all
    flows that measured it in the interval, by their samples; bounds count where nothing else does.
    """
    reported = pl.col("point").cast(pl.String).str.starts_with(REPORTER)
    view = pl.when(reported).then(pl.lit(REPORTER)).otherwise(pl.col("point").cast(pl.String))
    rows = hops.filter(pl.col("source").is_in(("int", BOUND))).with_columns(view.alias("view"))
    mine = best(rows, ["view"], [pl.struct(HOP).n_unique(), pl.col("samples").sum()])
    found = mine.group_by([*KEY, *HOP], maintain_order=True).agg(
        *load(), (pl.col("source") == BOUND).all().alias("bound")
    )
    # A hop that only its place names is another one on each path.
    alone = pl.when(pl.col("node") >= PLACE).then("flow")
    here = ["time_ns", *HOP, alone]
    counts = pl.col("samples") * (~pl.col("bound") | pl.col("bound").all().over(here))
    weight = counts / counts.sum().over(here)
    pooled = [(pl.col(name) * weight).sum().over(here) for name in ("u_mean", "standing_share")]
    return (
        found.with_columns(pooled)
        .drop("bound")
        .with_columns(pl.lit("int").alias("signal"), probability(SHARPNESS))
    )


def loads(located: pl.DataFrame) -> pl.DataFrame:
    """Load of each hop in each interval over all flows that located it: load, standing_share."""
    measured = located.filter(pl.col("signal") == "int")
    bounds = located.filter(pl.col("signal") == "csig").join(
        measured.select("time_ns", *HOP).unique(),
        on=["time_ns", *HOP],
        how="anti",
        maintain_order="left",
    )
    # A flow that rarely names a hop knows least of it: it missed what was less than elsewhere.
    weight = pl.col("samples") * pl.col("share").fill_null(1.0) ** 2
    return (
        pl.concat([measured, bounds], how="diagonal_relaxed")
        .sort("time_ns", *HOP, "flow")
        .group_by(["time_ns", *HOP], maintain_order=True)
        .agg(
            ((pl.col("u_mean") * weight).sum() / weight.sum()).alias("load"),
            ((pl.col("standing_share") * weight).sum() / weight.sum()).alias("standing_share"),
            (pl.col("signal") == "int").any().alias("measured"),
        )
    )
