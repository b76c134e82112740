"""Intervals that are longer than the seconds of a rollup."""

from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from asked import Asked, opened

FLOW = {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}
S = 10**9


def test_intervals_longer_than_a_second_are_told_by_minutes(
    tmp_path: Path, world: ModuleType
) -> None:
    """Their second would have all of their bytes, ten times what was sent in it."""
    slower = pl.col("time_ns") + (pl.col("time_ns") - world.START_NS) * 999
    frames = world.frames()
    for table in ("flow_intervals", "hop_intervals", "verdicts"):
        interval_ns = pl.lit(10 * S, pl.Int64).alias("interval_ns")
        frames[table] = frames[table].with_columns(slower.alias("time_ns"), interval_ns)
    last_ns = pl.lit(world.START_NS + world.INTERVALS * 10 * S - 1).alias("last_ns")
    frames["flows"] = frames["flows"].with_columns(last_ns)
    with opened(tmp_path) as store:
        for table, rows in frames.items():
            store.insert(table, rows, "slow")
        with Asked(store) as client:
            whole, fine = (
                client.get("/api/v1/flows/signals", **FLOW, window="11m", **given).json()
                for given in ({}, {"interval": "1s"})
            )
    assert whole["interval"]["step_ns"] == 60 * S
    assert set(fine["lengths_ns"]) == {10 * S}
    sent = [
        sum(
            rate * ns
            for rate, ns in zip(told["signals"]["rate_bps"], told["lengths_ns"], strict=True)
        )
        for told in (whole, fine)
    ]
    assert sent[0] == pytest.approx(sent[1])
    assert max(whole["signals"]["rate_bps"]) <= max(fine["signals"]["rate_bps"]) * 1.001
