"""Loads out of what hops tell without counters, worked by hand."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from collector import LAYERS
from pipeline import Interface, PipelineSettings, Topology, Tracker, Worker
from pipeline.reporter import seen_by_reporters
from pipeline.standing import Standing
from pipeline.told_samples import samples_of_told

MS = 1_000_000
T_NS = 30_000
STANDING = Standing(10_000.0)
LEAF = Interface(
    device="leaf1", name="Ethernet1", node_id=1, port_id=7, capacity_bps=10**10,
    stage="tor", orientation="up", peer_device="", peer_interface="", base_delay_ns=500,
)  # fmt: skip
KNOWN = Topology(version="a", valid_from_ns=0, base_rtt_ns=T_NS, interfaces=(LEAF,), hosts=())
HOP: dict[str, Any] = {"hop_count": 1, "h0_node": 1, "h0_port": 7}
CASES: dict[str, tuple[dict[str, Any], str, float, int | None]] = {
    "queue and utilisation": ({"h0_qlen_bytes": 18_750, "h0_utilization": 0.9}, "int", 1.4, 18_750),
    "queue alone": ({"h0_qlen_bytes": 18_750}, "int_bound", 0.5, 18_750),
    "utilisation alone": ({"h0_utilization": 0.9}, "int_bound", 0.9, None),
    "latency less the port's own": ({"h0_latency_ns": 15_500}, "int_bound", 0.5, None),
    "latency below the port's own": ({"h0_latency_ns": 300}, "int_bound", 0.0, None),
}


@pytest.mark.parametrize("name", CASES)
def test_a_hop_without_counters(
    name: str, observed: Callable[[list[dict[str, Any]]], pl.DataFrame]
) -> None:
    told, source, u, queue = CASES[name]
    rows = observed([{**HOP, **told, "h0_b_bps": 10**10}])
    loads = Tracker().advance(rows).hop_loads
    (made,) = [*samples_of_told(loads, KNOWN, T_NS, STANDING)]
    (sample,) = made.to_dicts()
    assert (sample["source"], sample["u_n"], sample["queue_bytes"]) == (
        source, round(u * 1e9), queue,
    )  # fmt: skip
    assert sample["standing"] == (u in (1.4, 0.5))


def test_of_a_latency_the_queues_part_is_told(
    observed: Callable[[list[dict[str, Any]]], pl.DataFrame],
) -> None:
    told = {"h0_latency_ns": 15_500, "h0_utilization": 0.9, "h0_b_bps": 10**10}
    loads = Tracker().advance(observed([{**HOP, **told}])).hop_loads
    (made,) = [*samples_of_told(loads, KNOWN, T_NS, STANDING)]
    assert made.select("source", "u_n", "queue_n").row(0) == ("int", 1_400_000_000, 500_000_000)


def test_counted_hops_and_silent_ones_give_nothing(
    observed: Callable[[list[dict[str, Any]]], pl.DataFrame],
) -> None:
    counted = {**HOP, "h0_qlen_bytes": 1, "h0_tx_bytes": 5, "h0_ts_ns": 7}
    loads = Tracker().advance(observed([counted])).hop_loads
    assert [*samples_of_told(loads, KNOWN, T_NS, STANDING)] == []
    loads = Tracker().advance(observed([HOP])).hop_loads
    assert [each.height for each in samples_of_told(loads, None, T_NS, STANDING)] == [0]


def test_a_topology_tells_the_capacity_that_the_hop_does_not(
    observed: Callable[[list[dict[str, Any]]], pl.DataFrame],
) -> None:
    rows = observed([{**HOP, "h0_qlen_bytes": 18_750, "time_ns": at} for at in range(3)])
    worker = Worker(PipelineSettings(interval_ms=1), KNOWN)
    worker.advance(rows)
    (hop,) = worker.finish().tables["hop_intervals"].to_dicts()
    assert (hop["source"], hop["samples"], hop["u_sum_n"]) == ("int_bound", 3, 3 * 500_000_000)


def test_reports_are_seen_by_their_reporters(
    observed: Callable[[list[dict[str, Any]]], pl.DataFrame],
) -> None:
    """One packet, mirrored once and reported by two switches: three sights of one, no copy."""
    rows = observed([
        {"ip_id": 9},
        {"ip_id": 9, "report_node": 1, "time_ns": 10, **HOP},
        {"ip_id": 9, "report_node": 2, "time_ns": 20, **HOP, "h0_node": 2},
    ])  # fmt: skip
    assert seen_by_reporters(rows)["point"].to_list() == ["leaf1:Ethernet1", "node 1", "node 2"]
    assert seen_by_reporters(rows[:1])["point"].to_list() == ["leaf1:Ethernet1"]
    worker = Worker(PipelineSettings(interval_ms=1), KNOWN)
    worker.advance(rows)
    told = worker.finish().tables["flow_intervals"]
    assert worker.counters["copies"] == 0
    assert told["data_frames"].to_list() == [1, 1, 1]


def test_ifa_counts_bytes_modulo_its_32_bits(
    observed: Callable[[list[dict[str, Any]]], pl.DataFrame],
) -> None:
    ifa = {**HOP, "layers": 1 << LAYERS.index("ifa"), "h0_qlen_bytes": 0, "h0_b_bps": 10**10}
    rows = observed([
        {**ifa, "h0_tx_bytes": 2**32 - 1_000, "h0_ts_ns": 1_000},
        {**ifa, "h0_tx_bytes": 250, "h0_ts_ns": 2_000, "time_ns": 1_000, "seq": 1_000},
    ])  # fmt: skip
    tracker = Tracker({"T_ns": T_NS, "B_nic_bps": 10**10})
    assert tracker.advance(rows).hop_loads["u0"].to_list() == [None, pytest.approx(1.0)]
