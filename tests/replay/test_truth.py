"""The truth is what the script says, and its numbers are those of the counters."""

import polars as pl
import pytest

from collector import CollectorSettings
from replay import Run, Truth, scenario, simulate, truth_of
from replay.offered import limited_frame
from replay.state import AREA, SENT, STANDING
from replay.world import FlowScript, Phase, Telemetry, World

MS = 1_000_000
SCRIPT = {
    ("incast", 0): ("leaf3", "Ethernet1", "incast"),
    ("incast", 1): ("leaf3", "Ethernet1", "incast"),
    ("moving", 0): ("leaf1", "Ethernet7", "uplink"),
    ("moving", 1): ("spine2", "Ethernet4", "downlink"),
    ("staying", 0): ("leaf1", "Ethernet7", "uplink"),
    ("staying", 1): ("spine1", "Ethernet2", "sender_limited"),
    ("joining", 1): ("spine2", "Ethernet4", "downlink"),
}
"""Bottleneck by role and half of the demo."""


def by_half(truth: Truth, run: Run) -> pl.DataFrame:
    half = (pl.col("time_ns") - run.world.start_ns) // (run.world.duration_ns // 2)
    roles = truth.flows.select("script", "role", "telemetry")
    return truth.verdicts.join(roles, on="script").with_columns(half.alias("half"))


def test_the_demo_is_bottlenecked_where_its_script_says(demo: Run, demo_truth: Truth) -> None:
    verdicts = by_half(demo_truth, demo)
    for (role, half), (device, interface, kind) in SCRIPT.items():
        found = verdicts.filter((pl.col("role") == role) & (pl.col("half") == half))
        assert found.height == found["script"].n_unique() * 2
        assert found["telemetry"].n_unique() == 4
        assert set(found["device"] + " " + found["interface"]) == {f"{device} {interface}"}
        assert set(found["kind"]) == {kind}
        assert set(found["congested"]) == {kind != "sender_limited"}
    limited = verdicts.filter(pl.col("role") == "limited")
    assert set(limited["kind"]) == {"sender_limited"}


def test_the_demo_is_clear_cut(demo_truth: Truth) -> None:
    verdicts = demo_truth.verdicts
    assert verdicts["scored"].all()
    congested = verdicts.filter("congested")
    assert congested["u_mean"].min() > 1.5
    assert verdicts.filter(~pl.col("congested"))["u_mean"].max() < 0.9
    assert (verdicts["runner_up_u_mean"] < 0.75 * verdicts["u_mean"]).all()
    assert (congested["abw_hop"] == congested["hop_index"]).all()
    assert (congested["abw_share_hop"] == congested["hop_index"]).all()
    assert (congested["delay_hop"] == congested["hop_index"]).all()


def test_loads_are_the_counters(demo: Run, demo_truth: Truth) -> None:
    row = [(port.device, port.name) for port in demo.interfaces].index(("leaf3", "Ethernet1"))
    here = (pl.col("device") == "leaf3") & (pl.col("interface") == "Ethernet1")
    hops = demo_truth.hops.filter(here)
    one = hops.sort("time_ns").row(0, named=True)
    first = demo.counters[:, :5, row].sum(axis=1)
    queue, rate = first[AREA] / (5 * MS), first[SENT] * 8 / 5e-3
    assert one["queue_mean_bytes"] == pytest.approx(queue)
    assert one["u_mean"] == pytest.approx(8 * queue / (10e9 * 30e-6) + rate / 10e9)
    assert one["standing_share"] == pytest.approx(first[STANDING] / (5 * MS))
    assert one["abw_bps"] == pytest.approx(10e9 - rate)
    assert hops.group_by("time_ns").agg(pl.col("u_mean").n_unique())["u_mean"].max() == 1


def test_longer_intervals_are_means_of_shorter_ones(demo: Run, demo_truth: Truth) -> None:
    whole = truth_of(demo, 10 * MS).hops
    edge = (pl.col("time_ns") - demo.world.start_ns) // (10 * MS) * 10 * MS + demo.world.start_ns
    parts = demo_truth.hops.with_columns(edge.alias("time_ns"))
    means = parts.group_by("script", "time_ns", "hop_index").agg(pl.col("u_mean").mean())
    both = whole.join(means, on=["script", "time_ns", "hop_index"], suffix="_of_parts")
    assert both.height == whole.height
    assert (both["u_mean"] - both["u_mean_of_parts"]).abs().max() < 1e-9


def test_a_transition_inside_an_interval_is_not_scored(settings: CollectorSettings) -> None:
    run = simulate(scenario.demo(duration_ns=10 * MS), settings)
    verdicts = truth_of(run, 3 * MS).verdicts
    inside = (pl.col("time_ns") - run.world.start_ns) == 3 * MS
    assert verdicts["time_ns"].n_unique() == 3
    assert not verdicts.filter(inside)["scored"].any()
    assert verdicts.filter(~inside & (pl.col("observations") >= 20))["scored"].all()
    assert not verdicts.filter(pl.col("observations") < 20)["scored"].any()


def test_one_flow_at_a_slow_last_hop_is_an_elephant(settings: CollectorSettings) -> None:
    run = simulate(scenario.elephant(), settings)
    verdicts = truth_of(run, 5 * MS).verdicts
    assert set(verdicts["kind"]) == {"last_hop_elephant"}
    assert set(verdicts["interface"]) == {"Ethernet1"}


def test_a_healthy_hpcc_link_is_not_congested(settings: CollectorSettings) -> None:
    verdicts = truth_of(simulate(scenario.alone("int"), settings), 5 * MS).verdicts
    settled = verdicts.filter(pl.col("time_ns") > verdicts["time_ns"].min())
    assert set(settled["kind"]) == {"not_congested"}


def test_intervals_are_whole_bins(demo: Run) -> None:
    with pytest.raises(ValueError, match="multiple of 1000000"):
        truth_of(demo, 1_500_000)


def phased(*phases: Phase, telemetry: Telemetry = "csig_expanded") -> World:
    """Two flows from hosts of one leaf into one port of 10 Gb/s, in one script."""
    flows = tuple(
        FlowScript("two", telemetry, f"leaf2-h{host}", "leaf1-h1", phases, steady=False)
        for host in (1, 2)
    )
    return World(flows, duration_ns=3 * MS, payload_bytes=1_000)


@pytest.mark.parametrize(
    ("phases", "limited"),
    [
        # Half of the port for both: they send what they are given.
        ((Phase(0, 2_500_000_000),), True),
        # More than the port has: the network holds them back.
        ((Phase(0, 9_000_000_000),), False),
        # A burst, and nothing to send for most of the interval.
        ((Phase(0), *(Phase(at * MS // 10, 0) for at in (3,))), True),
        ((Phase(0), Phase(29 * MS // 10, 0)), False),
    ],
)
def test_a_sender_limits_itself_who_sends_all_that_it_is_given(
    settings: CollectorSettings, phases: tuple[Phase, ...], limited: bool
) -> None:
    found = limited_frame(simulate(phased(*phases), settings), 3 * MS)
    assert found["limited"].to_list() == [limited] * 2


def test_a_hop_at_eta_sets_the_pace_of_hpcc(settings: CollectorSettings) -> None:
    rates = {4_500_000_000: "not_congested", 4_000_000_000: "sender_limited"}
    for rate, kind in rates.items():
        world = phased(Phase(0, rate), telemetry="int")
        last = truth_of(simulate(world, settings), MS).verdicts.sort("time_ns").tail(2)
        assert (last["u_mean"].max() >= 0.95) == (kind == "not_congested")
        assert set(last["kind"]) == {kind}
