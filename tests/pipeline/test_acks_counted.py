"""Acknowledgments are counted once each, wherever they are seen and whatever they drive."""

from functools import cache

import polars as pl
import pytest

from collector import CollectorSettings, Decoder
from pipeline import PipelineSettings, Worker
from replay import frames_of, points, scenario, simulate, topology
from replay.taps import Taps

MS = 1_000_000
TOLD = CollectorSettings(int_dscp=23)
CAPABLE = (
    pl.when(pl.col("payload_bytes") > 0).then(pl.lit(2, pl.UInt8)).otherwise("ecn").alias("ecn")
)
"""Data as that of a connection that has ECN, so that DCTCP is followed beside HPCC++."""


@cache
def observed(telemetry: str, taps: Taps) -> pl.DataFrame:
    """Two flows at one port, as taps see them."""
    world = scenario.alone(telemetry, duration_ns=8 * MS)
    frames = frames_of(simulate(world, TOLD), TOLD, taps=taps)
    return Decoder(TOLD).decode(frames, points(world), "fabric")


def counted(telemetry: str, rows: pl.DataFrame) -> pl.DataFrame:
    """What was acknowledged to each flow's sender, by point."""
    world = scenario.alone(telemetry, duration_ns=8 * MS)
    worker = Worker(PipelineSettings(interval_ms=1.0), topology(world), ("fabric",))
    made = [worker.advance(rows).tables, worker.finish().tables]
    sums = pl.concat(
        [each["flow_intervals"] for each in made if "flow_intervals" in each],
        how="diagonal_relaxed",
    )
    return (
        sums.group_by("flow", "point")
        .agg(pl.col("acks", "acked_bytes", "marked_bytes", "decisions").sum())
        .filter(pl.col("acks") > 0)
        .sort("flow", "point")
    )


@pytest.mark.parametrize("telemetry", ["csig_compact", "int"])
def test_a_tap_far_from_the_sender_counts_what_one_beside_it_does(telemetry: str) -> None:
    """Its ACKs are read when they have come to the sender, some of them in one go."""
    found = counted(telemetry, observed(telemetry, Taps(leaves=("leaf1", "leaf2", "leaf3"))))
    assert found["flow"].n_unique() == 2
    for (_,), points_of in found.group_by("flow"):
        assert points_of.height == 2
        for name in ("acks", "acked_bytes", "marked_bytes"):
            least, most = int(points_of[name].min() or 0), int(points_of[name].max() or 0)
            assert most - least <= 0.01 * most, name
    assert (found["marked_bytes"] > 0).all() == (telemetry == "csig_compact")


@pytest.mark.parametrize("leaves", [("leaf1",), ("leaf2", "leaf3")])
def test_what_drives_both_algorithms_is_counted_once(leaves: tuple[str, ...]) -> None:
    """INT that is reflected, and ECN beside it."""
    rows = observed("int", Taps(leaves=leaves))
    marked = rows.with_columns(CAPABLE)
    one, both = counted("int", rows), counted("int", marked)
    assert both["decisions"].sum() > 1.9 * one["decisions"].sum()
    for name in ("acks", "acked_bytes"):
        assert one[name].to_list() == both[name].to_list()


def test_acks_that_wait_when_telemetry_begins_are_counted() -> None:
    """They passed the tap before INT did, and are heard behind it."""
    rows = observed("int", Taps(leaves=("leaf1",)))
    marked = rows.with_columns(CAPABLE)
    begins = int(marked["time_ns"].min() or 0) + 3 * MS
    stacks = [name for name in marked.columns if name.startswith(("h0_", "h1_", "h2_", "h3_"))]
    bare = pl.col("time_ns") < begins
    midway = marked.with_columns(
        pl.when(bare)
        .then(0)
        .otherwise("hop_count")
        .cast(marked.schema["hop_count"])
        .alias("hop_count"),
        pl.when(bare).then(pl.lit(value=False)).otherwise("int_reflected").alias("int_reflected"),
        *(pl.when(~bare).then(name).alias(name) for name in stacks),
    )
    whole, found = counted("int", marked), counted("int", midway)
    assert found["acks"].to_list() == whole["acks"].to_list()
