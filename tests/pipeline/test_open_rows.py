"""Rows of open intervals come out joined, however many parts brought them."""

import polars as pl
import pytest

from pipeline import open_rows
from pipeline.intervals import FLOW_KEY
from pipeline.open_rows import OpenRows

LENGTH_NS = 100


def part(frames: list[tuple[int, int]], alpha: float) -> pl.DataFrame:
    """Partial rows of flows: start of the interval, flow; each with one frame."""
    columns = {"time_ns": pl.Int64, "flow": pl.UInt64}
    return pl.DataFrame(frames, schema=columns, orient="row").with_columns(
        pl.lit(LENGTH_NS, pl.Int64).alias("interval_ns"),
        pl.lit("p").alias("point"),
        pl.lit(1, pl.UInt64).alias("frames"),
        pl.lit(alpha).alias("alpha"),
    )


@pytest.mark.parametrize("most", [1, 3, 1 << 18])
def test_intervals_are_joined_when_they_end(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(open_rows, "MOST_ROWS", most)
    rows = OpenRows("flow_intervals", FLOW_KEY)
    rows.add([part([(0, 2), (0, 1), (100, 1)], 0.5)])
    rows.add([part([(0, 1), (100, 1)], 0.25), part([(200, 1)], 0.75)])
    assert set(pl.concat(rows.flows)) == {1, 2}
    names = ("time_ns", "flow", "frames", "alpha")
    assert rows.close(-100).is_empty()
    assert rows.close(0).select(names).rows() == [(0, 1, 2, 0.25), (0, 2, 1, 0.5)]
    assert rows.close(None).select(names).rows() == [(100, 1, 2, 0.25), (200, 1, 1, 0.75)]
    assert rows.close(None).is_empty()
