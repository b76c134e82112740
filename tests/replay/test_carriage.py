"""Every kind of telemetry that the collector reads is played, decoded to the last frame, judged."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings, Decoder, headers
from pipeline import PipelineSettings, Worker
from replay import Run, frames_of, points, simulate, topology
from replay.campaign import SETTINGS
from replay.carriage import EACH_HOP, NAMES
from replay.layout import Layouts
from replay.state import DATA
from replay.taps import Taps
from replay.trial import Trial, judged
from replay.world import GBPS, MS, OVERLAYS, TELEMETRY, FlowScript, Overlay, Phase, Telemetry, World

FAST = 25 * GBPS
READ = SETTINGS.model_copy(
    update={"hpcc_udp_ports": (100,), "int_utilization_full": 1_000_000, "int_gre_protocol": 0x6300}
)
CHECKED = READ.model_copy(update={"verify_checksums": True})
UEC = CHECKED.model_copy(update={"csig_layout": "uec"})
PLAIN: tuple[Telemetry, ...] = TELEMETRY[:10]
NEWER: tuple[Telemetry, ...] = TELEMETRY[10:]
TAGS: tuple[Telemetry, ...] = ("csig_compact", "csig_expanded")
IN_GRE = tuple(kind for kind in TELEMETRY if kind not in ("ifa", "int_1", "none"))
WORLDS: dict[str, tuple[tuple[Telemetry, ...], Overlay, CollectorSettings]] = {
    "plain": (NEWER, "none", CHECKED),
    "uec": (TAGS * 4, "none", UEC),
    "vxlan": (PLAIN, "vxlan", READ),
    "geneve": (NEWER, "geneve", READ),
    "gre": (IN_GRE, "gre", READ),
}
ALL = [(name, kind) for name, (kinds, *_) in WORLDS.items() for kind in dict.fromkeys(kinds)]
COLUMN = {
    "int_1": "int_version", "int_mx": "int_type", "int_reports_1": "report_version",
    "int_reports_05": "report_version", "tcp_int": "tcp_int_value", "int_roce": "roce_psn",
    "hpcc_int": "hpcc_kind", "accecn": "accecn_ceb",
}  # fmt: skip
"""A column that frames of this kind alone fill, in the world of the newer kinds."""
BY_PLACE = "hpcc_int"
"""Its hops have no names, only places."""


@cache
def played(name: str) -> tuple[Run, pl.DataFrame, pl.DataFrame]:
    """Run, rows and judged intervals of hosts of leaf1 that send by one way up, a kind each."""
    kinds, overlay, settings = WORLDS[name]
    flows = tuple(
        FlowScript("hot", kind, f"leaf1-h{at}", f"leaf2-h{at}", (Phase(0),), overlay=overlay)
        for at, kind in enumerate(kinds, start=1)
    )
    world = World(flows, 2 * MS, hosts_per_leaf=len(kinds), host_bps=FAST, link_bps=FAST,
                  mark_bytes=60_000, payload_bytes=1000)  # fmt: skip
    run = simulate(world, settings)
    decoder = Decoder(settings)
    frames = frames_of(run, settings)
    rows = decoder.decode(frames, points(world), "fabric")
    assert decoder.accounting.reasons == {}
    assert rows.height == len(frames) > 10_000
    return run, rows, judged(Trial(world), settings, run)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "kind"), ALL)
def test_every_kind_is_decoded_and_names_the_full_hop(name: str, kind: Telemetry) -> None:
    run, rows, found = played(name)
    mine = found.filter("scored", "congested", telemetry=kind)
    assert not mine.is_empty()
    assert set(mine["device"]) == {"leaf1"}
    flow = found.filter(telemetry=kind)
    data = rows.filter(src_lo=int_of(flow["src"][0]), dst_lo=int_of(flow["dst"][0]))
    data = data if kind not in ("aecn", "ioam") else rows.filter(pl.col("flow_label").is_not_null())
    assert data.filter(pl.col("payload_bytes") == run.world.payload_bytes).height > 50
    if kind == "none":
        return
    if kind == BY_PLACE:
        assert set(mine["device_seen"]) == {"hop"}
        assert mine["interface_seen"].cast(pl.Int64).to_list() == mine["hop_index"].to_list()
        return
    assert mine["named"].to_list() == [1.0] * mine.height
    assert set(mine["kind_seen"]) == {"uplink"}


def int_of(address: str) -> int:
    """The low half of an IPv4 address as the collector keeps it; 0 of IPv6."""
    if ":" in address:
        return 0
    octets = [int(part) for part in address.split(".")]
    return 0xFFFF << 32 | int.from_bytes(bytes(octets))


@pytest.mark.parametrize("kind", NEWER)
def test_each_newer_kind_fills_the_columns_of_its_format(kind: str) -> None:
    _, rows, _ = played("plain")
    assert rows.filter(pl.col(COLUMN[kind]).is_not_null()).height > 50


def test_checksums_and_icrc_are_right() -> None:
    for name in ("plain", "uec"):
        _, rows, _ = played(name)
        assert rows["integrity"].drop_nulls().unique().to_list() == [1]
    _, rows, _ = played("plain")
    acks = rows.filter(pl.col("roce_msn").is_not_null())
    assert acks["integrity"].to_list() == [1] * acks.height


def test_reports_of_all_versions_tell_the_same() -> None:
    run, rows, _ = played("plain")
    told = rows.filter(pl.col("report_node").is_not_null())
    assert set(told["report_version"]) == {0, 1, 2}
    reported = np.isin(run.flows["form"][run.packets["flow"]], EACH_HOP)
    data = run.packets[reported & (run.packets["kind"] == DATA)]
    assert set(told["h0_qlen_bytes"]) <= set(data["qlen"].ravel().tolist())
    for version in (0, 1, 2):
        told_by = told.filter(report_version=version)
        assert max(told_by["h0_qlen_bytes"].to_list()) > run.world.mark_bytes


def test_accurate_ecn_counts_what_came_marked() -> None:
    run, rows, _ = played("plain")
    acks = rows.filter(pl.col("accecn_ceb").is_not_null(), pl.col("point") == "leaf1:Ethernet8")
    flow = run.flows["form"] == TELEMETRY.index("accecn")
    mine = run.packets[flow[run.packets["flow"]] & (run.packets["kind"] == DATA)]
    came = mine[mine["last_ns"] > 0]
    most = int(came["ce"].sum()) * run.world.payload_bytes
    told = max(acks["accecn_ceb"].to_list())
    assert most // 2 <= told <= most
    assert most > 0


def test_tcp_int_tells_the_worst_hop_and_echoes_it() -> None:
    _, rows, _ = played("plain")
    there = rows.filter(pl.col("tcp_int_hop").is_not_null())
    back = rows.filter(pl.col("tcp_int_echo_hop").is_not_null())
    for hop, seen in (("tcp_int_hop", there), ("tcp_int_echo_hop", back)):
        assert seen.height > 50
        assert seen[hop].mode().to_list() == [1], "the way up is the first hop"
    assert set(there["tcp_int_b_bps"]) == {FAST}


def test_frames_are_as_long_as_the_wire_had_them() -> None:
    """What ports counted is what frames say, for every form, tunnels and trailers included."""
    for name in ("plain", "vxlan", "geneve", "gre"):
        kinds, _, settings = WORLDS[name]
        run, rows, _ = played(name)
        done = run.packets[(run.packets["last_ns"] > 0)]
        at_end = rows.filter(pl.col("point") != "collector", pl.col("ttl").is_not_null())
        sent = run.packets[(run.packets["first_ns"] >= 0)]
        grown = [Layouts(settings).hop_octets(TELEMETRY.index(kind)) for kind in kinds]
        assert at_end.height == len(done) + len(sent)
        assert max(grown) > 0
        assert at_end["length"].max() == done["size"].max()


def test_a_table_says_how_every_kind_is_built() -> None:
    assert set(NAMES) == set(TELEMETRY)
    known = {header.name for header in headers(READ)} | set(Layouts(READ).named)
    for carriage in NAMES.values():
        named = (carriage.tag, carriage.around, carriage.record, *carriage.stack, *carriage.report)
        assert {name for name in named if name} <= known
    assert OVERLAYS[0] == "none"


@pytest.mark.parametrize(
    ("kind", "overlay", "settings", "word"),
    [
        ("hpcc_int", "none", SETTINGS, "hpcc_udp_ports"),
        ("hpcc_int", "none", READ, "10000000000 bit/s"),
        ("int", "gre", SETTINGS, "int_gre_protocol"),
        ("ifa", "gre", READ, "ifa has no place in gre"),
        ("int_mx", "none", CollectorSettings(int_dscp=1, report_udp_ports=()), "report_udp_ports"),
    ],
)
def test_what_has_no_place_is_refused_by_name(
    kind: Telemetry, overlay: Overlay, settings: CollectorSettings, word: str
) -> None:
    flow = FlowScript("one", kind, "leaf1-h1", "leaf2-h1", (Phase(0),), overlay=overlay)
    run = simulate(World((flow,), MS // 4), READ)
    with pytest.raises(ValueError, match=word):
        frames_of(run, settings)


def test_samples_tell_their_rate_and_need_a_port() -> None:
    run, mirrored, _ = played("vxlan")
    one = Taps(one_in=16, sflow=True)
    rows = Decoder(READ).decode(frames_of(run, READ, taps=one), points(run.world), "fabric")
    samples = rows.filter(pl.col("point") != "collector")
    assert set(samples["sampling_rate"]) == {16}
    assert set(samples["length"]) <= set(mirrored["length"])
    worker = Worker(PipelineSettings(interval_ms=1), topology(run.world))
    worker.advance(rows)
    verdicts = worker.finish().tables["verdicts"]
    assert verdicts["sampling"].max() == pytest.approx(1 / 16)
    nowhere = READ.model_copy(update={"sflow_udp_ports": ()})
    with pytest.raises(ValueError, match="sflow_udp_ports"):
        frames_of(run, nowhere, taps=one)
