"""Classes of service, Swift by CSIG, and taps above the leaves."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings, Decoder
from replay import FlowScript, Phase, Run, World, frames_of, points, scenario, simulate, truth_of
from replay.state import DATA
from replay.taps import Taps
from replay.world import GBPS, MS


def two(queues: str, settings: CollectorSettings, offered: int | None = None) -> Run:
    """Two urgent and two other flows meet at leaf1-h1."""
    flows = tuple(
        FlowScript(
            "urgent" if row < 2 else "other",
            "csig_expanded",
            f"leaf{2 + row % 3}-h{1 + row // 3}",
            "leaf1-h1",
            (Phase(0, offered if row < 2 else None),),
            urgent=row < 2,
        )
        for row in range(4)
    )
    return simulate(World(flows, 6 * MS, queues=queues, payload_bytes=1000), settings)  # type: ignore[arg-type]


def arrived(run: Run) -> tuple[float, float]:
    """Bytes of data that came in at the receivers in the last 3 ms, of urgent and other flows."""
    data = run.packets[(run.packets["kind"] == DATA) & (run.packets["last_ns"] > 3 * MS)]
    urgent = run.flows["urgent"][data["flow"]] == 1
    return float(data["size"][urgent].sum()), float(data["size"][~urgent].sum())


def waited(run: Run) -> tuple[float, float]:
    """Mean time between the ends, ns, of urgent and other data."""
    data = run.packets[(run.packets["kind"] == DATA) & (run.packets["last_ns"] > 3 * MS)]
    urgent = run.flows["urgent"][data["flow"]] == 1
    took = data["last_ns"] - data["first_ns"]
    return float(took[urgent].mean()), float(took[~urgent].mean())


def test_strict_priority_gives_the_others_what_is_left(settings: CollectorSettings) -> None:
    run = two("strict", settings, 3 * GBPS)
    urgent, other = arrived(run)
    assert urgent * 8 / 3e-3 == pytest.approx(6 * GBPS, rel=0.1)
    assert (urgent + other) * 8 / 3e-3 > 9.5 * GBPS
    first, last = waited(run)
    assert first < last - 20_000


def test_weighted_turns_share_three_to_one(settings: CollectorSettings) -> None:
    urgent, other = arrived(two("dwrr", settings))
    assert urgent / other == pytest.approx(3, rel=0.1)


def test_one_queue_knows_no_classes(settings: CollectorSettings) -> None:
    run = two("one", settings)
    urgent, other = arrived(run)
    assert urgent / other == pytest.approx(1, rel=0.35)
    assert run.ports["class_bytes"][:, 1].max() == 0
    rows = Decoder(settings).decode(frames_of(run, settings), points(run.world), "fabric")
    assert set(rows["dscp"].unique()) == {0, 46}


def test_queues_of_classes_come_to_the_port_s(settings: CollectorSettings) -> None:
    for queues in ("strict", "dwrr"):
        ports = two(queues, settings).ports
        assert (ports["class_bytes"].sum(axis=1) == ports["queue_bytes"]).all()
        assert ports["queue_bytes"].max() > 0


@pytest.mark.parametrize("variant", ["csig_compact", "csig_expanded"])
def test_swift_holds_a_queue_below_its_target(settings: CollectorSettings, variant: str) -> None:
    world = scenario.alone(variant, senders=4, duration_ns=8 * MS)  # type: ignore[arg-type]
    calm = replace(world, flows=tuple(replace(flow, swift=True) for flow in world.flows))
    run = simulate(calm, settings)
    row = next(at for at, port in enumerate(run.interfaces) if port.peer_device == "leaf1-h1")
    late = run.counters[:, 4:, row]
    assert late[2].sum() * 8 / 4e-3 > 9 * GBPS
    assert 0 < late[0].mean() / MS < 60_000
    assert run.packets["ce"].max() == 0
    decided = truth_of(run, MS).decisions
    assert set(decided["algorithm"]) == {"swift"}
    assert {"decrease", "increase"} <= {name.removesuffix("_capped") for name in decided["branch"]}
    assert decided["alpha"].null_count() == decided.height


def test_a_tap_above_a_leaf_has_seen_one_hop(settings: CollectorSettings) -> None:
    run = simulate(scenario.demo(duration_ns=2 * MS), settings)
    frames = frames_of(run, settings, taps=Taps(where="uplinks"))
    rows = Decoder(settings).decode(frames, points(run.world), "fabric")
    assert rows.height == (run.packets["up_ns"] > 0).sum()
    assert set(rows["point"].str.split(":").list.last()) <= {"Ethernet7", "Ethernet8"}
    data = rows.filter(pl.col("payload_bytes") > 0)
    assert set(data["hop_count"].drop_nulls()) == {0, 1}
    stacks = data.filter(pl.col("hop_count") == 1)
    named = stacks.select(pl.format("leaf{}:Ethernet{}", "h0_node", "h0_port"))
    assert (named.to_series() == stacks["point"]).all()
    own = {port.csig_lm for port in run.interfaces if port.orientation == "up"}
    assert set(data["csig_lm"].drop_nulls()) <= {*own, *range(128)}
    whole = frames_of(run, settings, taps=Taps(where="both"))
    assert len(whole) == len(frames) + len(frames_of(run, settings))
    assert (np.diff(whole.time_ns) >= 0).all()


def test_urgent_int_tells_its_class_in_its_shim(settings: CollectorSettings) -> None:
    flows = tuple(
        FlowScript("hot", "int", f"leaf1-h{host}", f"leaf2-h{host}", (Phase(0),), urgent=host == 1)
        for host in (1, 2)
    )
    run = simulate(World(flows, MS, queues="strict"), settings)
    rows = Decoder(settings).decode(frames_of(run, settings), points(run.world), "fabric")
    data = rows.filter(pl.col("hop_count") > 0, pl.col("payload_bytes") > 0)
    urgent = run.flows["urgent"].tolist()
    assert sorted(urgent) == [0, 1]
    assert set(data["dscp"]) == {0, 46}
