"""Published octets of mirrors, RDMA and Accurate ECN, field by field, and as whole frames."""

from typing import Any

import pytest
from octets import ethernet, ipv4, tcp, udp
from single import only

from collector import CollectorSettings, headers

SEGMENT = ipv4(tcp(payload=b"data"))
COPY = ethernet(SEGMENT)
SECOND_NS = 10**9
CSIG = CollectorSettings(csig_expanded_tpids=(0xCCDE,))
TABLES = {header.name: header for header in headers(CSIG)}
TYPE3 = "206400013b9aca0000008035"
HEADERS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("gre", "100088be", {"present": 1, "strict": 0, "recursion": 0, "flags": 0, "version": 0,
                         "protocol": 0x88BE}),
    ("erspan2", "12aa96aa155f0f0f", {"version": 1, "vlan": 0x2AA, "cos": 4, "encapsulation": 2,
                                     "truncated": 1, "session": 0x2AA, "reserved": 0x155,
                                     "index": 0xF0F0F}),
    ("erspan3", TYPE3, {"version": 2, "vlan": 0x64, "cos": 0, "bso": 0, "truncated": 0,
                        "session": 1, "timestamp": SECOND_NS, "sgt": 0, "p": 1, "frame_type": 0,
                        "hardware": 3, "direction": 0, "granularity": 2, "optional": 1}),
    ("erspan_wide", "0c0000006553f100", {"platform": 3, "reserved": 0, "port": 0,
                                         "upper": 1_700_000_000}),
    ("vxlan", "0800000000123400", {"flags": 8, "reserved": 0, "vni": 0x1234, "reserved2": 0}),
    ("vxlan_gpe", "0c00008200123400", {"flags": 0xC, "reserved": 0, "next_protocol": 0x82,
                                       "vni": 0x1234, "reserved2": 0}),
    ("geneve", "0840655800123400", {"version": 0, "options_length": 8, "flags": 0x40,
                                    "protocol": 0x6558, "vni": 0x1234, "reserved": 0}),
    ("roce", "1140ffff000000410000003e", {"opcode": 0x11, "solicited": 0, "migration": 1, "pad": 0,
                                          "version": 0, "partition": 0xFFFF, "fecn": 0, "becn": 0,
                                          "reserved": 0, "qp": 0x41, "ack_request": 0,
                                          "reserved2": 0, "psn": 0x3E}),
    ("roce", "8100ffff4000011800000000", {"opcode": 0x81, "solicited": 0, "migration": 0, "pad": 0,
                                          "version": 0, "partition": 0xFFFF, "fecn": 0, "becn": 1,
                                          "reserved": 0, "qp": 0x118, "ack_request": 0,
                                          "reserved2": 0, "psn": 0}),
    ("roce_aeth", "1b000001", {"syndrome": 0x1B, "msn": 1}),
    ("accecn_acc0_3", "fe0dacc0000001000000000000", {"kind": 254, "length": 13, "exid": 0xACC0,
                                                     "ee0b": 1, "eceb": 0, "ee1b": 0}),
    ("accecn_e0b_3", "ac0b000001000000000001", {"kind": 172, "length": 11, "ee0b": 1, "eceb": 0,
                                                "ee1b": 1}),
)  # fmt: skip


def mirrored(head: str, copy: bytes = COPY) -> dict[str, Any]:
    """What is told of a copy behind these octets of GRE and ERSPAN."""
    return only(ethernet(ipv4(bytes.fromhex(head) + copy, 47, ecn=3, source=77)))


@pytest.mark.parametrize(("name", "octets", "fields"), HEADERS, ids=[each[1] for each in HEADERS])
def test_a_published_header_says_what_its_publisher_says(
    name: str, octets: str, fields: dict[str, int]
) -> None:
    assert TABLES[name].unpack(bytes.fromhex(octets)) == fields


def test_the_published_type_3_mirror_tells_the_time_of_its_copy() -> None:
    row = mirrored("100022eb00000007" + "206400013b9aca00000080350c0000006553f100")
    assert row["mirror_time_ns"] == 1_700_000_001 * SECOND_NS
    assert (row["mirror_session"], row["mirror_port"], row["mirror_direction"]) == (1, 0, 0)
    assert (row["ecn"], row["seq"]) == (0, 1000)


@pytest.mark.parametrize(
    ("flags", "tick_ns", "direction"), [("8031", 100_000, 0), ("803b", 100, 1)]
)
def test_ticks_of_a_type_3_mirror_count_in_its_granularity(
    flags: str, tick_ns: int, direction: int
) -> None:
    ticks = (1_700_000_000 * SECOND_NS + 12_300_000) // tick_ns
    upper, lower = divmod(ticks, 1 << 32)
    row = mirrored(f"100022eb0000000720640001{lower:08x}0000{flags}0c000005{upper:08x}")
    assert row["mirror_time_ns"] == ticks * tick_ns
    assert (row["mirror_port"], row["mirror_direction"]) == (5, direction)


def test_a_type_3_mirror_without_the_upper_half_tells_no_time() -> None:
    assert mirrored("100022eb00000007" + TYPE3[:-2] + "34").get("mirror_time_ns") is None


def test_a_type_1_mirror_has_no_header() -> None:
    row = mirrored("000088be")
    assert (row["seq"], row["ecn"], row.get("mirror_session")) == (1000, 0, None)


def test_a_segment_tells_the_nine_flags() -> None:
    head = bytes.fromhex("9c401389000003e8000007d0" + "51c2" + "100000000000")
    assert only(ethernet(ipv4(head)))["flags"] == 0x1C2


def test_the_published_experimental_option_stands_behind_an_ace_of_five() -> None:
    head = bytes.fromhex("9c401389000003e8000007d0" + "9152" + "100000000000")
    option = bytes.fromhex("fe0dacc0000001000000000000" + "010101")
    row = only(ethernet(ipv4(head + option)))
    assert (row["flags"] >> 6, row["accecn_e0b"], row["accecn_ceb"], row["accecn_e1b"]) == (
        5, 1, 0, 0,
    )  # fmt: skip


def roce(head: str, rest: bytes) -> dict[str, Any]:
    """What is told of a RoCEv2 packet with a check value of four octets."""
    return only(ethernet(ipv4(udp(bytes.fromhex(head) + rest + b"\xde\xad\xbe\xef", 4791), 17)))


def test_the_published_acknowledgment_and_notification_tell_their_flags() -> None:
    row = roce("1140ffff000000410000003e", bytes.fromhex("1b000001"))
    assert (row["roce_flags"], row["roce_syndrome"], row["roce_msn"]) == (0, 0x1B, 1)
    assert roce("8100ffff4000011800000000", bytes(16))["roce_flags"] == 2
    both = roce("0440ffffc0000041" + "8000003e", b"12345678")
    assert (both["roce_flags"], both["payload_bytes"]) == (7, 8)


@pytest.mark.parametrize(
    ("tag", "layout", "told"),
    [
        ("ccde12342abcde00", "draft", (0x1234, 2, 703_710, 90_074_880.0)),
        ("ccde12353abcde00", "uec", (0x091A, 3, 703_710, None)),
    ],
)
def test_the_expanded_tags_lie_as_they_are_written(
    tag: str, layout: str, told: tuple[object, ...]
) -> None:
    frame = COPY[:12] + bytes.fromhex(tag + "0800") + SEGMENT
    row = only(frame, csig_expanded_tpids=(0xCCDE,), csig_layout=layout)
    names = ("csig_lm", "csig_t", "csig_s", "csig_low")
    assert tuple(row.get(name) for name in names) == told
    assert row["csig_variant"] == 2


def test_of_what_only_a_source_writes_the_first_field_is_kept() -> None:
    stack = bytes.fromhex("20000106" + "8000000000000000" + "00000007" + "0a0b0c0d" + "11223344")
    packet = udp(bytes.fromhex("14062344") + stack + b"data", 555)
    schema = [["device", 16], ["slot", 16], ["serial", 32]]
    row = only(ethernet(ipv4(packet, 17)), int_source=schema)
    assert (row["hop_count"], row["h0_node"], row["int_source_data"]) == (1, 7, 0x0A0B)
