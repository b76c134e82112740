"""INT on every carrier: worked examples, odd lengths, and a second reader of many frames."""

import random
from collections import Counter
from typing import Any

import pytest
from compare import differences
from inband_by_hand import CARRIERS, INNER, MARKER, SETTINGS, make, read
from octets import ETHERNET, INT_UDP, ethernet, frames_of, ipv4, tcp, udp

from collector import STATUS, CollectorSettings, Decoder, complete, headers
from collector.scalar import Scalar
from collector.walk import Walk

FRAMES = 4000
STAMPS = "0101080a0000000100000002"
MD = "200002069000000000000000"
STACK = "00000002030001230000000100000010"


def row_of(packet: bytes, reason: str = "", **settings: Any) -> dict[str, Any]:
    """The only observation of a frame, which ends so."""
    decoder = Decoder(CollectorSettings(**settings))
    (row,) = decoder.decode(frames_of([packet]), ["tap"], "test").to_dicts()
    assert decoder.accounting.reasons == ({reason: 1} if reason else {})
    return {name: value for name, value in row.items() if value is not None}


def over_udp(inband: str, port: int = 555, rest: bytes = b"data") -> bytes:
    return ethernet(ipv4(udp(bytes.fromhex(inband) + rest, port), 17))


def unpacked(name: str, octets: str, **settings: Any) -> dict[str, int]:
    table = next(each for each in headers(CollectorSettings(**settings)) if each.name == name)
    return table.unpack(bytes.fromhex(octets))


def both_hops(row: dict[str, Any]) -> list[Any]:
    names = ("node", "queue", "qlen_bytes")
    return [row[f"h{hop}_{name}"] for hop in (0, 1) for name in names]


TWO_HOPS = [1, 0, 0x10, 2, 3, 0x123]


def test_the_worked_example() -> None:
    row = row_of(ethernet(ipv4(INT_UDP, protocol=17)))
    assert both_hops(row) == TWO_HOPS
    assert (row["dport"], row["payload_bytes"], row["int_type"]) == (9028, 4, 1)
    assert unpacked("int_shim_port", "14072344") == {
        "type": 1, "npt": 1, "reserved": 0, "length": 7, "next": 9028,
    }  # fmt: skip
    assert unpacked("int_md", MD) == {
        "version": 2, "flags": 0, "reserved": 0, "hop_ml": 2, "remaining": 6, "bitmap": 0x9000,
        "domain": 0, "domain_bitmap": 0, "domain_flags": 0,
    }  # fmt: skip


def test_every_baseline_instruction() -> None:
    hop = "00000b2200140015000003e8020000400000018bcfe568000000018bcfe56be8"
    hop += "00000005000000060007a120"
    row = row_of(over_udp("140e2344" + "20000b07ff00000000000000" + hop),
                 int_utilization_full=1_000_000)  # fmt: skip
    told = {name[3:]: value for name, value in row.items() if name.startswith("h0_")}
    assert told == {
        "node": 0xB22, "ingress_port": 20, "port": 21, "latency_ns": 1000, "queue": 2,
        "qlen_bytes": 0x40, "ingress_ts_ns": 0x18BCFE56800, "ts_ns": 0x18BCFE56BE8,
        "l2_ingress_port": 5, "l2_port": 6, "utilization": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "octets", "fields"),
    [
        ("int_shim_protocol", "18070006", {"npt": 2, "length": 7, "next": 6}),
        ("int_shim_dscp", "10070028", {"npt": 0, "length": 7, "original_dscp": 10}),
        ("int_shim_gre", "18070800", {"gre": 1, "length": 7, "next": 0x0800}),
        ("int_shim_gpe", "10070003", {"gre": 0, "length": 7, "next": 3}),
        ("int_shim_port", "34032344", {"type": 3, "npt": 1, "length": 3, "next": 9028}),
        ("int_mx", "200000009000000000000000", {"version": 2, "bitmap": 0x9000}),
        ("vxlan_gpe", "0c00008200123400", {"flags": 12, "next_protocol": 0x82, "vni": 0x1234}),
        ("int_v1_shim", "01000728", {"type": 1, "length": 7, "original_dscp": 10}),
        ("int_v1_md", "1000020690000000", {"version": 1, "hop_ml": 2, "remaining": 6}),
    ],
)
def test_worked_headers(name: str, octets: str, fields: dict[str, int]) -> None:
    found = unpacked(name, octets, int_dscp=23, int_gre_protocol=0x4569)
    assert {field: found[field] for field in fields} == fields


def test_a_dscp_gives_the_flows_own_back() -> None:
    frame = ethernet(ipv4(tcp(payload=bytes.fromhex("10070028" + MD + STACK) + b"x"), dscp=23))
    row = row_of(frame, int_dscp=23)
    assert (row["dscp"], both_hops(row)) == (10, TWO_HOPS)


def test_a_dscp_in_front_of_an_overlay_leaves_its_port_to_it() -> None:
    vxlan = bytes.fromhex("0800000000123400") + INNER
    body = bytes.fromhex("10070028" + MD + STACK) + vxlan
    row = row_of(ethernet(ipv4(udp(body, 4789), 17, dscp=23)), int_dscp=23)
    assert (row["vni"], row["src_lo"] & 0xFF, both_hops(row)) == (0x1234, 7, TWO_HOPS)


@pytest.mark.parametrize(("octet", "last"), [("last", "0006"), ("third", "0600")])
def test_a_transport_may_stand_behind_the_udp_header_of_int(octet: str, last: str) -> None:
    frame = over_udp("1807" + last + MD + STACK, rest=tcp(payload=b"abc"))
    row = row_of(frame, int_protocol_octet=octet)
    assert (row["protocol"], row["dport"], row["payload_bytes"]) == (6, 5001, 3)
    assert both_hops(row) == TWO_HOPS


@pytest.mark.parametrize("dscp", [0, 23])
@pytest.mark.parametrize("position", ["after_options", "before_options"])
def test_int_stands_on_either_side_of_the_tcp_options(position: str, dscp: int) -> None:
    mark = b"" if dscp else MARKER.to_bytes(8, "big")
    inband = mark + bytes.fromhex("10070028" + MD + STACK)
    segment = tcp(bytes.fromhex(STAMPS), b"data")
    at = 20 if position == "before_options" else 32
    frame = ethernet(ipv4(segment[:at] + inband + segment[at:], dscp=dscp))
    settings = {"int_tcp_position": position, "int_marker": MARKER, "int_dscp": 23}
    row = row_of(frame, **settings)
    assert (row["ts_val"], row["ts_ecr"], row["payload_bytes"]) == (1, 2, 4)
    assert (both_hops(row), row["dport"], row["seq"]) == (TWO_HOPS, 5001, 1000)
    plain = row_of(ethernet(ipv4(segment)), **settings)
    assert (plain["ts_val"], plain["payload_bytes"], plain["hop_count"]) == (1, 4, 0)


@pytest.mark.parametrize("payload", [b"", b"1234567", b"12345678", b"1" * 40])
def test_what_is_no_marker_is_payload(payload: bytes) -> None:
    for segment, protocol in ((tcp(payload=payload), 6), (udp(payload, 5001), 17)):
        row = row_of(ethernet(ipv4(segment, protocol)), int_marker=MARKER)
        assert (row["payload_bytes"], row.get("int_version")) == (len(payload), None)


@pytest.mark.parametrize(("flags", "reflected"), [
    (0x10, True), (0x11, True), (0x50, True), (0x02, False), (0x12, False), (0x14, False),
    (0x00, False),
])  # fmt: skip
def test_only_an_acknowledgment_reflects_the_path_of_data(flags: int, reflected: bool) -> None:
    inband = bytes.fromhex("10070000" + MD + STACK)
    row = row_of(ethernet(ipv4(tcp(payload=inband, flags=flags), dscp=23)), int_dscp=23)
    assert (row["payload_bytes"], row["int_reflected"]) == (0, reflected)


def test_a_datagram_of_telemetry_alone_reflects_nothing_unless_it_is_an_acknowledgment() -> None:
    row = row_of(over_udp("14072344" + MD + STACK, rest=b""))
    assert (row["payload_bytes"], row["int_reflected"]) == (0, False)
    answer = bytes.fromhex("1140ffff000000410000003e" + "1b000001" + "deadbeef")
    row = row_of(over_udp("140712b7" + MD + STACK, rest=answer))
    assert (row["payload_bytes"], row["roce_msn"], row["int_reflected"]) == (0, 1, True)


def test_a_geneve_option_holds_it_all() -> None:
    head = "08406558001234000103010720000206900000000000000000000002030001230000000100000010"
    row = row_of(ethernet(ipv4(udp(bytes.fromhex(head) + INNER, 6081), 17)))
    assert (both_hops(row), row["int_type"], row["vni"]) == (TWO_HOPS, 1, 0x1234)
    assert (row["src_lo"] & 0xFF, row["payload_bytes"]) == (7, 5)
    other = row_of(ethernet(ipv4(udp(bytes.fromhex(head) + INNER, 6081), 17)),
                   int_geneve_class=0x0104)  # fmt: skip
    assert (other.get("int_version"), other["payload_bytes"]) == (None, 5)
    exported = bytes.fromhex("0440655800123400" + "01030303" + "280000009000000700000000")
    row = row_of(ethernet(ipv4(udp(exported + INNER, 6081), 17)))
    assert (row["int_type"], row["int_flags"], row["int_domain"]) == (3, 4, 7)


@pytest.mark.parametrize(
    ("envelope", "protocol"),
    [
        (b"\0\0\x45\x69" + bytes.fromhex("18076558"), 47),
        (bytes.fromhex("0c00008200123400" + "10070003"), 17),
        (bytes.fromhex("0c00000800123400" + "01000703"), 17),
    ],
    ids=["gre", "gpe", "v1 gpe"],
)
def test_int_in_an_envelope(envelope: bytes, protocol: int) -> None:
    one = envelope[3] == 8
    md = bytes.fromhex(("1000020690000000" if one else MD) + STACK) + INNER
    body = envelope + md
    frame = ethernet(ipv4(body if protocol == 47 else udp(body, 4790), protocol))
    row = row_of(frame, int_gre_protocol=0x4569)
    assert (both_hops(row), row["src_lo"] & 0xFF, row["payload_bytes"]) == (TWO_HOPS, 7, 5)
    assert row["int_version"] == (1 if one else 2)


def test_every_node_exports_and_no_row_has_hops() -> None:
    row = row_of(over_udp("34042344" + "200000009000000500000000" + "aabbccdd"))
    assert (row["int_type"], row["hop_count"], row["int_domain"]) == (3, 0, 5)
    assert (row["dport"], row["payload_bytes"]) == (9028, 4)


@pytest.mark.parametrize(("rule", "words", "told"), [
    ("without", 7, None), ("with", 8, 1), ("auto", 7, 0), ("auto", 8, 1),
])  # fmt: skip
def test_a_length_may_count_its_shim(rule: str, words: int, told: int | None) -> None:
    row = row_of(over_udp(f"14{words:02x}2344" + MD + STACK), int_shim_length=rule)
    assert (row.get("int_length_rule"), both_hops(row), row["payload_bytes"]) == (told, TWO_HOPS, 4)


def test_the_published_stack_with_the_senders_own_metadata() -> None:
    shim, md = "18080011", "200001098000545380004000"
    stack = "000000ea0000007b" + "0000000001010000"
    frame = over_udp(shim + md + stack, rest=udp(b"abc", 9))
    row = row_of(frame, int_shim_length="with", int_source=(("mac", 48), ("pad", 16)),
                 int_domain=())  # fmt: skip
    assert (row["int_domain"], row["int_source_data"]) == (0x5453, 0x0101)
    assert (row["h0_node"], row["h1_node"], row["dport"]) == (0x7B, 0xEA, 9)


@pytest.mark.parametrize(("inband", "told", "reason"), [
    ("14072344" + MD + STACK, None, ""),
    ("14072344" + "20000406" + MD[8:] + STACK, 4, ""),
    ("14072344" + "20000106" + MD[8:] + STACK, 1, "int_bad_length"),
    ("14032344" + "20000106" + MD[8:], 1, ""),
    ("140b2344" + "2000040690000000" + "80000000" + STACK * 2, None, ""),
    ("14092344" + "2000030690000000" + "20000000" + STACK + STACK[:16], 3, ""),
    ("01000728" + "1000020690000000" + STACK, None, ""),
    ("01000728" + "1000040690000000" + STACK, 4, ""),
], ids=["fits", "longer", "shorter", "shorter, without hops", "with declared metadata",
        "with metadata that nobody declared", "version 1", "version 1, longer"])  # fmt: skip
def test_words_of_a_hop_that_its_metadata_do_not_come_to_are_told(
    inband: str, told: int | None, reason: str
) -> None:
    assert row_of(over_udp(inband), reason).get("int_hop_words") == told


def test_an_inner_stack_takes_back_what_an_outer_one_told() -> None:
    inner = ethernet(ipv4(udp(bytes.fromhex("14072344" + MD + STACK), 555), 17))
    outer = bytes.fromhex("0c00008200123400" + "10070003" + "20000406" + MD[8:] + STACK)
    row = row_of(ethernet(ipv4(udp(outer + inner, 4790), 17)))
    assert (row["int_hop_words"], both_hops(row)) == (0, TWO_HOPS)


def test_version_1_over_a_dscp_and_by_width_profile() -> None:
    body = bytes.fromhex("01000728" + "1000020690000000" + STACK)
    row = row_of(ethernet(ipv4(tcp(payload=body + b"x"), dscp=32)), int_dscp=32)
    assert (row["dscp"], both_hops(row), row["int_version"]) == (10, TWO_HOPS, 1)
    times = "0c000000" + "0000000b0000000c"
    row = row_of(over_udp("01000500" + "17000206" + times), int_v1_profile="specification")
    assert (row["h0_ingress_ts_ns"], row["h0_ts_ns"], row["int_replication"]) == (11, 12, 1)
    wide = "0c000000" + "000000010000000b000000010000000c"
    row = row_of(over_udp("01000700" + "10000406" + wide), int_v1_profile="geant")
    assert (row["h0_ingress_ts_ns"], row["h0_ts_ns"]) == (1 << 32 | 11, 1 << 32 | 12)
    narrow = "01000500" + "17000206" + times
    for packet, profile in ((narrow, 0), ("01000700" + "10000406" + wide, 1)):
        assert row_of(over_udp(packet), int_v1_profile="auto")["int_profile"] == profile


@pytest.mark.parametrize(("inband", "reason"), [
    ("24072344" + MD + STACK, "int_unsupported_type"),
    ("14022344" + MD + STACK, "int_bad_length"),
    ("14062344" + MD + STACK, "int_bad_length"),
    ("14072344" + "20000006" + MD[8:] + STACK, "int_bad_length"),
    ("14072344" + "40000206" + MD[8:] + STACK, "int_unknown_version"),
    ("34032344" + "100000009000000000000000", "int_unknown_version"),
    ("34022344" + "200000009000000000000000", "int_bad_length"),
    ("02000728" + "1000020690000000" + STACK, "int_unsupported_type"),
    ("01000728" + "2000020690000000" + STACK, "int_unknown_version"),
    ("01000628" + "1000020690000000" + STACK, "int_bad_length"),
    ("01000728" + "1000010690000000" + STACK, "int_bad_length"),
])  # fmt: skip
def test_what_cannot_be_is_counted_and_its_flow_is_kept(inband: str, reason: str) -> None:
    assert row_of(over_udp(inband), reason)["sport"] == 40000


def test_the_second_reader_agrees_on_every_field_of_every_frame() -> None:
    draw = random.Random(21)
    made = [make(draw) for _ in range(FRAMES)]
    decoder = Decoder(CollectorSettings(**SETTINGS, int_v1_profile="auto"))
    found = complete(decoder.decode(frames_of([frame for _, frame in made]), ["tap"], "test"))
    rows = {row["frame"] - 1: row for row in found.to_dicts()}
    ends: Counter[str] = Counter()
    for at, (carrier, frame) in enumerate(made):
        reason, told = read(carrier, frame)
        ends[reason] += 1
        if at not in rows:
            assert (carrier, reason != "decoded") == ("gre", True), frame.hex()
            continue
        row = {name: value for name, value in rows[at].items() if value is not None}
        assert STATUS[row["status"]][0] == reason, (carrier, frame.hex())
        assert {name: row.get(name) for name in told} == pytest.approx(told), (carrier, frame.hex())
        assert row.get("int_hop_words") == told.get("int_hop_words"), (carrier, frame.hex())
        hops = {name for name in row if name[0] == "h" and name[1].isdigit()}
        assert hops <= set(told), (carrier, frame.hex())
    assert Counter(decoder.accounting.reasons) == Counter(
        {name: count for name, count in ends.items() if name != "decoded"}
    )
    assert set(ends) == {"decoded", "too_many_hops", "int_bad_length", "int_unknown_version",
                         "int_unsupported_type"}  # fmt: skip
    assert {carrier for carrier, _ in made} == set(CARRIERS)


@pytest.mark.parametrize("settings", [
    {"int_v1_profile": "auto"},
    {"int_v1_profile": "geant", "int_shim_length": "auto", "int_tcp_position": "before_options"},
    {"int_shim_length": "with"},
])  # fmt: skip
def test_the_compiled_walk_reads_as_the_plain_one_does(settings: dict[str, Any]) -> None:
    draw = random.Random(22)
    chosen = CollectorSettings(**SETTINGS, **settings)
    packets = [make(draw)[1] for _ in range(800)]
    packets += [packet[: draw.randrange(len(ETHERNET), len(packet))] for packet in packets[:300]]
    assert differences(Walk(chosen), Scalar(chosen), frames_of(packets)) == []
