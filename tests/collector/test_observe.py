"""Nulls mean "not said": which columns a frame fills, and what settings make of its numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from octets import INT_UDP, aecn_frame, ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder, complete
from collector.observation import OBSERVATION, SCHEMA

ALWAYS = {column.name for column in OBSERVATION if not column.nullable}
PLAIN = ethernet(ipv4(tcp(payload=b"x")))
OPTIONS = ethernet(ipv4(tcp(bytes.fromhex("0204058c030307" + "080a0000000100000002"), flags=2)))
SACK = ethernet(ipv4(tcp(bytes.fromhex("0101051200000001000000020000000300000004"))))
COMPACT = ethernet(bytes.fromhex("2b850800") + ipv4(tcp(payload=b"x")), 0x9900)
ECHO = ethernet(ipv4(tcp(bytes.fromhex("fd06c5162b85"))))
INBAND = ethernet(ipv4(INT_UDP, protocol=17))
TUNNEL = ethernet(ipv4(udp(bytes.fromhex("0800000000123400") + PLAIN, 4789), 17))
PING = ethernet(ipv4(bytes.fromhex("0800000000010001"), protocol=1))

IP = {"dscp", "ecn", "ttl", "ip_id"}
TCP = {"seq", "ack", "flags", "window"}
SIGNAL = {"variant", "t", "s", "lm", "low", "high", "known"}
INT = {"int_type", "int_version", "int_flags", "int_remaining_hops", "int_domain", "int_reflected"}
FILLED = {
    "plain": (PLAIN, IP | TCP),
    "options": (OPTIONS, IP | TCP | {"mss", "wscale", "ts_val", "ts_ecr"}),
    "sack": (SACK, IP | TCP | {f"sack{n}_{edge}" for n in (0, 1) for edge in ("left", "right")}),
    "csig": (COMPACT, IP | TCP | {f"csig_{name}" for name in SIGNAL}),
    "echo": (ECHO, IP | TCP | {f"csig_echo_{name}" for name in SIGNAL | {"valid"}}),
    "aecn": (
        aecn_frame(),
        (IP | TCP | {"aecn_flags", "aecn_type", "aecn_inflight_ratio", "aecn_u",
                     "aecn_queue_delay", "aecn_queue_delay_ns", "aecn_congested_hops",
                     "aecn_saturated", "aecn_rest_bytes", "flow_label"}) - {"ip_id"},
    ),
    "int": (INBAND, IP | INT | {
        f"h{hop}_{name}" for hop in (0, 1) for name in ("node", "queue", "qlen_bytes")}),
    "vxlan": (TUNNEL, IP | TCP | {"outer_ecn", "vni"}),
    "ping": (PING, IP),
}  # fmt: skip


def decode(*packets: bytes, **settings: Any) -> pl.DataFrame:
    """Observations of these frames."""
    return Decoder(CollectorSettings(**settings)).decode(frames_of(packets), ["tap"], "test")


def filled(row: dict[str, Any]) -> set[str]:
    """Nullable columns of a row that hold something."""
    return {name for name, value in row.items() if value is not None} - ALWAYS


@pytest.mark.parametrize("kind", FILLED)
def test_a_frame_fills_what_its_headers_say_and_nothing_else(kind: str) -> None:
    packet, expected = FILLED[kind]
    rows = decode(packet)
    assert filled(rows.to_dicts()[0]) - {"layers"} == expected - ALWAYS
    assert set(rows.columns) - {"layers"} == expected | (ALWAYS - {"layers"})


def test_neighbours_in_a_batch_do_not_fill_each_other() -> None:
    together = complete(decode(*(packet for packet, _ in FILLED.values())))
    alone = [complete(decode(packet)) for packet, _ in FILLED.values()]
    same = [name for name in SCHEMA if name not in {"time_ns", "frame"}]
    assert together.select(same).equals(pl.concat(alone).select(same))


def test_a_complete_batch_has_the_schema_and_its_values_unchanged() -> None:
    rows = decode(PLAIN, COMPACT)
    whole = complete(rows)
    assert whole.schema == SCHEMA
    assert whole.select(rows.columns).equals(rows)
    assert complete(whole).equals(whole)


def test_frames_without_a_flow_give_an_empty_batch_with_the_columns_of_a_key() -> None:
    rows = decode(ethernet(bytes(28), 0x0806))
    assert rows.height == 0
    assert complete(rows).schema == SCHEMA
    assert decode().height == 0


def stack(bitmap: int, own: int, *records: str) -> bytes:
    """INT over TCP data by DSCP 23; records newest first."""
    octets = bytes.fromhex("".join(records))
    words = len(octets) // 4 // len(records)
    header = (2 << 28 | words << 8 | 6).to_bytes(4, "big") + bitmap.to_bytes(2, "big")
    shim = bytes([0x10, 3 + len(octets) // 4, 0, 0])
    body = shim + header + b"HS" + own.to_bytes(2, "big") + b"\0\0" + octets
    return ethernet(ipv4(tcp(payload=body + b"data"), dscp=23))


EVERY = ("00000007", "00010002", "00000003", "04000005", "00000000000003e8", "0000000a")
NAMES = ("node", "port", "latency_ns", "qlen_bytes", "tx_bytes", "b_bps")


@pytest.mark.parametrize("position", range(len(EVERY)))
def test_metadata_of_all_ones_are_null_and_the_others_are_not(position: int) -> None:
    record = list(EVERY)
    record[position] = "f" * len(record[position])
    (row,) = decode(stack(0xF000, 0xC000, "".join(record)), int_dscp=23).to_dicts()
    told = [row.get(f"h0_{name}") for name in NAMES]
    whole: list[int | None] = [7, 2, 3, 5, 1000, 10_000_000]
    assert told == [None if at == position else value for at, value in enumerate(whole)]


def test_metadata_that_the_bitmap_does_not_name_are_null() -> None:
    (row,) = decode(stack(0x8000, 0x4000, "00000007" + "00000064"), int_dscp=23).to_dicts()
    assert [row.get(f"h0_{name}") for name in NAMES] == [7, None, None, None, None, 100_000_000]


def test_hops_beyond_a_shorter_stack_are_null() -> None:
    short = stack(0x8000, 0, "00000007")
    long = stack(0x8000, 0, "00000009", "00000008", "00000007")
    rows = decode(short, long, int_dscp=23)
    assert rows["hop_count"].to_list() == [1, 3]
    assert rows["h0_node"].to_list() == [7, 7]
    assert rows["h2_node"].to_list() == [None, 9]


def test_more_hops_than_are_kept_leave_those_nearest_the_sender() -> None:
    decoder = Decoder(CollectorSettings(int_dscp=23))
    records = [f"{node:08x}" for node in range(13, 0, -1)]
    rows = decoder.decode(frames_of([stack(0x8000, 0, *records)]), ["tap"], "test")
    assert decoder.accounting.reasons == {"too_many_hops": 1}
    row = rows.to_dicts()[0]
    assert [row[f"h{hop}_node"] for hop in range(12)] == list(range(1, 13))


def test_occupancy_is_scaled_by_its_unit() -> None:
    (row,) = decode(stack(0x1000, 0, "04000005"), int_dscp=23, int_occupancy_bytes=80).to_dicts()
    assert row["h0_qlen_bytes"] == 400


@pytest.mark.parametrize(
    ("tag", "tpid", "low", "high"),
    [
        ("0080", 0x9900, 12.5e9 / 32, 2 * 12.5e9 / 32),
        ("2f80", 0x9900, 31 / 32, 1.0),
        ("4080", 0x9900, 1000.0, 1000.0 * 2**0.5),
        ("6080", 0x9900, None, None),
        ("000100000200", 0x9901, 16e6, 24e6),
        ("00012000ff00", 0x9901, 255 * 128.0, 256 * 128.0),
        ("0001f000ff00", 0x9901, None, None),
    ],
)
def test_signals_have_both_ends_in_their_unit(
    tag: str, tpid: int, low: float | None, high: float | None
) -> None:
    packet = ethernet(bytes.fromhex(tag + "0800") + ipv4(tcp()), tpid)
    (row,) = decode(packet).to_dicts()
    assert (row.get("csig_low"), row.get("csig_high")) == (pytest.approx(low), pytest.approx(high))


def test_the_last_bucket_may_be_open() -> None:
    packet = ethernet(bytes.fromhex("4f800800") + ipv4(tcp()), 0x9900)
    buckets = {2: tuple(float(edge) for edge in range(32))}
    (row,) = decode(packet, csig_buckets=buckets).to_dicts()
    assert (row["csig_low"], row.get("csig_high")) == (31.0, None)


def test_each_decoder_reads_by_its_own_settings() -> None:
    packet = ethernet(bytes.fromhex("2b850800") + ipv4(tcp()), 0x7777)
    assert decode(packet).height == 0
    assert decode(packet, csig_compact_tpids=(0x7777,))["csig_s"].to_list() == [0x17]
    assert decode(packet).height == 0
    inband = stack(0x8000, 0, "00000007")
    assert decode(inband)["hop_count"].to_list() == [0]
    assert decode(inband, int_dscp=23)["hop_count"].to_list() == [1]
    assert decode(inband, int_dscp=0x07, int_dscp_mask=0x0F)["hop_count"].to_list() == [1]
    assert decode(INBAND, int_udp_ports=(556,))["dport"].to_list() == [555]
    assert decode(INBAND)["dport"].to_list() == [9028]


def test_a_row_says_where_and_when_its_frame_was_seen() -> None:
    frames = replace(
        frames_of([PLAIN, ethernet(bytes(28), 0x0806), PLAIN]),
        interface=np.array([0, 0, 1], np.uint16),
        length=np.array([60, 42, 1500], np.int32),
        first=41,
    )
    decoder = Decoder(CollectorSettings(tenant="blue", vrf="red"))
    rows = decoder.decode(frames, ["leaf1:Ethernet1", "leaf1:Ethernet2"], "a.pcap")
    names = ("frame", "time_ns", "point", "length", "source", "tenant", "vrf")
    assert rows.select(names).rows() == [
        (41, 0, "leaf1:Ethernet1", 60, "a.pcap", "blue", "red"),
        (43, 2_000_000, "leaf1:Ethernet2", 1500, "a.pcap", "blue", "red"),
    ]
