"""Figures are what they say: calibration, skills, falls, what a ranked set of hops claims."""

import polars as pl
import pytest

from replay.fall import falls
from replay.listed import claimed, forecasts
from replay.proof import calibration, candidate_skill, figures, headline_skill


def rows(confidence: float, right: int, wrong: int) -> pl.DataFrame:
    """Scored and congested rows of one telemetry."""
    return pl.DataFrame({"right": [1.0] * right + [0.0] * wrong}).with_columns(
        pl.lit("aecn").alias("telemetry"),
        pl.lit(confidence).alias("confidence"),
        *(pl.lit(value=True).alias(name) for name in ("scored", "steady", "congested", "calls")),
        pl.lit(1.0).alias("covered"),
        pl.Series("named", [1.0] * right + [0.0] * wrong, pl.Float64),
        pl.lit(value=False).alias("kind_right"),
        pl.lit(0.5).alias("best"),
        pl.lit(1.0).alias("best_kind"),
        pl.lit(2).alias("listed"),
        pl.Series("listed_right", [1.0] * right + [0.0] * wrong, pl.Float64),
        pl.lit(0.5).alias("listed_error"),
    )


def test_calibration_is_the_distance_of_the_worst_full_bin() -> None:
    told = pl.concat([rows(0.95, 190, 10), rows(0.15, 90, 110), rows(0.55, 0, 199)])
    off, bins = calibration(told)
    assert off == pytest.approx(0.45 - 0.15)
    assert bins == 2


def test_a_skill_of_one_is_knowing() -> None:
    told = pl.concat([rows(1.0, 200, 0), rows(0.0, 0, 200)])
    assert calibration(told) == (0.0, 2)
    assert headline_skill(told) == (1.0, 200.0)
    assert calibration(rows(0.9, 0, 0)) == (None, 0)


def test_where_hardly_a_call_is_wrong_no_skill_of_the_headline_is_told() -> None:
    assert headline_skill(rows(0.99, 1_000, 19)) == (None, 19.0)
    skill, wrong = headline_skill(rows(0.98, 980, 20))
    assert wrong == 20
    assert skill == pytest.approx(0.0)


def test_the_skill_of_candidates_is_over_how_often_a_listed_hop_is_the_bottleneck() -> None:
    """Of 200 listed hops 100 are: always saying a half errs by 1/4 each, these say 1/4 in all."""
    assert candidate_skill(rows(0.9, 100, 0)) == (0.0, 200)
    sure = rows(0.9, 100, 0).with_columns(pl.lit(0.02).alias("listed_error"))
    skill, _ = candidate_skill(sure)
    assert skill == pytest.approx(1 - 0.01 / 0.25)
    assert candidate_skill(rows(0.9, 0, 0)) == (None, 0)


LISTED = """[{"signal":"headline","device":"a","interface":"1","probability":0.9},
    {"signal":"headline","device":"a","interface":"2","probability":0.095},
    {"signal":"csig_abw","device":"b","interface":"1","probability":1.0},
    {"signal":"csig_abw","device":null,"interface":null,"probability":0.2}]"""


def test_a_hop_that_the_headline_leaves_out_is_forecast_by_nought() -> None:
    assert claimed(LISTED) == ["a 1", "a 2"]
    listed, right, error = forecasts(LISTED, {"a 1": 0.5, "b 1": 0.5})
    assert (listed, right) == (3, 1.0)
    assert error == pytest.approx(0.5 * 0.1**2 + 0.5 * 0.9**2 + 0.095**2 + 0.5)
    assert forecasts(None, {}) == (0, 0.0, 0.0)


def test_figures_are_held_against_the_ceiling() -> None:
    found = {figure.name: figure for figure in figures(rows(0.4, 49, 51), "aecn")}
    top = found["top-1 hop of its ceiling"]
    assert top.value == pytest.approx(0.98)
    assert top.met
    assert found["kind right"].met is False
    assert found["uncongested called congested"].met is None


def test_falls_are_of_intervals_that_are_scored_both_times() -> None:
    base = rows(0.9, 80, 20).with_columns(
        pl.lit("incast").alias("scenario"),
        pl.lit(1).alias("seed"),
        pl.lit(value=True).alias("mixed"),
        pl.int_range(pl.len()).alias("script"),
        pl.lit(0).alias("time_ns"),
    )
    after = base.with_columns(scored=pl.col("script") < 80, best=pl.lit(0.4))
    ((met, line),) = falls(base, after, ["aecn"])
    assert met
    assert "80 scored, 20 under 20" in line
    assert "top-1 100.0 of 40.0 falls by -50.0" in line
    worse = after.with_columns(named=pl.lit(0.9) * pl.col("named"), best=pl.lit(0.5))
    ((met, line),) = falls(base, worse, ["aecn"])
    assert not met
    assert "falls by 20.0" in line
