"""HPCC++ from the frames of its authors' simulator: packed here by hand, decoded, rebuilt."""

import socket
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings, Decoder, Frames
from pipeline import Tracker

SHARED = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "hpcc"
DATA = Path(__file__).resolve().parent.parent / "data" / "cc"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the traces are not part of a clone")
KEY = ["src_ip", "dst_ip", "sport", "dport"]
HOPS, CODES = 5, {25: 0, 50: 1, 100: 2, 200: 3, 400: 4}
GIGABIT = 10**9
MODES = {"first": "F", "full": "U", "fast": "R"}


def big(frame: Any, at: int, octets: int, value: Any) -> None:
    """A number into every row, most significant octet first."""
    for octet in range(octets):
        frame[:, at + octet] = value >> 8 * (octets - 1 - octet) & 0xFF


def little(frame: Any, at: int, octets: int, value: Any) -> None:
    """The same, least significant octet first."""
    for octet in range(octets):
        frame[:, at + octet] = (value >> np.uint64(8 * octet)) & np.uint64(0xFF)


def addresses(column: pl.Series) -> Any:
    """Dotted addresses as numbers."""
    known = {text: int.from_bytes(socket.inet_aton(text), "big") for text in column.unique()}
    return column.replace_strict(known, return_dtype=pl.Int64).to_numpy()


def ip(rows: pl.DataFrame, source: str, destination: str, protocol: Any, octets: int) -> Any:
    """Frames of so many octets behind IP, up to and with the IP header."""
    frame = np.zeros((rows.height, 34 + octets), np.uint8)
    big(frame, 12, 2, np.full(rows.height, 0x0800))
    frame[:, 14] = 0x45
    big(frame, 16, 2, np.full(rows.height, 20 + octets))
    frame[:, 22] = 64
    frame[:, 23] = protocol
    big(frame, 26, 4, addresses(rows[source]))
    big(frame, 30, 4, addresses(rows[destination]))
    return frame


def data(sent: pl.DataFrame) -> Any:
    """Data packets: UDP, sequence number, priority group, an empty INT header, 1000 octets."""
    frame = ip(sent, "src_ip", "dst_ip", 17, 8 + 6 + 42 + 1000)
    big(frame, 34, 2, sent["sport"].to_numpy())
    big(frame, 36, 2, sent["dport"].to_numpy())
    big(frame, 38, 2, np.full(sent.height, 8 + 6 + 42 + 1000))
    big(frame, 42, 4, sent["seq"].to_numpy())
    return frame


def answers(acks: pl.DataFrame) -> Any:
    """ACKs and NACKs: ports, flags, group, sequence number, and INT, little-endian."""
    protocol = np.where(acks["ack_type"].to_numpy() == "N", 0xFD, 0xFC)
    frame = ip(acks, "dst_ip", "src_ip", protocol, 12 + 42)
    little(frame, 34, 2, acks["dport"].to_numpy().astype(np.uint64))
    little(frame, 36, 2, acks["sport"].to_numpy().astype(np.uint64))
    little(frame, 42, 4, acks["ack_seq"].to_numpy().astype(np.uint64))
    for hop in range(HOPS):
        if f"h{hop}_ts24" not in acks.columns:
            break
        gigabits = (acks[f"h{hop}_rate_bps"].fill_null(25 * GIGABIT) // GIGABIT).cast(pl.Int64)
        word = gigabits.replace_strict(CODES, return_dtype=pl.UInt64).to_numpy().copy()
        for name, shift in (("ts24", 3), ("tx20", 27), ("q17", 47)):
            told = acks[f"h{hop}_{name}"].fill_null(0).to_numpy().astype(np.uint64)
            word |= told << np.uint64(shift)
        word[acks["nhop"].to_numpy() <= hop] = 0
        little(frame, 46 + 8 * hop, 8, word)
    little(frame, 86, 2, acks["nhop"].to_numpy().astype(np.uint64))
    return frame


def observed(acks: pl.DataFrame, sent: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """All frames decoded; at equal times an ACK comes before data, whose truth is not needed."""
    settings = CollectorSettings(
        hpcc_udp_ports=tuple(flows["dport"].unique().to_list()), hpcc_nack_protocols=(0xFD,)
    )
    parts = []
    for rows, frame in ((acks, answers(acks)), (sent, data(sent))):
        size, octets = frame.shape
        frames = Frames(
            frame.ravel(), np.arange(size) * octets, np.full(size, octets, np.int32),
            np.full(size, octets, np.int32), rows["time_ns"].to_numpy(),
            np.ones(size, np.uint16), np.zeros(size, np.uint16), 1,
        )  # fmt: skip
        decoder = Decoder(settings)
        parts.append(decoder.decode(frames, ["nic"], "simulator"))
        assert decoder.accounting.reasons == {}
    told = pl.concat([parts[0].with_row_index("truth"), parts[1]], how="diagonal")
    return told.sort("time_ns", pl.col("payload_bytes") > 0, maintain_order=True)


def rebuilt(acks: pl.DataFrame, sent: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Every decision beside the simulator's."""
    rows = observed(acks, sent, flows)
    sport = pl.min_horizontal("sport", "dport").cast(pl.Int64)
    paths = flows.select(
        pl.col("src_ip").replace_strict(
            dict(zip(flows["src_ip"], addresses(flows["src_ip"]), strict=True)),
            return_dtype=pl.Int64,
        ).alias("host"),
        pl.min_horizontal("sport", "dport").cast(pl.Int64).alias("port"),
        pl.col("max_rate_bps").alias("src_nic_bps"),
        pl.col("T_ns").alias("base_rtt_ns"),
        pl.col("win_bytes").alias("window_bytes"),
    )  # fmt: skip
    host = pl.when(pl.col("hpcc_kind") == 0).then("src_lo").otherwise("dst_lo")
    rows = rows.with_columns(host=host.cast(pl.Int64) & 0xFFFF_FFFF, port=sport)
    rows = rows.join(paths, on=["host", "port"], how="left", maintain_order="left")
    data_row = pl.col("hpcc_kind") == 0
    nic = pl.col("src_nic_bps")
    rows = rows.with_columns(
        pl.when(data_row).then(nic).alias("src_nic_bps"),
        pl.when(~data_row).then(nic).alias("dst_nic_bps"),
        frame=pl.int_range(pl.len(), dtype=pl.UInt64),
    )
    flow = flows.row(0, named=True)
    tracker = Tracker(
        {
            "form": "rate", "qlen_by": "window", "eta": flow["eta"],
            "maxStage": flow["mi_thresh"], "R_ai_bps": flow["rai_bps"],
            "R_min_bps": flow["min_rate_bps"],
        }
    )  # fmt: skip
    decisions = tracker.advance(rows).decisions
    named = decisions.join(rows.select("frame", "truth"), on="frame")
    return acks.with_row_index("truth").join(named, on="truth", how="left", suffix="_ours")


def agreement(table: pl.DataFrame) -> dict[str, Any]:
    """How far the decisions are the simulator's; what a NACK changed is left out."""
    mode = table["branch"].cast(pl.String).str.split("_").list.get(0).replace(MODES)
    plain = table["ack_type"] == "A"
    right = mode == table["mode"]
    same = right & (table["incStage"] == table["inc_after"])
    measured = table["u_hop_ours"].is_not_null() & (table["u_hop_ours"] >= 0)
    same &= ~measured | (table["u_hop_ours"] == table["u_hop"])
    error = (table["R"] - table["rate_after"]).abs() / table["rate_after"]
    u = (table["U"] - table["U_after"]).abs() / table["U_after"]
    return {
        "all": same.filter(plain).mean(),
        "modes": right.filter(plain).mean(),
        "u": u.filter(plain).max(),
        "r": error.filter(plain).max(),
        "rows": plain.sum(),
        "quality": table["quality"].value_counts(sort=True)["quality"][0],
    }


def test_every_decision_of_a_piece_is_rebuilt_from_frames() -> None:
    acks, sent = (
        pl.read_parquet(DATA / f"hpcc_a{part}.parquet").with_columns(
            dst_ip=pl.lit("11.0.2.1"), dport=pl.col("src_ip").rank("dense").cast(pl.Int64) + 99
        )
        for part in ("", "_sent")
    )
    acks = acks.with_columns(
        ack_type=pl.lit("A"),
        u_hop=pl.when(pl.col("u_max").is_not_null()).then(pl.lit(0)),
    )
    flows = acks.select(KEY).unique(maintain_order=True).with_columns(
        T_ns=4160, win_bytes=52_000, max_rate_bps=100 * GIGABIT, eta=0.95, mi_thresh=5,
        rai_bps=50_000_000, min_rate_bps=100_000_000,
    )  # fmt: skip
    found = agreement(rebuilt(acks, sent, flows))
    assert found["rows"] > 1000
    assert found["all"] == 1.0
    assert found["u"] < 1e-12
    assert found["r"] < 1e-6


@needs_shared
@pytest.mark.parametrize("name", ["a_2to1", "c3_leafspine_hetero", "g_minclamp"])
def test_every_decision_is_rebuilt_from_frames(name: str) -> None:
    acks, sent, flows = (
        pl.read_parquet(SHARED / f"{name}{part}.parquet") for part in ("", "_sent", "_flows")
    )
    found = agreement(rebuilt(acks, sent, flows))
    assert found["all"] == 1.0
    assert found["u"] < 1e-12
    assert found["r"] < 1e-6


@needs_shared
def test_with_loss_all_but_the_nacks_are_rebuilt() -> None:
    acks, sent, flows = (
        pl.read_parquet(SHARED / f"f_loss{part}.parquet") for part in ("", "_sent", "_flows")
    )
    found = agreement(rebuilt(acks, sent, flows))
    assert found["all"] == 1.0
    assert found["u"] < 1e-12
    assert found["r"] < 1e-6


@needs_shared
def test_in_an_incast_only_ties_of_the_clock_differ() -> None:
    acks, sent, flows = (
        pl.read_parquet(SHARED / f"b_incast16{part}.parquet") for part in ("", "_sent", "_flows")
    )
    table = rebuilt(acks, sent, flows)
    found = agreement(table)
    assert found["modes"] >= 0.996
    assert found["u"] < 1e-12
    mode = table["branch"].cast(pl.String).str.split("_").list.get(0).replace(MODES)
    table = table.with_columns(right=(mode == table["mode"]).cast(pl.Int8))
    before = table.with_columns(pl.col("right").cum_min().over(KEY)).filter(pl.col("right") == 1)
    assert before.height > table.height / 2
    assert agreement(before)["r"] < 1e-6
