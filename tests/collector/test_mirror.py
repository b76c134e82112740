"""Mirrors: ERSPAN of every type and sub-header, configured tunnels, timestamps of taps."""

import pytest
from octets import ethernet, ipv4, tcp, udp
from single import only

SEGMENT = ipv4(tcp(payload=b"data"))
FRAME = ethernet(SEGMENT)
SECONDS = 1_700_000_000
TYPE3 = "100022eb00000007206400013b9ac9ff0000"
TYPE2 = "100088be0000000712aa96aa155f0f0f"


def in_gre(head: str, copy: bytes) -> bytes:
    """A copy in GRE whose own transport met congestion."""
    return ethernet(ipv4(bytes.fromhex(head) + copy, 47, ecn=3, source=77))


def test_the_published_type_2_header_tells_session_and_port() -> None:
    row = only(in_gre(TYPE2, FRAME))
    assert (row["mirror_session"], row["mirror_port"]) == (0x2AA, 0xF0F0F)
    assert (row["ecn"], row["src_lo"], row["seq"]) == (0, 0xFFFF_0A00_0001, 1000)


@pytest.mark.parametrize(
    ("platform", "port"),
    [("0c000123", 0x123), ("1c000009", 9), ("00000009", 9), ("14050007", 7)],
)
def test_a_sub_header_names_its_port(platform: str, port: int) -> None:
    row = only(in_gre(TYPE3 + "803d" + platform + "6553f100", FRAME))
    assert (row["mirror_session"], row["mirror_port"], row["seq"]) == (1, port, 1000)


def test_the_published_type_3_header_and_sub_header_are_read() -> None:
    head = "100022eb00000007" + "206400013b9aca00000080350c0000006553f100"
    row = only(in_gre(head, FRAME))
    assert (row["mirror_session"], row["mirror_port"], row["payload_bytes"]) == (1, 0, 4)


@pytest.mark.parametrize("port", [4789, 4444])
def test_a_configured_network_is_a_mirror(port: int) -> None:
    copy = bytes.fromhex("0800000000000500") + FRAME
    outer = ethernet(ipv4(udp(copy, port), 17, ecn=3, source=77))
    row = only(outer, mirror_vnis=[5], mirror_vxlan_udp_ports=[4444])
    assert (row["mirror_session"], row["ecn"], row["src_lo"]) == (5, 0, 0xFFFF_0A00_0001)


def test_a_key_is_a_mirror_with_checksum_or_without() -> None:
    settings = {"mirror_gre_keys": [7, 9]}
    assert only(in_gre("2000080000000007", SEGMENT), **settings)["mirror_session"] == 7
    summed = "b0000800" + "00000000" + "00000009" + "00000001"
    assert only(in_gre(summed, SEGMENT), **settings)["mirror_session"] == 9
    assert only(in_gre("2000080000000008", SEGMENT), **settings).get("mirror_session") is None


def test_a_tag_of_64_bits_is_a_time() -> None:
    tagged = bytes.fromhex("000101106553f1000000000a0800") + SEGMENT
    row = only(ethernet(tagged, 0xD28B))
    assert (row["mirror_time_ns"], row["seq"]) == (SECONDS * 10**9 + 10, 1000)


def test_a_trailer_is_a_time_and_no_payload() -> None:
    trailer = bytes.fromhex("010203046553f1000000000a01010203")
    row = only(FRAME + trailer, timestamp_trailer="metamako")
    assert (row["mirror_time_ns"], row["payload_bytes"]) == (SECONDS * 10**9 + 10, 4)
    assert (row["mirror_session"], row["mirror_port"]) == (0x102, 3)


ALL = {
    "mirror_gre_keys": tuple(range(1, 17)),
    "mirror_gre_protocols": tuple(range(0x9000, 0x9010)),
    "mirror_vnis": tuple(range(1, 17)),
    "mirror_vxlan_udp_ports": (99,),
    "mirror_geneve_udp_ports": (98,),
    "int_udp_ports": tuple(range(501, 565)),
    "int_dscp": 23,
    "int_marker": 5,
    "int_tcp_position": "before_options",
    "int_shim_length": "auto",
    "int_v1_profile": "auto",
    "int_gre_protocol": 0x4569,
    "csig_echo_udp_ports": tuple(range(601, 609)),
    "ifa_name_spaces": dict.fromkeys(range(15), (("node", 28),)),
}
"""As many mirrors and announcements as settings take."""


def test_mirrors_that_are_tried_in_vain_are_no_layers() -> None:
    row = only(in_gre("20006558000000ff", FRAME), **ALL)
    assert (row["status"], row["seq"], row.get("mirror_session")) == (0, 1000, None)
    row = only(in_gre("2000655800000010", FRAME), **ALL)
    assert (row["status"], row["seq"], row["mirror_session"]) == (0, 1000, 16)
    networks = FRAME
    for vni in (7, 99, 98, 97):
        head = bytes.fromhex("08000000") + (vni << 8).to_bytes(4, "big")
        networks = ethernet(ipv4(udp(head + networks, 4789), 17))
    row = only(networks, **ALL)
    assert (row["status"], row["seq"], row["mirror_session"]) == (0, 1000, 7)
