"""Packets are lost where a script says so, counted, and sent again; elsewhere nothing is lost."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from replay import Run, simulate, truth_of
from replay.campaign import KINDS, SCENARIOS, SETTINGS
from replay.cast import cast
from replay.state import DATA, DROPPED
from replay.trial import Trial, judged
from replay.world import MS

DURATION = 6 * MS


def played(name: str) -> Run:
    return simulate(cast(SCENARIOS[name](KINDS, DURATION), 3), SETTINGS)


@pytest.fixture(scope="module")
def broken() -> Run:
    return played("broken link")


def dropped(run: Run) -> dict[str, int]:
    """Packets that each port lost."""
    lost = run.counters[DROPPED].sum(axis=0)
    return {f"{port.device}:{port.name}": int(count)
            for port, count in zip(run.interfaces, lost, strict=True) if count}  # fmt: skip


def test_a_full_buffer_drops_what_it_does_not_hold_and_all_of_it_arrives_in_the_end() -> None:
    run = played("shallow buffers")
    (target,) = {flow.dst for flow in run.world.flows}
    facing = next(p for p in run.interfaces if p.peer_device == target)
    lost = dropped(run)
    assert set(lost) == {f"{facing.device}:{facing.name}"}
    told = truth_of(run, MS).hops.unique(["time_ns", "device", "interface"])
    assert told["dropped"].sum() == sum(lost.values()) > 10
    data = run.packets[(run.packets["kind"] == DATA) & (run.packets["last_ns"] > 0)]
    for row, flow in enumerate(run.flows):
        mine = data[data["flow"] == row]
        arrived = set(mine["seq"].tolist())
        assert arrived >= set(range(0, int(flow["rcv_nxt"]), run.world.payload_bytes))
        assert len(mine[mine["last_ns"] > DURATION - MS]) > 5, "it goes on"


def test_a_link_that_fails_loses_all_until_flows_are_routed_around_it(broken: Run) -> None:
    (port, at) = next(iter(broken.world.failures.items()))
    lost = dropped(broken)
    assert lost[port] > 10
    spine = next(p for p in broken.interfaces if f"{p.device}:{p.name}" == port)
    assert set(lost) <= {port, f"{spine.peer_device}:{spine.peer_interface}"}
    bins = np.flatnonzero(broken.counters[DROPPED].sum(axis=1))
    assert bins.min() * MS == at
    roles = np.array([broken.world.flows[number].role for number in broken.scripts])
    data = broken.packets[(broken.packets["kind"] == DATA) & (broken.packets["last_ns"] > 0)]
    moved = data[roles[data["flow"]] == "moved"]
    silent = (moved["last_ns"] > at + MS // 4) & (moved["last_ns"] < at + MS)
    assert not silent.any()
    assert len(moved[moved["last_ns"] > at + 3 * MS // 2]) > 200
    there = data[roles[data["flow"]] == "there"]
    assert len(there[(there["last_ns"] > at) & (there["last_ns"] < at + MS)]) > 200


def test_a_verdict_finds_the_way_that_is_full_after_the_failure(broken: Run) -> None:
    rows = judged(Trial(broken.world), SETTINGS, broken)
    after = rows.filter("scored", "congested", pl.col("time_ns") > broken.world.start_ns + 4 * MS)
    assert set(after["kind"]) == {"uplink"}
    exact = after.filter(pl.col("telemetry").is_in(["int", "csig_expanded"]))
    assert exact.height > 3
    assert exact["named"].mean() == 1.0


def test_nothing_is_lost_where_no_script_says_so() -> None:
    assert dropped(played("incast")) == {}


def test_a_failure_of_no_port_is_refused() -> None:
    world = replace(SCENARIOS["incast"](KINDS, MS), failures={"leaf9:Ethernet1": 0})
    with pytest.raises(ValueError, match="failures: the fabric has no port leaf9:Ethernet1"):
        simulate(world, SETTINGS)
