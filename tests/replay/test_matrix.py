"""The proving ground: parts are cast by seeds, taps fail as told, figures are what they say."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings
from replay import Run, frames_of, scenario, simulate, truth_of
from replay.campaign import (
    FIRST_SCORED,
    KINDS,
    SCENARIOS,
    SCORED_ONLY,
    SETTINGS,
    Plan,
    plays,
)
from replay.cast import cast
from replay.ceiling import ceiling
from replay.emit import sightings
from replay.matrix import small
from replay.pace import slower
from replay.taps import Choice, Taps
from replay.trial import Trial, judged
from replay.wiring import interfaces, leaf_of
from replay.world import MS, Telemetry, World

KEPT = Path(__file__).with_name("matrix.txt")


def test_the_small_matrix_is_as_it_is_kept() -> None:
    """After a change that is meant: python benchmarks/bench_verdicts.py --small > this file."""
    assert small() + "\n" == KEPT.read_text()


def test_a_third_of_the_scenarios_is_about_the_inside_of_the_fabric() -> None:
    speeds, inside = set(), 0
    for made in SCENARIOS.values():
        world = made(KINDS, 2 * MS)
        speeds |= {world.host_bps, world.link_bps, *world.nic_bps.values()}
        inside += made.__module__.endswith(("core", "clos"))
    assert len(SCENARIOS) >= 12
    assert not SCORED_ONLY.keys() & SCENARIOS.keys()
    assert 3 * inside >= len(SCENARIOS)
    assert len(speeds) >= 2


def test_scored_scenarios_are_played_as_they_say() -> None:
    """With a seed of development, by the truth alone: verdicts on them are for `make bench`."""
    full = {}
    for name, made in SCORED_ONLY.items():
        truth = truth_of(simulate(cast(made(KINDS, 4 * MS), FIRST_SCORED - 1), SETTINGS), MS)
        hot = truth.verdicts.filter("congested", "scored")
        full[name] = set(hot["kind"].value_counts().filter(pl.col("count") > 2)["kind"])
    assert full == {
        "two ways up": {"uplink"},
        "bursts on the way up": {"uplink"},
        "late elephant": {"downlink"},
        "faster fabric": {"uplink", "incast"},
        "inside a rack": {"incast"},
        "up in a pod": {"uplink"},
        "there and back": {"uplink"},
        "many on one way": {"downlink"},
        "incast and core": {"incast", "core"},
    }


def test_a_world_is_played_once_for_all_plans() -> None:
    clear, lossy = Plan("clear"), Plan("lossy", taps=Taps(loss=0.5), casts=(KINDS,))
    made = plays([(clear, ["incast", "calm"], [1, 2]), (lossy, ["calm"], [2])])
    assert len(made) == 2 * 2 * len(clear.casts)
    (both,) = [each for each in made if len(each.plans) > 1]
    assert (both.scenario, both.seed, both.kinds) == ("calm", 2, KINDS)


def test_a_slower_world_has_its_bottlenecks_where_it_had_them() -> None:
    """100 ms of 1 Gb/s hold as many packets of 4,000 bytes as 2.5 ms of 10 Gb/s hold of 1,000."""
    world = cast(SCENARIOS["two in a row"](KINDS, 100 * MS), 3)
    kinds = []
    for played, interval_ns in ((world, MS), (slower(world, 10), 50 * MS)):
        cut = replace(played, duration_ns=2 * interval_ns)
        found = truth_of(simulate(cut, SETTINGS), interval_ns)
        roles = found.verdicts.join(found.flows.select("script", "role"), on="script")
        kinds.append(dict(roles.sort("time_ns").select("role", "kind").iter_rows()))
    assert kinds[0] == kinds[1] == {"up": "uplink", "both": "incast", "last": "incast"}


def test_a_seed_casts_the_same_play_elsewhere() -> None:
    world = SCENARIOS["two in a row"](KINDS, 2 * MS)
    one, same, other = cast(world, 1), cast(world, 1), cast(world, 2)
    assert one == same
    assert one.flows != other.flows

    def shape(played: World) -> list[tuple[str, int]]:
        ends = [flow.dst for flow in played.flows]
        return [(flow.role, ends.count(flow.dst)) for flow in played.flows]

    assert shape(one) == shape(world) == shape(other)
    (slow,) = one.nic_bps
    assert {flow.dst for flow in one.flows if flow.role == "last"} == {slow}


def test_a_rogue_port_keeps_its_part() -> None:
    world = SCENARIOS["uplink hot spot"](KINDS, 2 * MS)
    rogues = {"leaf1:Ethernet7": "pass_through", "spine1:Ethernet2": "pass_through"}
    played = cast(type(world)(world.flows, world.duration_ns, spines=4, rogues=rogues), 5)
    hot = next(flow for flow in played.flows if flow.role == "hot")
    leaf, _, _ = hot.src.partition("-")
    spine, target = hot.phases[0].spine, hot.dst.partition("-")[0].removeprefix("leaf")
    assert set(played.rogues) == {f"{leaf}:Ethernet{6 + spine}", f"spine{spine}:Ethernet{target}"}


@pytest.fixture(scope="module")
def run(settings: CollectorSettings) -> Run:
    return simulate(scenario.demo(duration_ns=2 * MS), settings)


def test_sampling_and_loss_keep_their_shares(run: Run, settings: CollectorSettings) -> None:
    whole = len(frames_of(run, settings))
    for taps, share in ((Taps(one_in=10), 0.1), (Taps(loss=0.25), 0.75)):
        kept = len(frames_of(run, settings, taps=taps))
        assert kept / whole == pytest.approx(share, rel=0.1)
        assert kept == len(frames_of(run, settings, taps=taps))


def test_a_packet_sampled_at_all_taps_is_seen_twice(run: Run) -> None:
    cases: tuple[tuple[Choice, float, float], ...] = (("packet", 0.95, 1.0), ("each", 0.0, 0.2))
    for choice, least, most in cases:
        seen = sightings(run, Taps(one_in=10, choice=choice)).rows
        _, count = np.unique(seen, return_counts=True)
        assert least <= (count == 2).mean() <= most


def test_one_leaf_mirrors_alone(run: Run, settings: CollectorSettings) -> None:
    frames = frames_of(run, settings, taps=Taps(leaves=("leaf3",)))
    assert len(frames)
    assert {leaf_of(run.world, int(host)) for host in np.unique(frames.interface)} == {2}


def test_skewed_clocks_are_off_by_tap(run: Run, settings: CollectorSettings) -> None:
    right, skewed = (frames_of(run, settings, taps=Taps(skew_ns=ns)) for ns in (0, 10_000))
    offsets = set()
    for tap in np.unique(right.interface):
        pair = [frames.time_ns[frames.interface == tap] for frames in (right, skewed)]
        (offset,) = np.unique(pair[1] - pair[0])
        offsets.add(int(offset))
    assert len(offsets) > 1
    assert max(map(abs, offsets)) <= 10_000
    assert (np.diff(skewed.time_ns) >= 0).all()


@pytest.mark.parametrize(("kind", "share"), [("ecn", 0.25), ("csig_expanded", 1.0)])
def test_nobody_knows_a_spine_that_nothing_names(
    settings: CollectorSettings, kind: Telemetry, share: float
) -> None:
    made = simulate(cast(SCENARIOS["uplink hot spot"]((kind,), 2 * MS), 3), settings)
    best = ceiling(made, Taps())
    spine = made.world.flows[0].phases[0].spine
    hot = best.filter(pl.col("device") == f"spine{spine}")
    assert hot["ceiling"].to_list() == [share] * 4
    hosts = best.filter(pl.col("device") == "leaf1", pl.col("interface") == "Ethernet1")
    assert hosts["ceiling"].item() == 1.0


def test_naming_one_of_four_that_nobody_can_tell_apart_is_worth_a_quarter() -> None:
    """Marks alone: which spine is hot, no observer knows; over all casts one in four is right."""
    made = cast(SCENARIOS["uplink hot spot"](("ecn",), 3 * MS), 3)
    found = judged(Trial(made), SETTINGS).filter("scored", "congested")
    assert found["ceiling"].unique().to_list() == [0.25]
    assert set(found["right"]) <= {0.0, 0.25}


def test_a_clos_has_its_bottlenecks_where_its_scripts_say() -> None:
    for name, kind in (("core link", "core"), ("between pods", "downlink")):
        made = simulate(cast(SCENARIOS[name](("csig_expanded",), 3 * MS), 4), SETTINGS)
        truth = truth_of(made, MS)
        roles = truth.verdicts.join(truth.flows.select("script", "role"), on="script")
        hot = roles.filter(pl.col("role").is_in(["hot", "far"]), pl.col("scored"))
        assert set(hot["kind"]) == {kind}
        assert truth.hops["hop_index"].max() == 4
        assert hot.filter(pl.col("observations") < 20).is_empty()


def test_a_way_through_a_clos_is_one_of_its_topology() -> None:
    """Every path of a run leads from port to peer, and both directions by the same switches."""
    made = simulate(cast(SCENARIOS["incast from afar"](KINDS, MS), 7), SETTINGS)
    ports = made.interfaces
    by_peer = {(port.device, port.name): port for port in ports}
    for path in made.paths[made.paths["hops"] > 0]:
        there, back = ([ports[row] for row in way[: path["hops"]]] for way in path["port"])
        for port, following in pairwise(there):
            assert port.peer_device == following.device
            assert by_peer[port.peer_device, port.peer_interface].peer_device == port.device
        assert [port.device for port in there] == [port.device for port in reversed(back)]


def test_locators_of_places_are_shared() -> None:
    made = replace(SCENARIOS["core link"](KINDS, MS), locators="place")
    shared = {(port.stage, port.orientation, port.capacity_bps, port.csig_lm_compact)
              for port in interfaces(made)}  # fmt: skip
    assert sorted(lm for *_, lm in shared if lm is not None) == [1, 2, 3, 4, 5]
