"""What is proved of verdicts: figures of scored flow-intervals, each held against its bar."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

BARS = {
    **dict.fromkeys(("int", "ifa", "ioam", "int_sink", "int_reports"), 0.999),
    "csig_expanded": 0.995,
}
"""Share of congested intervals whose hop must be named, by telemetry."""
OF_CEILING = {"csig_compact": 0.97, "aecn": 0.97, "ecn": 0.97}
"""The same as a share of what the best possible observer names."""
COVERED, KIND_RIGHT, FALSE_CALLS = 0.99, 0.98, 0.005
CALIBRATED, SKILL = 0.05, 0.3
BIN_ROWS = 200
"""Least rows in a bin of confidence that is held against its bar."""
BINS = 10


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with its bar; `met` is none where there was nothing to measure."""

    name: str
    value: float | None
    bar: float
    least: bool = True

    @property
    def met(self) -> bool | None:
        """Whether the bar is met."""
        if self.value is None:
            return None
        return self.value >= self.bar if self.least else self.value <= self.bar


def scored(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that count: scored ones of flows that carry anything."""
    return rows.filter(pl.col("scored") & (pl.col("telemetry") != "none"))


def summary(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Shares by group: top1, ceiling, covered, missed of congested rows, kind, false calls."""
    hot, calm = pl.col("congested"), ~pl.col("congested")
    kept = rows.filter(pl.col("telemetry") != "none")
    reach = kept.group_by(by).agg(pl.col("scored").mean().alias("coverage"))
    return (
        scored(rows)
        .group_by(by, maintain_order=True)
        .agg(
            pl.len().alias("intervals"),
            hot.sum().alias("congested"),
            pl.col("named").filter(hot).mean().alias("top1"),
            pl.col("ceiling").filter(hot).mean().alias("ceiling"),
            pl.col("covered").filter(hot).mean().alias("covered"),
            pl.col("kind_right").mean().alias("kind"),
            pl.col("calls").filter(calm).mean().alias("false_calls"),
            (~pl.col("calls")).filter(hot).mean().alias("missed"),
        )
        .join(reach, on=by, how="left")
        .sort(by)
    )


def calibration(rows: pl.DataFrame) -> tuple[float | None, float | None]:
    """(largest distance of a full bin's confidence from its share right, Brier skill).

    The skill is over always saying the base rate; none where everything came out alike.
    """
    told = scored(rows).drop_nulls("confidence").select("confidence", "right")
    if told.is_empty():
        return None, None
    bin_ = (pl.col("confidence") * BINS).floor().clip(0, BINS - 1)
    bins = (
        told.group_by(bin_.alias("bin"))
        .agg(pl.len(), pl.col("confidence").mean(), pl.col("right").mean())
        .filter(pl.col("len") >= BIN_ROWS)
        .select((pl.col("confidence") - pl.col("right")).abs().max())
    )
    worst = bins.item() if bins.height else None
    right, confidence = told["right"].to_numpy(), told["confidence"].to_numpy()
    base = brier(right, np.full_like(right, right.mean()))
    return worst, None if base == 0.0 else 1 - brier(right, confidence) / base


def brier(right: NDArray[np.float64], told: NDArray[np.float64]) -> float:
    """Mean squared error of what was told where `right` is the share of cases that come true."""
    return float((right * (1 - told) ** 2 + (1 - right) * told**2).mean())


def figures(rows: pl.DataFrame, telemetry: str) -> list[Figure]:
    """All figures of one kind of telemetry."""
    mine = rows.filter(pl.col("telemetry") == telemetry)
    found = summary(mine, ["telemetry"])
    if found.is_empty():
        return []
    row = found.row(0, named=True)
    if telemetry in BARS:
        top = Figure("top-1 hop", row["top1"], BARS[telemetry])
    else:
        share = None if row["top1"] is None else row["top1"] / row["ceiling"]
        top = Figure("top-1 hop of its ceiling", share, OF_CEILING[telemetry])
    off, skill = calibration(mine)
    return [
        top,
        Figure("candidate sets that hold the hop", row["covered"], COVERED),
        Figure("kind right", row["kind"], KIND_RIGHT),
        Figure("uncongested called congested", row["false_calls"], FALSE_CALLS, least=False),
        Figure("confidence off by", off, CALIBRATED, least=False),
        Figure("Brier skill", skill, SKILL),
    ]
