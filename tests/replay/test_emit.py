"""Frames are what tshark, the collector and the worked examples of the formats say."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings, Decoder, Frames, write_pcapng
from pipeline import Tracker
from replay import Run, Truth, frames_of, points
from replay.layout import Layouts, Shape
from replay.state import AECN, CSIG_COMPACT, CSIG_EXPANDED, DATA, INT

OF_HPCC = ["U", "W", "Wc", "R", "u_max", "u_hop", "incStage", "lastUpdateSeq"]
OF_DCTCP = ["alpha", "cwnd", "ssthresh", "WindowEnd", "BytesAcked", "BytesMarked"]
TSHARK_FRAMES = 6000
HOP_OCTETS = 32


@pytest.fixture(scope="module")
def frames(demo: Run, settings: CollectorSettings) -> Frames:
    return frames_of(demo, settings)


@pytest.fixture(scope="module")
def observations(demo: Run, frames: Frames, settings: CollectorSettings) -> pl.DataFrame:
    decoder = Decoder(settings)
    rows = decoder.decode(frames, points(demo.world), "demo")
    assert decoder.accounting.reasons == {}
    assert rows.height == len(frames)
    return rows


def octets(frames: Frames, at: int) -> bytes:
    start = int(frames.offset[at])
    return frames.data[start : start + int(frames.captured[at])].tobytes()


def test_frames_stand_in_order_with_their_true_lengths(demo: Run, frames: Frames) -> None:
    assert (np.diff(frames.time_ns) >= 0).all()
    assert (frames.captured == np.minimum(frames.length, 256)).all()
    assert frames.interface.max() < len(points(demo.world))
    sent = demo.packets[(demo.packets["first_ns"] >= 0) & (demo.packets["first_ns"] < 20_000_000)]
    received = demo.packets[demo.packets["last_ns"] > 0]
    assert len(frames) == len(sent) + len(received)
    stacked = (demo.flows["kind"][sent["flow"]] == INT) & (sent["kind"] == DATA)
    grown = (sent["hop"] * HOP_OCTETS * stacked).sum()
    assert frames.length.sum() == received["size"].sum() + sent["size"].sum() - grown


def test_acknowledgments_come_before_data_of_the_same_time(observations: pl.DataFrame) -> None:
    ties = observations.with_columns(pl.col("payload_bytes").shift(1).alias("before")).filter(
        pl.col("time_ns") == pl.col("time_ns").shift(1)
    )
    assert ties.height > 100
    assert ties.filter((pl.col("payload_bytes") == 0) & (pl.col("before") > 0)).height == 0


def test_telemetry_arrives_as_the_ports_wrote_it(demo: Run, observations: pl.DataFrame) -> None:
    data = demo.packets[(demo.packets["kind"] == DATA) & (demo.packets["last_ns"] > 0)]
    kind = demo.flows["kind"][data["flow"]]
    seen = observations.filter((pl.col("payload_bytes") > 0) & (pl.col("ttl") < 64)).sort("time_ns")
    stacks = data[kind == INT]
    stacks = stacks[np.argsort(stacks["last_ns"], kind="stable")]
    rows = seen.filter(pl.col("hop_count") > 0)
    assert rows.height == len(stacks)
    ports = demo.paths["port"][stacks["path"], 0]
    for hop in range(3):
        assert rows[f"h{hop}_qlen_bytes"].to_list() == stacks["qlen"][:, hop].tolist()
        assert rows[f"h{hop}_tx_bytes"].to_list() == stacks["tx_bytes"][:, hop].tolist()
        assert rows[f"h{hop}_node"].to_list() == demo.ports["node_id"][ports[:, hop]].tolist()
        assert rows[f"h{hop}_port"].to_list() == demo.ports["port_id"][ports[:, hop]].tolist()
    for variant in (CSIG_COMPACT, CSIG_EXPANDED):
        tags = data[kind == variant]
        tagged = seen.filter(pl.col("csig_variant") == variant)
        columns = [tagged["csig_t"], tagged["csig_s"], tagged["csig_lm"]]
        own = zip(
            tags["csig_t"].tolist(), tags["csig_s"].tolist(), tags["csig_lm"].tolist(), strict=True
        )
        assert Counter(zip(*columns, strict=True)) == Counter(own)
        reflected = observations.filter(pl.col("csig_echo_variant") == variant)
        assert reflected.height > tagged.height
    aecn = data[kind == AECN]
    carried = seen.filter(pl.col("aecn_type").is_not_null())
    assert Counter(carried["aecn_inflight_ratio"]) == Counter(aecn["aecn"][:, 0].tolist())
    assert Counter(carried["aecn_congested_hops"]) == Counter(aecn["aecn"][:, 4].tolist())
    assert (seen["ecn"] == 3).sum() == data["ce"].sum()


def test_a_tap_at_the_sender_sees_what_the_sender_decided(
    demo_truth: Truth, observations: pl.DataFrame
) -> None:
    tracker = Tracker({"T_ns": 30_000, "N": 4, "B_nic_bps": 10_000_000_000})
    decisions = tracker.advance(observations).decisions
    ports = observations.select("frame", pl.col("dport").alias("sport"))
    told = decisions.join(ports, on="frame").with_columns(pl.col("branch").cast(pl.String))
    both = demo_truth.decisions.join(told, on=["time_ns", "sport", "ack"], suffix="_told")
    assert both.height == demo_truth.decisions.height
    for name in ("branch", *OF_HPCC, *OF_DCTCP):
        own = both.filter(pl.col(name).is_not_null()).fill_nan(None)
        assert own.height > 1000
        assert own[name].eq_missing(own[f"{name}_told"]).all(), name


def test_tshark_finds_headers_and_checksums_right(
    frames: Frames, demo: Run, tmp_path: Path, tool: Callable[..., str]
) -> None:
    path = tmp_path / "demo.pcapng"
    first = slice(0, TSHARK_FRAMES)
    columns = ("offset", "captured", "length", "time_ns", "link", "interface")
    few = Frames(
        data=frames.data, first=1, **{name: getattr(frames, name)[first] for name in columns}
    )
    write_pcapng(path, points(demo.world), [untagged(few)])
    fields = [
        "ip.checksum.status", "tcp.checksum.status", "tcp.options.mss_val", "ip.len", "ipv6.plen",
        "frame.len", "frame.interface_name", "_ws.malformed", "tcp.flags.syn", "vlan.id",
    ]  # fmt: skip
    command = [tool("tshark"), "-r", str(path), "-T", "fields", "-E", "occurrence=f"]
    command += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    command += [word for field in fields for word in ("-e", field)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = pl.DataFrame(
        [line.split("\t") for line in text.splitlines()], schema=fields, orient="row"
    )
    assert rows.height == TSHARK_FRAMES
    v4 = rows.filter(pl.col("ip.len") != "")
    assert set(v4["ip.checksum.status"]) == {"1"}
    assert set(rows["tcp.checksum.status"]) == {"1"}
    assert set(rows["_ws.malformed"]) == {""}
    assert set(rows["vlan.id"]) == {""}
    assert set(
        rows.filter(pl.col("tcp.flags.syn").is_in(["1", "True"]))["tcp.options.mss_val"]
    ) == {"4012"}
    assert (v4["ip.len"].cast(pl.Int64) + 14 == v4["frame.len"].cast(pl.Int64)).all()
    assert set(rows["frame.interface_name"]) <= set(points(demo.world))


def untagged(frames: Frames) -> Frames:
    """The frames whole, and without CSIG tags, which tshark does not know."""
    whole = [stripped(octets(frames, at), int(frames.length[at])) for at in range(len(frames))]
    lengths = np.array([len(each) for each in whole], np.int32)
    return Frames(
        data=np.frombuffer(b"".join(whole), np.uint8),
        offset=np.cumsum(lengths, dtype=np.int64) - lengths,
        captured=lengths,
        length=lengths,
        time_ns=frames.time_ns,
        link=frames.link,
        interface=frames.interface,
        first=1,
    )


def stripped(frame: bytes, length: int) -> bytes:
    """A frame without its CSIG tag, filled with the zeros that were cut off."""
    tag = {b"\x99\x00": 4, b"\x99\x01": 8}.get(frame[12:14], 0)
    return frame[:12] + frame[12 + tag :] + bytes(length - len(frame))


def test_a_compact_tag_has_the_bits_of_the_published_vector(settings: CollectorSettings) -> None:
    tag = Layouts(settings).tables["csig_compact"]
    made = tag.pack(1, {"t": 1, "s": 0x17, "lm": 5, "ethertype": 0x0800})
    assert made.tobytes().hex() == "2b850800"


def test_the_first_frames_have_the_octets_of_the_formats(frames: Frames, demo: Run) -> None:
    kind = demo.flows["kind"]
    starts = {CSIG_COMPACT: ("9900", 12), CSIG_EXPANDED: ("9901", 12), AECN: ("06013e09", 54)}
    data = [at for at in range(2000) if frames.length[at] > 4000]
    texts = [octets(frames, at).hex() for at in data]
    for telemetry, (hexes, at) in starts.items():
        own = [text for text in texts if text[2 * at :].startswith(hexes)]
        assert own, telemetry
    first_tag = next(text for text in texts if text[24:28] == "9900")
    assert first_tag[32:36] == "0800"
    wide = next(text for text in texts if text[24:28] == "9901")
    assert wide[28:32] == "0000"
    assert wide[40:44] == "0800"
    aecn = next(text for text in texts if text[108:116] == "06013e09")
    assert aecn[116:124] == "00f80000"
    assert aecn[134:140] == "010100"
    int_at = 2 * (14 + 20 + 32)
    stacks = [text for text in texts if text[24:28] == "0800" and text[int_at : int_at + 2] == "10"]
    empty = next(text for text in stacks if text[int_at : int_at + 8] == "10030000")
    assert empty[int_at + 8 : int_at + 32] == "20000808d4004853c0000000"
    grown = next(text for text in stacks if text[int_at : int_at + 8] == "101b0000")
    assert grown[int_at + 8 : int_at + 32] == "20000805d4004853c0000000"
    assert (kind == INT).any()


def test_a_hop_record_is_what_the_specification_draws(settings: CollectorSettings) -> None:
    hop = Layouts(settings).hop.pack(
        1,
        {"node": 0xB22, "ingress": 20, "egress": 21, "queue": 2, "occupancy": 0x40,
         "egress_ts": 0x18BCFE56BE8, "tx_bytes": 500_000, "b_mbps": 10_000},
    )  # fmt: skip
    expected = "00000b2200140015020000400000018bcfe56be8000000000007a12000002710"
    assert hop.tobytes().hex() == expected


def test_layouts_know_their_sizes(settings: CollectorSettings) -> None:
    layouts = Layouts(settings)
    assert layouts.octets(Shape(DATA, INT, 3), 4000) == 14 + 20 + 32 + 16 + 96 + 4000
    assert layouts.octets(Shape(DATA, CSIG_EXPANDED), 4000) == 14 + 8 + 20 + 32 + 4000
    assert layouts.octets(Shape(DATA, AECN), 4000) == 14 + 40 + 16 + 32 + 4000


def test_int_needs_a_dscp(demo: Run) -> None:
    with pytest.raises(ValueError, match="int_dscp"):
        frames_of(demo, CollectorSettings())
