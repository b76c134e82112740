"""Which hop each kind of telemetry points at: candidates with their hop load and probability.

Every function takes interval tables (`pipeline.tables`) and gives one row a candidate hop:
time_ns, flow, signal, node, port, u_mean, u_max, queue_mean_bytes, standing_share, samples,
probability. Rows keep the order of the tables, so that sums of floats are the same at every run.
"""

from collections.abc import Sequence

import polars as pl

from pipeline.load_unit import NANO
from pipeline.reserved import UNTOLD

KEY = ["time_ns", "flow"]
HOP = ["node", "port"]
SHARPNESS = 0.03
"""Difference of hop load at which one hop is e times as likely as another."""
ESTIMATE_SHARPNESS = 0.2
"""The same for hops that are only matched with a path's load."""
CSIG_SOURCE = "^csig_(echo_)?(abw|utilization|delay)$"
"""Tags seen on data, and their reflections on ACKs: two views of one measurement."""


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
    """Hops of INT stacks, from the point that saw most of the path (then most samples)."""
    rows = hops.filter(pl.col("source") == "int")
    mine = best(rows, ["point"], [pl.struct(HOP).n_unique(), pl.col("samples").sum()])
    found = mine.group_by([*KEY, *HOP], maintain_order=True).agg(load())
    return found.with_columns(pl.lit("int").alias("signal"), probability(SHARPNESS))


def heard(hops: pl.DataFrame) -> pl.DataFrame:
    """CSIG rows of one view of each flow and interval, with their type of signal.

    A tag near its sender has met no hop yet: the view that located most is the one to hear.
    """
    rows = hops.filter(pl.col("source").str.contains(CSIG_SOURCE)).with_columns(
        pl.col("source").str.starts_with("csig_echo").alias("echo"),
        pl.col("source").str.split("_").list.last().alias("signal_type"),
    )
    located = pl.col("samples").filter(pl.col("port") != UNTOLD).sum()
    return best(rows, ["point", "echo"], [located, pl.col("samples").sum()])


def congestion_signals(hops: pl.DataFrame) -> pl.DataFrame:
    """Hops that CSIG locators name: load share of min(ABW/C) plus delay share of max(PD).

    A hop's load is the sum of the terms that its own samples carry, each over all samples of that
    signal type: a hop that both signals name gets both terms, as u' = queue + rate demands.
    """
    of_type = pl.col("samples").sum().over([*KEY, "signal_type"])
    # ABW and ABW/C say the same of a port: where both were seen, the ratio is taken.
    ratio = (pl.col("signal_type") == "utilization").any().over(KEY)
    terms = heard(hops).with_columns(of_type.alias("all"))
    terms = terms.filter((pl.col("signal_type") != "abw") | ~ratio.fill_null(value=False))
    found = (
        terms.group_by([*KEY, *HOP], maintain_order=True)
        .agg(
            (pl.col("u_sum_n") / pl.col("all") * NANO).sum().alias("u_mean"),
            (pl.col("u_max_n").max() * NANO).alias("u_max"),
            pl.col("queue_max_bytes").max().cast(pl.Float64).alias("queue_mean_bytes"),
            (pl.col("standing") / pl.col("all")).max().alias("standing_share"),
            pl.col("samples").sum(),
            pl.col("hop_index").min(),
        )
        .filter(pl.col("port") != UNTOLD)
    )
    return found.with_columns(pl.lit("csig").alias("signal"), probability(SHARPNESS))


def by_signal(hops: pl.DataFrame) -> pl.DataFrame:
    """Hops that each CSIG signal names by itself; probability is the share of samples there."""
    rows = heard(hops).with_columns((pl.lit("csig_") + pl.col("signal_type")).alias("signal"))
    signal = [*KEY, "signal"]
    found = rows.group_by([*signal, *HOP], maintain_order=True).agg(load())
    share = pl.col("samples") / pl.col("samples").sum().over(signal)
    return found.with_columns(share.alias("probability")).filter(pl.col("port") != UNTOLD)


def loads(located: pl.DataFrame) -> pl.DataFrame:
    """Load of each hop in each interval over all flows that located it: load, standing_share."""
    measured = located.filter(pl.col("signal") == "int")
    bounds = located.filter(pl.col("signal") == "csig").join(
        measured.select("time_ns", *HOP).unique(),
        on=["time_ns", *HOP],
        how="anti",
        maintain_order="left",
    )
    weight = pl.col("samples")
    return (
        pl.concat([measured, bounds], how="diagonal_relaxed")
        .sort("time_ns", *HOP, "flow")
        .group_by(["time_ns", *HOP], maintain_order=True)
        .agg(
            ((pl.col("u_mean") * weight).sum() / weight.sum()).alias("load"),
            ((pl.col("standing_share") * weight).sum() / weight.sum()).alias("standing_share"),
        )
    )


def matched(
    paths: pl.DataFrame, hop_loads: pl.DataFrame, flow_ways: pl.DataFrame, signal: str
) -> pl.DataFrame:
    """Hops of flows whose telemetry names none, by what others saw of the links on their ways.

    `paths` holds time_ns, flow, u_mean (the path's load, or null when only marks are seen) and
    samples. A hop is the likelier the nearer its load is to the path's; a hop that nobody saw
    counts as empty.
    """
    rows = (
        paths.rename({"u_mean": "path"})
        .join(flow_ways, on="flow", how="inner", maintain_order="left_right")
        .join(hop_loads, on=["time_ns", *HOP], how="left", maintain_order="left")
    )
    seen = pl.col("load").fill_null(0.0)
    fit = pl.when(pl.col("path").is_null()).then(seen).otherwise(-(seen - pl.col("path")).abs())
    rows = rows.with_columns((fit * (1 / ESTIMATE_SHARPNESS)).alias("score"))
    weight = (pl.col("score") - pl.col("score").max().over(KEY)).exp()
    return rows.select(
        *KEY,
        *HOP,
        pl.coalesce("path", "load").alias("u_mean"),
        pl.coalesce("path", "load").alias("u_max"),
        pl.lit(None, pl.Float64).alias("queue_mean_bytes"),
        "standing_share",
        "samples",
        pl.lit(None, pl.UInt8).alias("hop_index"),
        pl.lit(signal).alias("signal"),
        (weight / weight.sum().over(KEY)).alias("probability"),
    )
