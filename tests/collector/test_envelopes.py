"""What carries a flow, octet by octet: links, tags, tunnels and mirrors, around one segment."""

from typing import Any

import pytest
from octets import ETHERNET, TPID, ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder

SEGMENT = ipv4(tcp(payload=b"data"), dscp=10, ecn=2, source=9)
INNER = ethernet(SEGMENT)
SIX = bytes.fromhex("62a00000001814ff") + bytes(15) + b"\x0a" + bytes(15) + b"\x0b"


def ipv6(payload: bytes, following: int) -> bytes:
    """An IPv6 header, ::a to ::b."""
    length = len(payload).to_bytes(2, "big")
    return SIX[:4] + length + bytes([following]) + SIX[7:] + payload


def gre(head: str, payload: bytes) -> bytes:
    """An outer IPv4 header, marked CE, and GRE."""
    return ethernet(ipv4(bytes.fromhex(head) + payload, protocol=47, ecn=3, source=77))


def over_udp(port: int, head: str, payload: bytes) -> bytes:
    """An outer IPv4 header, marked CE, and UDP."""
    return ethernet(ipv4(udp(bytes.fromhex(head) + payload, port), protocol=17, ecn=3, source=77))


def decode(frame: bytes, link: int = 1, **settings: Any) -> tuple[list[dict[str, Any]], Decoder]:
    """Rows of one frame, and the accounting."""
    decoder = Decoder(CollectorSettings(**settings))
    return decoder.decode(frames_of([frame], link), ["tap"], "test").to_dicts(), decoder


CARRIERS = {
    "ethernet": (INNER, None, None),
    "vlan": (ethernet(b"\x00\x64\x08\x00" + SEGMENT, 0x8100), None, None),
    "qinq": (ethernet(bytes.fromhex("0064810000c80800") + SEGMENT, 0x88A8), None, None),
    "snap": (ethernet(bytes.fromhex("aaaa030000000800") + SEGMENT, 8 + len(SEGMENT)), None, None),
    "macsec": (ethernet(bytes.fromhex("0000000000070800") + SEGMENT, 0x88E5), None, None),
    "macsec channel": (
        ethernet(bytes.fromhex("20000000000700112233445500010800") + SEGMENT + bytes(16), 0x88E5),
        None,
        None,
    ),
    "mpls": (ethernet(bytes.fromhex("0001003f0002013f") + SEGMENT, 0x8847), None, None),
    "gre": (gre("00000800", SEGMENT), 3, None),
    "gre checksum": (gre("80000800" + "00" * 4, SEGMENT), 3, None),
    "gre checksum key sequence": (gre("b0000800" + "00" * 12, SEGMENT), 3, None),
    "gre ethernet": (gre("20006558" + "00000007", INNER), 3, None),
    "gre security group": (gre("20008909000000280800010100010000", SEGMENT), 3,
                           None),
    "ip in ip": (ethernet(ipv4(SEGMENT, protocol=4, ecn=1)), 1, None),
    "ip in ipv6": (ethernet(ipv6(SEGMENT, 4), 0x86DD), 2, None),
    "erspan i": (gre("000088be", INNER), None, None),
    "erspan ii": (gre("100088be00000007" + "12aa96aa155f0f0f", INNER), None, None),
    "erspan iii": (gre("100022eb00000007" + "206400013b9aca0000008004", INNER), None, None),
    "erspan iii subheader": (
        gre("100022eb00000007" + "206400013b9aca00000080350c0000006553f100", INNER),
        None,
        None,
    ),
    "erspan iii ip": (gre("100022eb00000007" + "206400013b9aca0000000804", SEGMENT), None, None),
    "vxlan": (over_udp(4789, "0800000000123400", INNER), 3, 0x1234),
    "vxlan legacy port": (over_udp(8472, "0800000000123400", INNER), 3, 0x1234),
    "vxlan gpe": (over_udp(4790, "0c00000100123400", SEGMENT), 3, 0x1234),
    "nsh": (over_udp(4790, "0c00000400123400" + "0fc6010100000aff" + "00" * 16, SEGMENT), 3,
            0x1234),
    "geneve": (over_udp(6081, "0000655800123400", INNER), 3, 0x1234),
    "geneve options": (over_udp(6081, "0200080000123400" + "0103000100000000", SEGMENT), 3, 0x1234),
}  # fmt: skip


@pytest.mark.parametrize("name", CARRIERS)
def test_the_innermost_segment_is_the_flow(name: str) -> None:
    frame, outer_ecn, vni = CARRIERS[name]
    (row,), decoder = decode(frame)
    assert decoder.accounting.reasons == {}
    found = {key: row[key] for key in ("src_lo", "sport", "dport", "seq", "ack", "dscp", "ecn")}
    assert found == {
        "src_lo": 0xFFFF_0A00_0009, "sport": 40000, "dport": 5001, "seq": 1000, "ack": 2000,
        "dscp": 10, "ecn": 2,
    }  # fmt: skip
    assert (row.get("outer_ecn"), row.get("vni"), row["payload_bytes"]) == (outer_ecn, vni, 4)


@pytest.mark.parametrize(
    ("link", "head"),
    [
        (101, ""),
        (12, ""),
        (228, ""),
        (0, "02000000"),
        (108, "00000002"),
        (9, "0021"),
        (113, "0000000100060200000000010000" + "0800"),
        (276, "0800" + "0000" + "00000003" + "0001" + "00" + "06" + "0200000000010000"),
    ],
)
def test_every_link_layer_leads_to_the_flow(link: int, head: str) -> None:
    (row,), _ = decode(bytes.fromhex(head) + SEGMENT, link)
    assert (row["status"], row["src_lo"], row["seq"]) == (0, 0xFFFF_0A00_0009, 1000)


def test_ipv6_extension_headers_are_passed() -> None:
    options = bytes.fromhex("2b00010400000000")
    routing = bytes.fromhex("3c02040000000000") + bytes(16)
    destination = bytes.fromhex("2c00010400000000")
    fragment = bytes.fromhex("3300000000000009")
    authentication = bytes.fromhex("0602000000000001") + bytes(8)
    chain = options + routing + destination + fragment + authentication
    (row,), _ = decode(ethernet(ipv6(chain + tcp(payload=b"x"), 0), 0x86DD))
    assert (row["status"], row["protocol"], row["payload_bytes"]) == (0, 6, 1)
    assert (row["src_hi"], row["src_lo"], row["dst_lo"]) == (0, 10, 11)
    assert (row["dscp"], row["ecn"], row["ttl"]) == (10, 2, 0xFF)


def test_a_mirror_forgets_the_tag_that_its_own_transport_carried() -> None:
    tagged = ETHERNET + TPID + bytes.fromhex("2b850800")
    mirror = gre("100088be00000007" + "12aa96aa155f0f0f", INNER)[14:]
    (row,), _ = decode(tagged + mirror)
    assert row.get("csig_variant") is None
    assert (row["ecn"], row.get("outer_ecn")) == (2, None)
    (inside,), _ = decode(gre("100088be00000007" + "12aa96aa155f0f0f", tagged + SEGMENT))
    assert (inside["csig_variant"], inside["csig_s"], inside.get("outer_ecn")) == (1, 0x17, None)


def test_a_mirror_of_an_overlay_keeps_the_mark_of_the_overlay_only() -> None:
    overlay = ethernet(ipv4(udp(bytes.fromhex("0800000000123400") + INNER, 4789), 17, ecn=1))
    (row,), _ = decode(gre("100088be00000007" + "12aa96aa155f0f0f", overlay))
    assert (row["ecn"], row["outer_ecn"], row["vni"]) == (2, 1, 0x1234)


def test_an_overlay_leaves_nothing_of_its_outer_flow_behind() -> None:
    ping = ipv4(bytes.fromhex("0800000000010001"), protocol=1)
    (row,), _ = decode(over_udp(4789, "0800000000123400", ethernet(ping)))
    assert (row["sport"], row["dport"], row["protocol"], row.get("seq")) == (0, 0, 1, None)


@pytest.mark.parametrize(
    ("frame", "link", "reason", "rows"),
    [
        (ethernet(bytes(28), 0x0806), 1, "unknown_ethertype", 0),
        (ethernet(bytes(28), 0x88CC), 1, "unknown_ethertype", 0),
        (ethernet(bytes.fromhex("424203") + bytes(43), 38), 1, "unknown_ethertype", 0),
        (ethernet(bytes.fromhex("2c0000000007") + bytes(60), 0x88E5), 1, "encrypted", 0),
        (gre("20008909000000280800020100010000", SEGMENT), 1,
         "unknown_ethertype", 0),
        (INNER, 147, "unknown_link_type", 0),
        (ethernet(SEGMENT, 0x86DD), 1, "bad_version", 0),
        (over_udp(6081, "8000655800123400", INNER), 1, "bad_version", 1),
        (ethernet(b"\x44" + SEGMENT[1:]), 1, "bad_length", 0),
        (ethernet(SEGMENT[:2] + b"\x00\x13" + SEGMENT[4:]), 1, "bad_length", 0),
        (ethernet(SEGMENT[:32] + b"\x40" + SEGMENT[33:]), 1, "bad_length", 0),
        (ethernet(SEGMENT[:6] + b"\x00\x01" + SEGMENT[8:]), 1, "fragment", 0),
        (ethernet(ipv6(bytes.fromhex("0600000800000009") + tcp(), 44), 0x86DD), 1, "fragment", 0),
        (ethernet(ipv4(tcp(bytes.fromhex("02ff0000")))), 1, "bad_option", 1),
        (ethernet(ipv4(tcp(bytes.fromhex("02000000")))), 1, "bad_option", 1),
        (ethernet(bytes.fromhex("00648100") * 30 + SEGMENT, 0x8100), 1, "too_many_layers", 0),
        (ethernet(SEGMENT[:30]), 1, "truncated", 0),
        (b"\0" * 13, 1, "truncated", 0),
        (b"", 1, "truncated", 0),
        (ethernet(ipv6(bytes.fromhex("06003e0200980000"), 0), 0x86DD), 1, "bad_option", 0),
        (ethernet(ipv6(bytes.fromhex("06003e0400980000") + tcp(), 0), 0x86DD), 1,
         "aecn_bad_length", 1),
    ],
)  # fmt: skip
def test_each_frame_ends_in_its_reason(frame: bytes, link: int, reason: str, rows: int) -> None:
    found, decoder = decode(frame, link)
    assert decoder.accounting.reasons == {reason: 1}
    assert (decoder.accounting.seen, decoder.accounting.decoded) == (1, 0)
    assert len(found) == rows


INT = "20000106" + "8000" + "0000" + "00000000" + "00000007"


def announced(shim: str, payload: bytes) -> bytes:
    """INT with one hop, announced by the UDP port, in front of `payload`."""
    return ethernet(ipv4(udp(bytes.fromhex(shim + INT) + payload, 555), protocol=17, ecn=3))


def test_telemetry_on_an_overlay_leaves_the_inner_port_alone() -> None:
    vxlan = bytes.fromhex("0800000000123400")
    (row,), _ = decode(announced("140412b5", vxlan + INNER))
    assert (row["vni"], row["hop_count"], row["h0_node"]) == (0x1234, 1, 7)
    assert (row["sport"], row["dport"], row["protocol"], row["seq"]) == (40000, 5001, 6, 1000)
    (outer,), _ = decode(announced("140412b5", b""))
    assert (outer["dport"], outer["protocol"]) == (4789, 17)


def test_a_flow_behind_a_udp_header_of_telemetry_is_the_flow() -> None:
    (row,), _ = decode(announced("18040006", tcp(payload=b"data")))
    (plain,), _ = decode(ethernet(ipv4(tcp(payload=b"data"))))
    names = ("sport", "dport", "protocol", "seq", "payload_bytes", "flow", "conversation")
    assert {name: row[name] for name in names} == {name: plain[name] for name in names}
    assert row["h0_node"] == 7


def test_what_is_wrong_in_an_option_does_not_hide_the_flow_behind_it() -> None:
    chain = bytes.fromhex("06003e0400980000") + tcp(payload=b"x")
    (row,), decoder = decode(ethernet(ipv6(chain, 0), 0x86DD))
    assert decoder.accounting.reasons == {"aecn_bad_length": 1}
    assert (row["seq"], row["payload_bytes"], row["protocol"]) == (1000, 1, 6)
