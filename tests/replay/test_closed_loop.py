"""A fabric rebuilt from frames and topology alone repeats what happened, and says how well."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings, Decoder, open_capture
from pipeline import Decider, Host, Interface, PipelineSettings, Topology, address_text
from replay import Run, World, frames_of, points, rebuild, scenario, simulate, topology
from replay.rebuild import link
from replay.rebuild.rebuilding import controlled
from replay.state import DATA
from replay.world import GBPS, FlowScript, Phase, Telemetry
from tests.pipeline.test_hpcc_frames import observed

SHARED = Path(__file__).resolve().parents[3] / "shared" / "oracles"
needs_shared = pytest.mark.skipif(
    not SHARED.exists(), reason="the full traces are not part of a clone"
)
SETTINGS = CollectorSettings(int_dscp=23)
QUEUE, SHARE = 0.25, 0.05
MS = 1_000_000


def star(rows: pl.DataFrame, rate_bps: int, host_bps: int, t_ns: int = 0) -> Topology:
    """One switch between the senders of rows and their receiver."""
    data = rows.filter(pl.col("payload_bytes") > 0)
    names = [
        address_text(row, end)
        for end in ("src", "dst")
        for row in data.select(f"{end}_hi", f"{end}_lo").unique().sort(f"{end}_lo").to_dicts()
    ]
    rates = [host_bps] * (len(names) - 1) + [rate_bps]
    ports = tuple(
        Interface("s1", f"p{at}", 1, at + 1, bps, "tor", "host", name, "")
        for at, (name, bps) in enumerate(zip(names, rates, strict=True))
    )
    hosts = tuple(
        Host(name, (f"{name}/32",), "s1", f"p{at}", bps)
        for at, (name, bps) in enumerate(zip(names, rates, strict=True))
    )
    return Topology("star", 0, t_ns, ports, hosts)


def closed(
    rows: pl.DataFrame, known: Topology | None, **parameters: dict[str, Any]
) -> tuple[rebuild.Rebuilt, rebuild.Outcome]:
    """What was rebuilt from rows, and its unchanged re-run."""
    decider = Decider(PipelineSettings(), known, parameters)
    decisions = decider.decide(rows).decisions
    seen = rebuild.sightings(*rebuild.from_one_point(rows, decisions))
    made = rebuild.rebuilt(seen, known, parameters, decider.paths.one_rtt_ns(known))
    return made, rebuild.measured(made.scene, rebuild.played(made.scene), made.seen.measure)


def decoded(path: Path) -> pl.DataFrame:
    with open_capture(path) as capture:
        decoder = Decoder(SETTINGS)
        parts = [decoder.decode(part, ["nic"], "capture") for part in capture.chunks()]
    rows = pl.concat(parts, how="diagonal_relaxed")
    return rows.sort("time_ns", pl.col("payload_bytes") > 0, "frame")


def hpcc(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Frames of a trace of the HPCC authors' simulator as rows, and its ACKs."""
    acks, sent, flows = (
        pl.read_parquet(SHARED / "hpcc" / f"{name}{part}.parquet")
        for part in ("", "_sent", "_flows")
    )
    rows = observed(acks, sent, flows.select("src_ip", "dst_ip", "sport", "dport"))
    rows = rows.with_columns(frame=pl.int_range(pl.len(), dtype=pl.UInt64), point=pl.lit("nic"))
    return rows.drop("truth"), acks


def assert_repeats(
    made: rebuild.Rebuilt, base: rebuild.Outcome, queue: np.ndarray[Any, Any], port: str
) -> None:
    """The bar: queue within a quarter, shares within a twentieth, the bottleneck exact."""
    assert made.scene.ports["name"][base.bottleneck] == port
    got = base.ports.filter(port=base.bottleneck).row(0, named=True)
    assert got["queue_mean_bytes"] == pytest.approx(queue.mean(), rel=QUEUE)
    assert got["queue_p99_bytes"] == pytest.approx(np.quantile(queue, 0.99), rel=QUEUE)
    seen = made.seen.flows.sort("flow")["share"].to_numpy()
    assert np.abs(base.flows.sort("flow")["share"].to_numpy() - seen).max() < SHARE
    trust = {each.name: each for each in rebuild.trust(made.scene, made.seen, base)}
    assert trust["bottleneck"].difference == 0
    assert abs(trust["queue_mean_bytes"].difference or 0) < QUEUE


@needs_shared
def test_dctcp_of_another_simulator_is_repeated() -> None:
    before, after = (
        decoded(SHARED / "dctcp" / f"a1_{at}.pcap.zst").filter(pl.col("payload_bytes") > 0)
        for at in ("swin", "switch")
    )
    on = ["flow", "seq", "ip_id"]
    both = before.join(after.select(*on, "time_ns"), on=on, suffix="_after")
    queue = (both["time_ns_after"] - both["time_ns"]).to_numpy() * GBPS / 8e9
    rows = decoded(SHARED / "dctcp" / "a1.pcap.zst")
    made, base = closed(rows, star(rows, GBPS, 10 * GBPS))
    assert_repeats(made, base, queue, "s1:p2")
    assert 20 * 1502 < made.scene.ports["mark_bytes"][base.bottleneck] < 21 * 1502
    unknown, again = closed(rows, None)
    assert unknown.scene.ports["name"][again.bottleneck].startswith("to ")
    assert again.ports["queue_mean_bytes"][0] == pytest.approx(queue.mean(), rel=QUEUE)


@needs_shared
@pytest.mark.parametrize(("name", "port"), [("a_2to1", "s1:p2"), ("b_incast16", "s1:p16")])
def test_hpcc_of_its_authors_is_repeated(name: str, port: str) -> None:
    rows, acks = hpcc(name)
    known = star(rows, 100 * GBPS, 100 * GBPS, 4160)
    made, base = closed(rows, known)
    assert_repeats(made, base, acks["h0_qlen_b"].to_numpy(), port)
    assert base.flows["fct_ns"].mean() == pytest.approx(made.seen.flows["fct_ns"].mean(), rel=0.05)


def witnessed(world: World) -> tuple[Run, pl.DataFrame]:
    """A world, and the frames at the ports of its hosts that are not receivers of data."""
    run = simulate(world, SETTINGS)
    rows = Decoder(SETTINGS).decode(frames_of(run, SETTINGS), points(world), "fabric")
    return run, rows.sort("time_ns", pl.col("payload_bytes") > 0, "frame")


def last_queue(run: Run) -> np.ndarray[Any, Any]:
    """What waited behind packets at the last port of their way."""
    data = run.packets[(run.packets["kind"] == DATA) & (run.packets["last_ns"] > 0)]
    last: np.ndarray[Any, Any] = data["qlen"][np.arange(len(data)), data["hop"] - 1]
    return last


@pytest.mark.parametrize("telemetry", ["int", "ecn"])
def test_a_world_of_our_own_is_repeated_from_its_frames(telemetry: Telemetry) -> None:
    world = replace(scenario.alone(telemetry, senders=4, duration_ns=6 * MS), payload_bytes=4000)
    run, rows = witnessed(world)
    made, base = closed(rows, topology(world), hpcc=dict(world.hpcc))
    port = made.scene.ports.filter(pl.col("name") == "leaf1:Ethernet1").height
    assert port == 1
    assert_repeats(made, base, last_queue(run) + 0.0, "leaf1:Ethernet1")
    if telemetry == "ecn":
        found = made.scene.ports["mark_bytes"][base.bottleneck]
        assert found == pytest.approx(world.mark_bytes, abs=1.5 * world.payload_bytes)


def test_what_an_application_offers_is_found() -> None:
    bursts = tuple(Phase(at * MS, rate) for at, rate in ((0, None), (1, 0), (3, None), (4, 0)))
    script = FlowScript("bursts", "ecn", "leaf2-h1", "leaf1-h1", bursts)
    world = World((script,), duration_ns=6 * MS, nic_bps={"leaf1-h1": 2 * GBPS})
    run, rows = witnessed(world)
    made, base = closed(rows, topology(world))
    sent = int(run.flows["snd_nxt"][0])
    assert made.scene.flows["total"].to_list() == [sent]
    late = made.scene.offers.filter(pl.col("at_ns") > 2 * MS)
    assert late.height >= 1
    assert late["at_ns"].min() == pytest.approx(3 * MS, abs=MS // 4)
    assert base.flows["bytes"].to_list() == [sent]
    assert base.flows["fct_ns"][0] == pytest.approx(made.seen.flows["fct_ns"][0], rel=0.05)


def test_changes_move_what_they_must() -> None:
    world = scenario.alone("ecn", senders=4, duration_ns=6 * MS)
    _, rows = witnessed(world)
    made, base = closed(rows, topology(world))

    def queue(change: rebuild.Change) -> float:
        scene = rebuild.changed(made.scene, change)
        told = rebuild.measured(scene, rebuild.played(scene), made.seen.measure)
        return float(told.ports.filter(port=base.bottleneck)["queue_mean_bytes"][0])

    usual = queue(rebuild.Change())
    assert usual == float(base.ports.filter(port=base.bottleneck)["queue_mean_bytes"][0])
    assert queue(rebuild.Change(fabric={"mark_bytes": 80_000})) > 1.3 * usual
    assert queue(rebuild.Change(fabric={"rate": 4.0})) < 0.5 * usual
    assert queue(rebuild.Change(algorithm="hpcc")) < 0.5 * usual
    patient = {"base_target_ns": 35_000, "fs_range_ns": 0, "hop_scaling_ns": 0}
    assert queue(rebuild.Change({"swift": patient}, {}, "swift")) < usual


def test_what_cannot_be_played_is_said() -> None:
    world = scenario.alone("int", senders=2, duration_ns=3 * MS)
    _, rows = witnessed(world)
    made, _ = closed(rows, topology(world), hpcc=dict(world.hpcc))
    with pytest.raises(ValueError, match="say fabric"):
        rebuild.changed(made.scene, rebuild.Change(algorithm="dctcp"))
    with pytest.raises(ValueError, match="cannot be played"):
        rebuild.changed(made.scene, rebuild.Change(algorithm="cubic"))
    with pytest.raises(ValueError, match="no 'speed'"):
        rebuild.fabric_value("speed", "2")
    with pytest.raises(ValueError, match=r"0\.001 to 1000"):
        rebuild.fabric_value("rate", "fast")
    long = replace(made.scene, duration_ns=10**13)
    with pytest.raises(rebuild.TooLargeError, match="take a shorter part"):
        rebuild.played(long)
    data = rows.filter(pl.col("payload_bytes") > 0)
    with pytest.raises(ValueError, match="no data whose acknowledgments"):
        closed(data, None)


def test_queue_pairs_are_not_played_and_are_said_not_to_be() -> None:
    _, rows = witnessed(scenario.alone("int_roce", senders=2, duration_ns=2 * MS))
    with pytest.raises(ValueError, match="frames are RoCE, whose queue pairs the simulator"):
        closed(rows, None)
    world = scenario.alone("ecn", senders=2, duration_ns=2 * MS)
    _, beside = witnessed(world)
    made, _ = closed(pl.concat([rows, beside], how="diagonal_relaxed").sort("time_ns"), None)
    assert any("frames of RoCE are not played" in note for note in made.scene.notes)


def test_a_threshold_is_where_marks_begin() -> None:
    wait = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 3, np.int64)
    found = link.threshold(wait, wait > 6)
    assert found == (6.5, 0.0)
    assert link.threshold(wait, wait > 99) is None
    noisy = link.threshold(wait, (wait > 6) ^ (np.arange(30) == 0))
    assert noisy is not None
    assert noisy.wait_ns == 6.5
    assert 0 < noisy.wrong < 0.1


def test_a_run_far_from_its_beginning_is_played_whole() -> None:
    """Times beyond what one key of the events holds."""
    world = scenario.alone("ecn", senders=2, duration_ns=3 * MS)
    _, rows = witnessed(world)
    made, base = closed(rows, topology(world))
    later = 7_000 * MS
    scene = replace(
        made.scene,
        duration_ns=made.scene.duration_ns + later,
        flows=made.scene.flows.with_columns(pl.col("start_ns") + later),
        offers=made.scene.offers.with_columns(pl.col("at_ns") + later),
    )
    again = rebuild.measured(scene, rebuild.played(scene), made.seen.measure)
    assert again.flows["bytes"].to_list() == base.flows["bytes"].to_list()


@pytest.mark.parametrize(
    ("asked", "shown", "played", "said"),
    [
        (None, "linux_before", "linux_before", 0),
        ("auto", "ns3", "ns3", 0),
        ("linux", "ns3", "linux", 1),
        ("rfc8257", "linux", "rfc8257", 1),
        ("ns3", "classic", "ns3", 1),
        (None, "classic", "linux", 1),
        (None, "none", "linux", 0),
    ],
)
def test_a_dialect_that_is_told_wins_over_what_frames_show(
    asked: str | None, shown: str, played: str, said: int
) -> None:
    told = {"dctcp": {"dialect": asked}} if asked else {}
    found, notes = controlled(pl.DataFrame({"dialect": [shown, shown]}), told)
    assert found["dctcp"]["dialect"] == played
    assert len(notes) == said
