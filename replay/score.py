"""Verdicts held against a fabric's truth: which flow-intervals agree, and what each flow was told.

A congested flow-interval agrees when the verdict names the same egress port and calls it
congested; another one when the verdict calls nothing congested. Only intervals with enough
observations are scored.
"""

from typing import NamedTuple

import polars as pl

from pipeline import CALM
from replay.truth import Truth

MEASURED = "int"
"""The telemetry whose answers must all be right: every hop is measured."""


class Score(NamedTuple):
    """What came of a run.

    - `intervals`: one row a scored flow-interval with truth and verdict side by side, `agrees`;
    - `flows`: one row a flow: key, telemetry, role, `truth` and `seen` (hops in order of time),
      `agreeing`, `scored`;
    - `agreement`: share of scored flow-intervals that agree;
    - `measured_right`: no INT interval differs.
    """

    intervals: pl.DataFrame
    flows: pl.DataFrame
    agreement: float
    measured_right: bool


def score(truth: Truth, verdicts: pl.DataFrame) -> Score:
    """Hold verdict rows (with src and dst as text) against the truth of the same intervals."""
    told = verdicts.select(
        "time_ns",
        "src",
        "sport",
        "dst",
        "dport",
        "kind",
        "device",
        "interface",
        "u_mean",
        "confidence",
    )
    key = ["time_ns", "src", "sport", "dst", "dport"]
    named = truth.flows.select("script", "role", "telemetry")
    rows = (
        truth.verdicts.filter(pl.col("scored"))
        .join(named, on="script", how="left")
        .join(told, on=key, how="left", suffix="_seen", maintain_order="left")
    )
    calls = ~pl.col("kind_seen").is_in(CALM)
    same = (pl.col("device") == pl.col("device_seen")) & (
        pl.col("interface") == pl.col("interface_seen")
    )
    agrees = pl.when(pl.col("congested")).then(calls & same).otherwise(~calls)
    intervals = rows.with_columns(agrees.fill_null(value=False).alias("agrees")).sort(
        "script", "time_ns"
    )
    flows = intervals.group_by("script", maintain_order=True).agg(
        pl.col("src", "sport", "dst", "dport", "protocol", "role", "telemetry").first(),
        moves(pl.col("congested"), "device", "interface").alias("truth"),
        moves(calls, "device_seen", "interface_seen").alias("seen"),
        pl.col("kind_seen").mode().sort().first().alias("kind"),
        pl.col("u_mean_seen").mean().alias("u_mean"),
        pl.col("confidence").mean(),
        pl.col("agrees").sum().alias("agreeing"),
        pl.len().alias("scored"),
    )
    measured = intervals.filter(pl.col("telemetry") == MEASURED)["agrees"]
    agreement = int(intervals["agrees"].sum()) / max(intervals.height, 1)
    return Score(intervals, flows, agreement, measured_right=measured.any() and measured.all())


def moves(congested: pl.Expr, device: str, interface: str) -> pl.Expr:
    """The hops of a flow's congested intervals in order of time, each once as long as it lasts."""
    place = pl.when(congested).then(pl.format("{} {}", device, interface)).otherwise(pl.lit("none"))
    return place.rle().struct.field("value").str.join(" → ")
