"""Companions on the fabric's own frames: U of every load at a bottleneck beside measured INT's."""

from typing import Any

import polars as pl
import pytest

from collector import CollectorSettings, Decoder
from pipeline import Tracker
from pipeline.placed import with_ports
from replay import Run, Truth, frames_of, points, topology

BOTTLENECK = "leaf3:Ethernet1"
SETTLED_NS = 5_000_000
ASKED: dict[str, dict[str, Any]] = {"hpcc_aecn": {}, "hpcc_csig": {}, "dre": {"T_dre_ns": 32_000}}


@pytest.fixture(scope="module")
def settled(demo: Run, settings: CollectorSettings) -> dict[str, pl.DataFrame]:
    """What is decided of the incast at its receiver's port, the first milliseconds left out."""
    world = demo.world
    rows = Decoder(settings).decode(frames_of(demo, settings), points(world), "fabric")
    rows = rows.sort("time_ns", pl.col("payload_bytes") > 0, "frame").with_columns(
        base_rtt_ns=pl.lit(world.base_rtt_ns, pl.Int64),
        src_nic_bps=pl.lit(world.host_bps, pl.Int64),
        dst_nic_bps=pl.lit(world.host_bps, pl.Int64),
    )
    tracker = Tracker(world.hpcc, world.dctcp, companions=ASKED)
    tracked = tracker.advance(with_ports(rows, topology(world)))
    int_ = tracked.decisions.filter(pl.col("algorithm") == "hpcc")
    later = pl.col("time_ns") > world.start_ns + SETTLED_NS
    here = (pl.col("point") == BOTTLENECK) & later
    made = {**tracked.companions, "int": int_}
    return {name: frame.filter(here) for name, frame in made.items()}


def truth(demo_truth: Truth) -> float:
    """The exact mean load of the bottleneck."""
    port = demo_truth.hops.filter(
        (pl.col("device") == "leaf3") & (pl.col("interface") == "Ethernet1")
    )
    return float(port.filter(pl.col("time_ns") > port["time_ns"].min())["u_mean"].mean())


def mean(frame: pl.DataFrame, column: str = "U") -> float:
    value = frame[column].mean()
    assert isinstance(value, float)
    return value


def test_u_of_an_inflight_ratio_is_near_that_of_measured_int(
    settled: dict[str, pl.DataFrame], demo_truth: Truth
) -> None:
    measured, aecn = mean(settled["int"]), mean(settled["hpcc_aecn"])
    assert settled["hpcc_aecn"].height > 1000
    assert measured > 1.5
    # The router takes no lesser of two queues, so it is a little above; counters of the port agree.
    assert 1.0 < aecn / measured < 1.15
    assert abs(aecn / truth(demo_truth) - 1) < 0.1


def test_bounds_of_csig_hold_the_bottleneck_between_them(
    settled: dict[str, pl.DataFrame], demo_truth: Truth
) -> None:
    csig = settled["hpcc_csig"]
    assert 0.9 < mean(csig) < truth(demo_truth) < mean(csig, "u_upper") < 1.3 * truth(demo_truth)
    placed = csig.filter(pl.col("port").is_not_null())
    assert placed.height > 1000
    assert placed.select("node", "port").unique().row(0) == (3, 1)
    assert placed.select("node", "port").n_unique() == 1


def test_the_rates_of_the_flows_at_a_port_are_together_its_line_rate(
    settled: dict[str, pl.DataFrame],
) -> None:
    rates = settled["dre"].group_by("flow").agg(pl.col("rate_bps").mean())["rate_bps"]
    assert rates.len() == 8
    assert rates.sum() == pytest.approx(10e9, rel=0.05)
