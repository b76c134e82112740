"""What is proved of verdicts: figures of scored flow-intervals, each held against its bar.

Two skills are told of each kind of telemetry, both by Brier's score, the mean squared error of
probabilities, as 1 less its ratio to that of always saying the base rate:

- of the headline: its confidence, as a forecast that it agrees with the truth, over how often it
  does. Where fewer than `LEAST_WRONG` calls are wrong there is nothing to tell apart: no skill over
  the base rate can be measured, and how many are wrong is told instead;
- of the candidates: in congested intervals every listed hop is a forecast (`listed`), over how
  often a listed hop is the bottleneck.
"""

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
LEAST_WRONG = 20
"""Wrong calls from which the skill of the headline is measured."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with its bar; `met` is none where there was nothing to measure.

    `why` says why not, or what it is a figure of.
    """

    name: str
    value: float | None
    bar: float
    least: bool = True
    why: str = ""

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
    """Shares by group: top1, ceiling, covered, missed of congested rows, kind, false calls.

    `coverage` is the share of steady rows with enough observations, `few` how many have too few.
    """
    hot, calm = pl.col("congested"), ~pl.col("congested")
    kept = rows.filter(pl.col("telemetry") != "none")
    reach = (
        kept.filter("steady")
        .group_by(by)
        .agg(pl.col("scored").mean().alias("coverage"), (~pl.col("scored")).sum().alias("few"))
    )
    return (
        scored(rows)
        .group_by(by, maintain_order=True)
        .agg(
            pl.len().alias("intervals"),
            hot.sum().alias("congested"),
            pl.col("named").filter(hot).mean().alias("top1"),
            pl.col("best").filter(hot).mean().alias("ceiling"),
            pl.col("covered").filter(hot).mean().alias("covered"),
            pl.col("kind_right").mean().alias("kind"),
            pl.col("best_kind").mean().alias("kind_ceiling"),
            pl.col("calls").filter(calm).mean().alias("false_calls"),
            (~pl.col("calls")).filter(hot).mean().alias("missed"),
        )
        .join(reach, on=by, how="left")
        .sort(by)
    )


def forecast(rows: pl.DataFrame) -> pl.DataFrame:
    """Confidence and right (the share of cases that come true) of scored rows."""
    return scored(rows).drop_nulls("confidence").select("confidence", "right")


def calibration(rows: pl.DataFrame) -> tuple[float | None, int]:
    """(largest distance of a full bin's confidence from its share right, number of full bins)."""
    bin_ = (pl.col("confidence") * BINS).floor().clip(0, BINS - 1)
    bins = (
        forecast(rows)
        .group_by(bin_.alias("bin"))
        .agg(pl.len(), pl.col("confidence").mean(), pl.col("right").mean())
        .filter(pl.col("len") >= BIN_ROWS)
        .select((pl.col("confidence") - pl.col("right")).abs().max())
    )
    found: float | None = bins.item() if bins.height else None
    full = forecast(rows).group_by(bin_.alias("bin")).len().filter(pl.col("len") >= BIN_ROWS)
    return found, full.height


def headline_skill(rows: pl.DataFrame) -> tuple[float | None, float]:
    """(skill of the confidence, wrong calls); no skill where fewer than `LEAST_WRONG` are wrong."""
    told = forecast(rows)
    right, confidence = told["right"].to_numpy(), told["confidence"].to_numpy()
    wrong = float((1 - right).sum())
    if wrong < LEAST_WRONG:
        return None, wrong
    base = brier(right, np.full_like(right, right.mean()))
    return (1 - brier(right, confidence) / base if base else None), wrong


def candidate_skill(rows: pl.DataFrame) -> tuple[float | None, int]:
    """(skill of the probabilities of listed hops, how many there are) in congested intervals."""
    sums = scored(rows).filter("congested").select(pl.col("^listed.*$").sum())
    listed, right, error = sums.row(0) if sums.height else (0, 0.0, 0.0)
    if not listed:
        return None, 0
    base = right / listed * (1 - right / listed)
    return (1 - error / listed / base if base > 0 else None), listed


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
    off, bins = calibration(mine)
    skill, wrong = headline_skill(mine)
    ranked, listed = candidate_skill(mine)
    few = f"{wrong:.0f} wrong calls" + ("" if wrong >= LEAST_WRONG else ": too few to measure")
    return [
        top,
        Figure("candidate sets that hold the hop", row["covered"], COVERED),
        Figure("kind right", row["kind"], KIND_RIGHT),
        Figure("uncongested called congested", row["false_calls"], FALSE_CALLS, least=False),
        Figure("confidence off by", off, CALIBRATED, least=False, why=f"{bins} full bins"),
        Figure("Brier skill of the headline", skill, SKILL, why=few),
        Figure("Brier skill of the candidates", ranked, SKILL, why=f"{listed} hops listed"),
    ]
