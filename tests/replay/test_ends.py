"""Slow hosts, links between leaves: windows that close, hosts below their NICs, side links."""

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from collector import Decoder
from replay import Run, Truth, frames_of, points, simulate, truth_of
from replay.campaign import AT_ENDS, SCENARIOS, SETTINGS
from replay.cast import cast
from replay.pace import slower
from replay.scenario_ends import HANDS, READS
from replay.state import ACK, DATA, INT
from replay.taps import Taps
from replay.trial import Trial, judged
from replay.world import MS, SIDE, FlowScript, Phase, Telemetry, World

KINDS: tuple[Telemetry, ...] = ("int", "csig_compact", "ecn")
SOCKET, PAYLOAD = 4_000, 1_000


@cache
def played(name: str) -> tuple[Run, Truth]:
    run = simulate(cast(AT_ENDS[name](KINDS, 3 * MS), 31), SETTINGS)
    return run, truth_of(run, MS)


@cache
def crowded() -> Run:
    """The same with sockets for four segments."""
    world = cast(AT_ENDS["slow application"](KINDS, 2 * MS), 31)
    return simulate(replace(world, socket_bytes=SOCKET), SETTINGS)


def test_a_receiver_reads_no_faster_than_its_application() -> None:
    run, truth = played("slow application")
    slow = np.flatnonzero(run.flows["drain_bps"] > 0)
    assert len(slow) == 5
    data = run.packets[(run.packets["kind"] == DATA) & (run.packets["last_ns"] > 0)]
    for flow in slow:
        times = data["last_ns"][data["flow"] == flow]
        late = times[times > MS]
        rate = (len(late) - 1) * PAYLOAD * 8e9 / (late[-1] - late[0])
        assert rate == pytest.approx(READS, rel=0.06)
    found = truth.verdicts.join(truth.flows.select("script", "role"), on="script")
    assert set(found.filter(role="slow", scored=True)["kind"]) == {"receiver_host"}
    assert set(found.filter(role="free", scored=True)["kind"]) == {"sender_limited"}
    assert not found["congested"].any()


def test_no_more_is_sent_than_the_window_has_room_for_and_its_end_never_moves_back() -> None:
    run = crowded()
    packets = run.packets
    for flow in np.flatnonzero(run.flows["drain_bps"] > 0):
        mine = packets[packets["flow"] == flow]
        acks = mine[(mine["kind"] == ACK) & (mine["last_ns"] > 0)]
        acks = acks[np.argsort(acks["last_ns"], kind="stable")]
        edge = acks["seq"] + acks["window"]
        assert (np.diff(edge) >= 0).all()
        assert (acks["window"] == 0).any()
        assert acks["bare"].any()
        data = mine[(mine["kind"] == DATA) & (mine["first_ns"] > acks["last_ns"][0])]
        known = np.searchsorted(acks["last_ns"], data["first_ns"], side="right") - 1
        assert (data["seq"] + PAYLOAD <= edge[known]).all()
        assert acks["window"].max() <= SOCKET


def test_acknowledgments_carry_the_window() -> None:
    run = crowded()
    decoder = Decoder(SETTINGS)
    frames = frames_of(run, SETTINGS)
    rows = decoder.decode(frames, points(run.world), "fabric")
    assert decoder.accounting.reasons == {}
    assert rows.height == len(frames)
    acks = rows.filter(pl.col("payload_bytes") == 0, pl.col("flags") == 16)
    windows = set((acks["window"].cast(pl.Int64) * 4).to_list())
    told = run.packets[(run.packets["kind"] == ACK) & (run.packets["first_ns"] >= 0)]
    slow = run.flows["drain_bps"][told["flow"]] > 0
    assert {int(each) // 4 * 4 for each in told["window"][slow]} <= windows
    bare = told[slow & (told["bare"] == 1) & (run.flows["kind"][told["flow"]] == INT)]
    empty = acks.filter(pl.col("int_version").is_not_null(), hop_count=0)
    assert empty.height >= len(bare) > 0
    assert bare["size"].max() < told["size"].max()


def test_a_host_hands_over_no_more_than_it_can() -> None:
    run, truth = played("busy sender")
    data = run.packets[(run.packets["kind"] == DATA) & (run.packets["first_ns"] > MS)]
    hosts = run.flows["src"][data["flow"]]
    for name, most in run.world.cpu_bps.items():
        mine = data[hosts == run.world.host_names().index(name)]
        order = np.sort(mine["first_ns"])
        sent = mine["size"][np.argsort(mine["first_ns"])][:-1].sum()
        assert sent * 8e9 / (order[-1] - order[0]) == pytest.approx(most, rel=0.08)
        assert most == HANDS
    found = truth.verdicts.join(truth.flows.select("script", "role"), on="script")
    busy = found.filter(role="busy", scored=True)
    assert set(busy["kind"]) == {"sender_host"}
    assert set(busy["observable"]) == {"sender_limited"}, "packets do not tell"
    assert set(found.filter(role="free", scored=True)["kind"]) == {"sender_limited"}


def test_a_full_link_between_leaves_is_named() -> None:
    run, truth = played("leaf to leaf")
    hot = truth.verdicts.filter("scored", "congested")
    assert set(hot["kind"]) == {"side_link"}
    assert set(hot["hop_index"]) == {0}
    found = judged(Trial(run.world), SETTINGS, run).filter("scored", "congested")
    assert found["named"].to_list() == [1.0] * found.height
    assert set(found["kind_seen"]) == {"side_link"}


def test_taps_above_leaves_see_links_between_them() -> None:
    run, _ = played("leaf to leaf")
    frames = frames_of(run, SETTINGS, taps=Taps(where="uplinks"))
    rows = Decoder(SETTINGS).decode(frames, points(run.world), "fabric")
    side = {f"{each.device}:{each.name}" for each in run.interfaces if each.orientation == "side"}
    assert rows.height == len(frames) > 1_000
    assert set(rows["point"]) <= side


def test_a_phase_needs_the_link_that_it_takes() -> None:
    flow = FlowScript("one", "int", "leaf1-h1", "leaf2-h1", (Phase(0, spine=SIDE),))
    with pytest.raises(ValueError, match="side_bps: leaf1 has no link to leaf2"):
        simulate(World((flow,), MS), SETTINGS)


def test_what_ends_can_slows_with_the_fabric() -> None:
    slow = slower(AT_ENDS["slow application"](KINDS, MS), 10)
    assert {flow.drain_bps for flow in slow.flows} == {READS // 10, None}
    assert set(slower(AT_ENDS["busy sender"](KINDS, MS), 10).cpu_bps.values()) == {HANDS // 10}
    assert not set(AT_ENDS) & set(SCENARIOS), "the matrix is as it was"
