"""Which hop each kind of telemetry points at."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from pipeline import Topology
from pipeline.hop_samples import UNPLACED
from pipeline.in_sight import met
from pipeline.locate import inband, loads
from pipeline.reserved import LOCATOR, PLACE, UNTOLD
from pipeline.tables import TABLES
from pipeline.tags import QUEUEING, SECOND_BEST, by_signal, congestion_signals, heard
from pipeline.ways import paths, ways

Rows = Iterable[Mapping[str, Any]]
RowsOf = Callable[[str, Rows], pl.DataFrame]


def hop(
    u: float, samples: int = 10, source: str = "int", point: str = "p", **more: Any
) -> dict[str, Any]:
    """A row of hop_intervals of flow 1 in the first interval."""
    row = {
        "time_ns": 0, "interval_ns": 100, "flow": 1, "point": point, "node": 1, "port": 1,
        "hop_index": 0 if source == "int" else UNPLACED, "source": source, "samples": samples,
        "u_sum_n": round(u * samples * 1e9), "u_max_n": round(u * 1e9), "standing": 0,
    }  # fmt: skip
    return row | more


def test_int_is_heard_where_most_of_the_path_was_seen(rows_of: RowsOf) -> None:
    rows = [
        hop(0.5, 1000, point="near"),
        hop(0.75, 10, point="far"),
        hop(1.5, 10, point="far", port=2, hop_index=1),
        hop(0.6, 9, point="other"),
        hop(1.6, 9, point="other", port=2, hop_index=1),
    ]
    found = inband(rows_of("hop_intervals", rows))
    assert found.select("port", "u_mean", "samples").rows() == [(1, 0.75, 10), (2, 1.5, 10)]
    assert found["probability"].to_list() == pytest.approx([0.0, 1.0], abs=1e-9)
    assert found["probability"].sum() == pytest.approx(1.0)


def test_a_hop_has_one_load_for_all_flows_that_measured_it(rows_of: RowsOf) -> None:
    rows = [hop(1.0, 30), hop(2.0, 10, flow=2), hop(1.0, 30, node=PLACE),
            hop(2.0, 10, flow=2, node=PLACE)]  # fmt: skip
    found = inband(rows_of("hop_intervals", rows))
    assert found.filter(node=1)["u_mean"].to_list() == pytest.approx([1.25, 1.25])
    assert found.filter(node=PLACE)["u_mean"].to_list() == pytest.approx([1.0, 2.0])


def test_a_queue_is_that_of_rows_that_tell_one(rows_of: RowsOf) -> None:
    """What no hop told is not an empty queue, and takes nothing from what others told."""
    rows = [hop(1.0, 30), hop(1.0, 10, flow=2, queue_sum_bytes=5000),
            hop(1.0, 30, flow=2, hop_index=1)]  # fmt: skip
    found = inband(rows_of("hop_intervals", rows))
    assert dict(found.select("flow", "queue_mean_bytes").rows()) == {1: None, 2: 500.0}


def test_a_port_is_as_full_as_the_fullest_of_its_classes(rows_of: RowsOf) -> None:
    """Packets of a class tell of its own queue; few packets tell nothing."""
    rows = [
        hop(1.8, 30, standing=15), hop(0.4, 90, flow=2), hop(2.5, 5, flow=3, standing=5),
        hop(1.8, 30, node=2, standing=15), hop(0.4, 90, flow=3, node=2),
    ]  # fmt: skip
    classes = {1: 0, 2: 46, 3: 0}
    sent = pl.DataFrame(
        {"time_ns": 0, "flow": flow, "bytes": 1000, "data_frames": 1, "dscp": dscp}
        for flow, dscp in classes.items()
    ).with_columns(pl.col("flow").cast(pl.UInt64), pl.col("time_ns").cast(pl.Int64))
    found = inband(rows_of("hop_intervals", rows), sent).unique("node").sort("node")
    # Of flows 1 and 3, which share a class, 35 packets tell together.
    assert found["u_mean"].to_list() == pytest.approx([(54 + 12.5) / 35, (54 + 36) / 120])
    assert found["standing_share"].to_list() == pytest.approx([20 / 35, 15 / 120])


def test_equal_loads_are_equally_likely_hops(rows_of: RowsOf) -> None:
    rows = [hop(1.2, port=port, hop_index=port - 1) for port in (1, 2, 3)]
    found = inband(rows_of("hop_intervals", rows))
    assert found["probability"].to_list() == pytest.approx([1 / 3] * 3)
    assert found["hop_index"].to_list() == [0, 1, 2]


def tags_of(hops: pl.DataFrame) -> pl.DataFrame:
    """Tags that are heard where no topology says where points stand."""
    return heard(hops, met(hops, paths(TABLES["flows"].blank, None), None))


def test_partial_rows_of_a_hop_are_summed(rows_of: RowsOf) -> None:
    rows = [hop(1.0, 10, queue_sum_bytes=50), hop(2.0, 30, hop_index=1, queue_sum_bytes=350)]
    found = inband(rows_of("hop_intervals", rows)).row(0, named=True)
    assert (found["u_mean"], found["u_max"], found["queue_mean_bytes"]) == (1.75, 2.0, 10.0)
    assert (found["samples"], found["hop_index"]) == (40, 0)


def test_a_tag_near_its_sender_loses_to_its_reflection(rows_of: RowsOf) -> None:
    rows = [
        hop(0.0, 500, "csig_delay", "edge", node=LOCATOR, port=UNTOLD),
        hop(1.5, 100, "csig_echo_delay", "edge", port=7),
    ]
    found = congestion_signals(tags_of(rows_of("hop_intervals", rows)))
    assert found.select("port", "u_mean", "samples").rows() == [(7, 1.5, 100)]
    beyond = [*rows, hop(1.3, 300, "csig_delay", "beyond", port=8)]
    assert congestion_signals(tags_of(rows_of("hop_intervals", beyond)))["port"].to_list() == [8]


def test_a_hop_that_both_signals_name_gets_both_terms(rows_of: RowsOf) -> None:
    rows = [
        hop(0.9, 30, "csig_utilization", port=1),
        hop(0.9, 10, "csig_utilization", port=2),
        hop(0.9, 500, "csig_abw", port=3),
        hop(1.0, 20, "csig_delay", port=1),
        hop(0.0, 20, "csig_delay", node=LOCATOR, port=UNTOLD),
    ]
    found = congestion_signals(tags_of(rows_of("hop_intervals", rows))).sort("port")
    # 30 of 40 ratios and 20 of 40 delays speak of port 1; the ratio makes ABW superfluous.
    assert found["port"].to_list() == [1, 2]
    queue = 1.0 * 20 / 40 * (1 + SECOND_BEST)
    tie = 0.9 * (1 - 30 / 40) * queue / (queue + QUEUEING)
    assert found["u_mean"].to_list() == pytest.approx([0.9 * 30 / 40 + queue + tie, 0.9 * 10 / 40])


def test_the_mean_queue_of_tags_is_made_as_their_mean_load_is(rows_of: RowsOf) -> None:
    """Tags that tell of a shorter queue, or of none, count: the longest one is not the mean."""
    queue = {"queue_sum_bytes": 20 * 30_000, "queue_max_bytes": 90_000}
    rows = [
        hop(1.0, 20, "csig_delay", port=1, **queue),
        hop(0.0, 20, "csig_delay", node=LOCATOR, port=UNTOLD),
        hop(0.5, 10, "csig_delay", flow=2, port=1, queue_sum_bytes=10 * 15_000),
        hop(0.9, 40, "csig_utilization", flow=3, port=2),
    ]
    found = congestion_signals(tags_of(rows_of("hop_intervals", rows))).sort("flow", "port")
    first, second, rate = found.select("u_mean", "queue_mean_bytes").rows()
    assert first == second
    assert first[1] == pytest.approx(30_000 * first[0])
    assert rate[1] is None


def test_a_later_hop_with_a_queue_ties_for_the_rate(rows_of: RowsOf) -> None:
    """Both hops are full; the rate's locator stays with the first one, which has the less queue."""
    rows = [
        hop(1.0, 40, "csig_utilization", port=1),
        hop(0.5, 10, "csig_delay", port=1),
        hop(1.0, 30, "csig_delay", port=2),
    ]
    found = congestion_signals(tags_of(rows_of("hop_intervals", rows))).sort("port")
    first, second = found["u_mean"]
    assert first == pytest.approx(1.0 + 0.5 * 10 / 40 * (1 + SECOND_BEST))
    assert second == pytest.approx(1.0 + 0.75 * (1 + SECOND_BEST / 3), abs=0.05)


def test_each_signal_ranks_hops_of_its_own(rows_of: RowsOf) -> None:
    rows = [
        hop(0.9, 30, "csig_utilization", port=1),
        hop(0.9, 10, "csig_utilization", port=2),
        hop(0.7, 50, "csig_abw", port=3),
        hop(2.0, 15, "csig_delay", port=4),
        hop(0.0, 5, "csig_delay", node=LOCATOR, port=UNTOLD),
    ]
    found = by_signal(tags_of(rows_of("hop_intervals", rows))).sort("port")
    assert found.select("signal", "port", "probability").rows() == [
        ("csig_utilization", 1, 0.75), ("csig_utilization", 2, 0.25),
        ("csig_abw", 3, 1.0), ("csig_delay", 4, 0.75),
    ]  # fmt: skip


def test_no_telemetry_points_nowhere(rows_of: RowsOf) -> None:
    empty = rows_of("hop_intervals", [])
    tags = tags_of(empty)
    for found in (inband(empty), congestion_signals(tags), by_signal(tags)):
        assert found.is_empty()
    assert loads(pl.concat([inband(empty), congestion_signals(tags)], how="diagonal")).is_empty()


def test_loads_prefer_what_was_measured(rows_of: RowsOf) -> None:
    tags = [
        hop(5.0, 10, "csig_delay", flow=3),
        hop(0.5, 10, "csig_delay", flow=3, port=9, standing=5),
        hop(0.8, 30, "csig_delay", flow=4, port=9),
    ]
    direct = pl.concat(
        [
            inband(rows_of("hop_intervals", [hop(1.0, 10), hop(2.0, 30, flow=2)])),
            congestion_signals(tags_of(rows_of("hop_intervals", tags))),
        ],
        how="diagonal_relaxed",
    )
    found = loads(direct).sort("port")
    assert found.select("port", "load", "measured").rows()[0] == (1, 1.75, True)
    # Flow 3 names port 9 in half of its samples, flow 4 in all and thrice as many.
    here = 0.5 / 2 * (1 + SECOND_BEST)
    assert found.select("port", "load", "measured").rows()[1] == (
        9, pytest.approx((here + 0.8 * 12) / 13), False
    )  # fmt: skip
    assert found["standing_share"].to_list() == [0.0, pytest.approx(0.25 / 13)]


def test_without_topology_or_host_no_way_is_known(
    flows_of: Callable[[Rows], pl.DataFrame], chain_of: Callable[..., Topology]
) -> None:
    made = chain_of("leaf1", "leaf2")
    assert ways(flows_of([{}]), None).is_empty()
    assert ways(flows_of([{"src": "192.0.2.1"}]), made).is_empty()
    assert ways(flows_of([{"src": "2001:db8::1", "dst": "2001:db8::2"}]), made).is_empty()
    assert ways(flows_of([{"src": "fd00:1::5"}]), made).height == 2
