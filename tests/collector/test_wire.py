"""Literal octets against the decoder: the documents' worked examples in hand-made frames."""

import random
from typing import Any

import polars as pl
import pytest
from octets import INT_UDP, aecn_frame, ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder, headers
from collector.wire.table import Field, Header


def decoded(*packets: bytes, **settings: Any) -> pl.DataFrame:
    """Observations of these frames."""
    return Decoder(CollectorSettings(**settings)).decode(frames_of(packets), ["tap"], "test")


def row_of(packet: bytes, **settings: Any) -> dict[str, Any]:
    """The only observation of a frame."""
    (row,) = decoded(packet, **settings).to_dicts()
    return row


def test_a_compact_tag_behind_a_vlan_tag() -> None:
    frame = bytes.fromhex("0200000000020200000000018100006499002b850800") + ipv4(tcp())
    row = row_of(frame)
    signal = {name: row[f"csig_{name}"] for name in ("variant", "t", "s", "lm", "low", "high")}
    assert signal == {"variant": 1, "t": 1, "s": 0x17, "lm": 5, "low": 23 / 32, "high": 24 / 32}
    assert (row["sport"], row["dport"], row["seq"], row["ack"]) == (40000, 5001, 1000, 2000)
    assert row_of(frame, csig_layout="uec")["csig_lm"] == 2


def test_an_expanded_tag() -> None:
    frame = ethernet(bytes.fromhex("12342abcde000800") + ipv4(tcp()), 0xCCDD)
    row = row_of(frame, csig_expanded_tpids=(0xCCDD,))
    assert (row["csig_variant"], row["csig_lm"], row["csig_t"]) == (2, 0x1234, 2)
    assert row["csig_s"] == 0xABCDE
    assert row["csig_low"] == 90_074_880.0
    split = ethernet(bytes.fromhex("12353abcde000800") + ipv4(tcp()), 0xCCDD)
    other = row_of(split, csig_expanded_tpids=(0xCCDD,), csig_layout="uec")
    assert (other["csig_lm"], other["csig_t"], other.get("csig_low")) == (0x091A, 3, None)


@pytest.mark.parametrize(
    ("option", "settings", "expected"),
    [
        ("c8042b85", {"csig_echo_kind": 200}, (1, 1, 23, 5)),
        ("c80812342abcde00", {"csig_echo_kind": 200}, (2, 2, 0xABCDE, 0x1234)),
        ("fd06c5162b85", {}, (1, 1, 23, 5)),
    ],
)
def test_reflections_in_tcp_options(
    option: str, settings: dict[str, Any], expected: tuple[int, ...]
) -> None:
    row = row_of(ethernet(ipv4(tcp(bytes.fromhex(option)))), **settings)
    found = tuple(row[f"csig_echo_{name}"] for name in ("variant", "t", "s", "lm"))
    assert found == expected
    assert row.get("csig_variant") is None


def test_another_experiment_is_not_a_reflection() -> None:
    row = row_of(ethernet(ipv4(tcp(bytes.fromhex("fd06acc02b85")))))
    assert row.get("csig_echo_variant") is None
    assert row["status"] == 0


def test_aecn_in_a_hop_by_hop_option() -> None:
    row = row_of(aecn_frame())
    infos = ("inflight_ratio", "queue_delay", "congested_hops", "dre")
    assert [row.get(f"aecn_{name}") for name in infos] == [80, 30, 2, None]
    assert row["aecn_u"] == pytest.approx(0.80)
    assert (row["protocol"], row["payload_bytes"]) == (6, 4)


def test_aecn_bits_counted_from_the_other_end_mean_nothing_defined() -> None:
    assert row_of(aecn_frame(), aecn_numbering="lsb").get("aecn_u") is None


def test_int_announced_by_a_udp_port() -> None:
    row = row_of(ethernet(ipv4(INT_UDP, protocol=17)))
    assert (row["int_version"], row["hop_count"], row["int_remaining_hops"]) == (2, 2, 6)
    assert (row["h0_node"], row["h1_node"]) == (1, 2)
    assert (row["h0_qlen_bytes"], row["h1_qlen_bytes"]) == (0x10, 0x123)
    assert (row["sport"], row["dport"], row["payload_bytes"]) == (40000, 9028, 4)


FULL = bytes.fromhex(
    "00000b2200140015000003e8020000400000018bcfe568000000018bcfe56be800000005000000060007a120"
)


def test_every_baseline_instruction_over_tcp_by_dscp() -> None:
    shim = bytes([0x10, 3 + len(FULL) // 4, 0, 0])
    inband = shim + bytes.fromhex("20000b07ff00000000000000") + FULL
    row = row_of(ethernet(ipv4(tcp(payload=inband + b"12345"), dscp=23)), int_dscp=23)
    assert row["status"] == 0
    hop = {
        name: row[f"h0_{name}"] for name in ("node", "port", "latency_ns", "qlen_bytes", "ts_ns")
    }
    assert hop == {
        "node": 0xB22, "port": 21, "latency_ns": 1000, "qlen_bytes": 0x40, "ts_ns": 0x18BCFE56BE8,
    }  # fmt: skip
    assert row["payload_bytes"] == 5
    assert row["int_reflected"] is False
    pure = row_of(ethernet(ipv4(tcp(payload=inband), dscp=23)), int_dscp=23)
    assert pure["int_reflected"] is True
    own = row_of(ethernet(ipv4(tcp(payload=inband), dscp=23)), int_dscp=23, int_on_ack="own")
    assert own["int_reflected"] is False


def test_metadata_of_all_ones_is_not_available() -> None:
    stack = bytes.fromhex("00000007" + "ffffffff")
    inband = bytes([0x10, 5, 0, 0]) + bytes.fromhex("200002069000000000000000") + stack
    row = row_of(ethernet(ipv4(tcp(payload=inband + b"x"), dscp=23)), int_dscp=23)
    assert row["h0_node"] == 7
    assert row.get("h0_qlen_bytes") is None


HOPS = "0000000000000002030001230000000100000010"


@pytest.mark.parametrize(
    ("inband", "reason"),
    [
        ("10070028" + "3000020690000000" + HOPS, "int_unknown_version"),
        ("10070028" + "2000030690000000" + HOPS, "int_bad_length"),
        ("20070028" + "2000020690000000" + HOPS, "int_unsupported_type"),
        ("10070028" + "2000020690000000", "truncated"),
    ],
)
def test_malformed_int_is_counted_and_its_flow_is_kept(inband: str, reason: str) -> None:
    decoder = Decoder(CollectorSettings(int_dscp=23))
    frame = ethernet(ipv4(tcp(payload=bytes.fromhex(inband)), dscp=23))
    rows = decoder.decode(frames_of([frame]), ["tap"], "test")
    assert decoder.accounting.reasons == {reason: 1}
    assert rows["seq"].to_list() == [1000]


def test_a_mirror_forgets_what_carried_it_and_an_overlay_keeps_its_mark() -> None:
    inner = ethernet(ipv4(tcp(), ecn=2, source=9))
    erspan2 = bytes.fromhex("100088be00000007" + "12aa96aa155f0f0f")
    mirrored = row_of(ethernet(ipv4(erspan2 + inner, protocol=47, ecn=3)))
    assert (mirrored["ecn"], mirrored.get("outer_ecn"), mirrored["src_lo"] & 0xFF) == (2, None, 9)
    vxlan = bytes.fromhex("0800000000123400")
    carried = row_of(ethernet(ipv4(udp(vxlan + inner, 4789), protocol=17, ecn=3)))
    assert (carried["ecn"], carried["outer_ecn"], carried["vni"]) == (2, 3, 0x1234)
    assert (carried["sport"], carried["protocol"], carried["src_lo"] & 0xFF) == (40000, 6, 9)


@pytest.mark.parametrize("table", headers(CollectorSettings()), ids=lambda table: table.name)
def test_what_is_packed_is_unpacked(table: Header) -> None:
    draw = random.Random(table.name)
    values = {field.name: draw.getrandbits(field.bits) for field in table.fields}
    (octets,) = table.pack(1, values)
    assert table.unpack(octets.tobytes()) == values
    assert len(octets) == table.octets


def test_a_header_fills_whole_octets() -> None:
    with pytest.raises(ValueError, match="whole octets"):
        Header("odd", "nowhere", (Field("a", 3),))
    with pytest.raises(ValueError, match="does not fit 3 bits"):
        Header("even", "nowhere", (Field("a", 3), Field("b", 5))).pack(1, {"a": 8})
