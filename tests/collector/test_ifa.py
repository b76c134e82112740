"""IFA 2.0: the published vector, worked packets, a second reader, and other uses of its numbers."""

import random
from pathlib import Path
from typing import Any

import pytest
from octets import ADDRESSES, ethernet, frames_of, ipv4, tcp, udp
from plain import observed

from collector import CollectorSettings, Decoder, complete, open_capture
from collector.status import CODE

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
FRAMES = 3000
MOST_HOPS = 12
IFA, UDP, TCP = 253, 17, 6
NEWEST = bytes.fromhex("1042ff3d12e00a190040000136fe74423b9accd6000000000000000000000000")
OLDEST = bytes.fromhex("10b77f3f40000ec60001003f27e62cf83b9acc9c000000000000000000000000")
VECTOR = bytes.fromhex("2f1100ff"), bytes.fromhex("ffff1e10") + NEWEST + OLDEST
PORTS = bytes.fromhex("27104e20004c0000")
FULL = bytes.fromhex("1abcde4059b123450102 0304 05060708 090a0b0c fedcba98 0000 00a0 00000123")
"""A record whose every field differs."""
VENDOR = (("ttl", 4), ("tx_bytes", 64), ("reserved", 8), ("node", 16), ("cells", 32))
SETTINGS = CollectorSettings(
    ifa_versions=(2, 3), ifa_name_spaces={5: VENDOR}, ifa_cell_bytes=208, int_udp_ports=()
)
SPEEDS = {0: 10, 1: 25, 2: 40, 3: 50, 4: 100, 5: 200, 6: 400}


def packet(head: bytes, transport: bytes, behind: bytes, protocol: int = IFA) -> bytes:
    """An Ethernet frame with IFA between IPv4 and a transport header."""
    return ethernet(ipv4(head + transport + behind, protocol))


def row_of(frame: bytes, settings: CollectorSettings = SETTINGS) -> dict[str, Any]:
    """The only row of a frame."""
    (row,) = observed([frame], settings).to_dicts()
    return row


def hop(row: dict[str, Any], number: int) -> dict[str, Any]:
    """What is known of one hop."""
    prefix = f"h{number}_"
    return {name[len(prefix) :]: value for name, value in row.items()
            if name.startswith(prefix) and value is not None}  # fmt: skip


def test_the_published_vector() -> None:
    row = row_of(packet(VECTOR[0], PORTS, VECTOR[1]), CollectorSettings())
    assert [row[f"ifa_{name}"] for name in ("version", "namespace", "flags", "hop_limit")] == [
        2, 15, 0, 30,
    ]  # fmt: skip
    assert (row["protocol"], row["sport"], row["dport"]) == (UDP, 10000, 20000)
    assert (row["status"], row["hop_count"], row["payload_bytes"]) == (0, 2, 0)
    none = {"qlen_bytes": 0, "tx_bytes": 0, "buffer_bytes": 0, "congestion": 0}
    assert hop(row, 1) == none | {
        "node": 17151, "ttl": 61, "b_bps": 25_000_000_000, "queue": 46, "port": 64,
        "ingress_port": 1, "latency_ns": 1_000_000_726, "ingress_ts_ns": 2_585_922_645_570,
        "ts_ns": 2_586_922_646_296 }  # fmt: skip
    assert hop(row, 0) == none | {
        "node": 46975, "ttl": 63, "b_bps": 100_000_000_000, "queue": 0, "port": 1,
        "ingress_port": 63, "latency_ns": 1_000_000_668, "ingress_ts_ns": 3_782_669_396_216,
        "ts_ns": 3_783_669_396_884 }  # fmt: skip


def test_every_field_of_a_record() -> None:
    row = row_of(packet(b"\x2f\x11\x04\xff", PORTS, b"\xff\xc0\xff\x08" + FULL + b"abc"))
    assert hop(row, 0) == {
        "node": 0xABCDE, "ttl": 0x40, "b_bps": 200_000_000_000, "congestion": 2, "queue": 27,
        "ingress_ts_ns": 0x12345 * 10**9 + 0x05060708, "port": 0x0102, "ingress_port": 0x0304,
        "latency_ns": 0x090A0B0C, "ts_ns": 0x12345 * 10**9 + 0x05060708 + 0x090A0B0C,
        "tx_bytes": 0xFEDCBA98, "qlen_bytes": 0xA0 * 208, "buffer_bytes": 0x123 * 208,
    }  # fmt: skip
    assert (row["ifa_flags"], row["ifa_hop_limit"], row["payload_bytes"]) == (4, 255, 3)


def test_the_same_behind_tcp_with_options() -> None:
    segment = tcp(bytes.fromhex("0101080a0000000500000006"))
    row = row_of(packet(b"\x2f\x06\x00\xff", segment, VECTOR[1] + b"data"))
    assert [row[name] for name in ("protocol", "sport", "dport", "seq", "ts_val")] == [
        TCP, 40000, 5001, 1000, 5,
    ]  # fmt: skip
    assert (row["hop_count"], row["h0_node"], row["payload_bytes"]) == (2, 46975, 4)


@pytest.mark.parametrize(
    ("order", "flags", "extra"),
    [
        ("draft", 0x01, b"\xab\xcd\0\0"),
        ("draft", 0x10, b"\0\1\2\3"),
        ("draft", 0x11, b"\xab\xcd\0\0" + b"\0\1\2\3"),
        ("reversed", 0x80, b"\xab\xcd\0\0"),
        ("reversed", 0x08, b"\0\1\2\3"),
        ("reversed", 0x88, b"\xab\xcd\0\0" + b"\0\1\2\3"),
    ],
)
def test_a_checksum_and_a_fragment_header_by_both_orders_of_flags(
    order: Any, flags: int, extra: bytes
) -> None:
    behind = VECTOR[1][:4] + extra + VECTOR[1][4:] + b"data"
    row = row_of(packet(bytes([0x2F, 17, flags, 255]), PORTS, behind),
                 CollectorSettings(ifa_flag_order=order))  # fmt: skip
    assert (row["hop_count"], row["h0_node"], row["payload_bytes"]) == (2, 46975, 4)
    swapped = int(f"{flags:08b}"[::-1], 2)
    assert row["ifa_flags"] == (flags if order == "draft" else swapped)


def test_a_tail_stamp_lies_behind_the_payload() -> None:
    inner = ethernet(ipv4(tcp(payload=b"inside"), source=9))
    vxlan = PORTS[:2] + (4789).to_bytes(2, "big") + PORTS[4:]
    for flag, behind in ((8, inner + VECTOR[1][4:]), (0, inner)):
        stack = b"" if flag else VECTOR[1][4:]
        head = bytes([0x2F, 17, flag, 255])
        tunnel = bytes.fromhex("0800000000123400")
        row = row_of(packet(head, vxlan, VECTOR[1][:4] + stack + tunnel + behind))
        assert (row["status"], row["hop_count"], row["h1_node"], row["vni"]) == (
            0, 2, 17151, 0x1234,
        )  # fmt: skip
        assert (row["src_lo"] & 0xFF, row["protocol"], row["payload_bytes"]) == (9, 6, 6)


def test_a_global_name_space_says_how_all_records_are_laid_out() -> None:
    anonymous = b"\x00" + NEWEST[1:]
    row = row_of(packet(b"\x21\x11\x00\xff", PORTS, b"\0\0\xff\x08" + anonymous))
    assert (row["hop_count"], row["h0_node"], row["ifa_namespace"]) == (1, 0x042FF, 1)


def test_what_a_vendors_field_cannot_tell_in_its_column_is_null() -> None:
    settings = CollectorSettings(ifa_name_spaces={2: (("node", 28), ("queue", 32))})
    records = bytes.fromhex("2abcdef1000000ff" + "20000002" + "00000100")
    row = row_of(packet(b"\x22\x11\x00\xff", PORTS, b"\0\0\xff\x04" + records), settings)
    assert (hop(row, 1), hop(row, 0)) == ({"node": 0xABCDEF1, "queue": 255}, {"node": 2})


@pytest.mark.parametrize(
    ("words", "stack", "hops"),
    [
        (9, NEWEST + b"\x10\0\0\0", 1),
        (7, NEWEST[:28], 0),
        (16, NEWEST + b"\x70" + OLDEST[1:], 1),
    ],
)
def test_stacks_that_are_no_whole_records_keep_those_that_are(
    words: int, stack: bytes, hops: int
) -> None:
    decoder = Decoder(CollectorSettings())
    frame = packet(VECTOR[0], PORTS, b"\xff\xff\x1e" + bytes([words]) + stack)
    (row,) = decoder.decode(frames_of([frame]), ["tap"], "test").to_dicts()
    assert decoder.accounting.reasons == {"ifa_bad_length": 1}
    assert (row["hop_count"], row.get("h0_node")) == (hops, 17151 if hops else None)


@pytest.mark.parametrize(
    ("octets", "settings"),
    [
        (b"hello-unknown-proto", {}),
        (b"\x3f\x11\x00\xff" + PORTS, {}),
        (b"\x2f\x29\x00\xff" + PORTS, {}),
        (b"\x2f\x11\x00\xff" + PORTS, {"ifa_protocols": ()}),
    ],
)
def test_other_uses_of_its_protocol_number_are_payload(
    octets: bytes, settings: dict[str, Any]
) -> None:
    row = row_of(packet(octets, b"", b""), CollectorSettings(**settings))
    assert (row["status"], row["protocol"], row["payload_bytes"]) == (0, IFA, len(octets))
    assert "ifa_version" not in row
    assert "sport" not in row


@pytest.mark.sampled(8)
@pytest.mark.skipif(not CAPTURES.exists(), reason="captures of others are not part of a clone")
@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap")), ids=lambda path: path.stem)
def test_only_the_vector_among_the_captures_of_others_is_read(path: Path) -> None:
    decoder = Decoder(CollectorSettings())
    with open_capture(path) as capture:
        for frames in capture.chunks():
            rows = complete(decoder.decode(frames, capture.points, "test"))
            vector = path.stem == "gopacket_ifa_vector"
            assert rows["ifa_version"].drop_nulls().to_list() == ([2] if vector else [])
            assert not vector or rows["h1_node"].to_list() == [17151]


def test_name_spaces_are_whole_words() -> None:
    with pytest.raises(ValueError, match="IFA name space 5: records are not whole words"):
        CollectorSettings(ifa_name_spaces={5: (("node", 20),)})
    with pytest.raises(ValueError, match="IFA name space 6: tx_bytes spans more than 8 octets"):
        CollectorSettings(ifa_name_spaces={6: (("tx_bytes", 64), ("node", 28))})
    with pytest.raises(ValueError, match="IFA name space 15: not within 0 and 14"):
        CollectorSettings(ifa_name_spaces={15: (("node", 28),)})


def make(draw: random.Random) -> tuple[bytes, dict[str, int]]:
    """A frame and what it says; one in eight has a stack that ends within a record."""
    stack = b""
    hops: list[dict[str, int]] = []
    for _ in range(draw.choice((0, 1, 2, 5, 7, 13))):
        octets, told = draw.choice((standard, vendor))(draw)
        stack, hops = stack + octets, [told, *hops]
    broken = bool(hops) and draw.random() < 0.125
    stack += draw.choice((b"\x10\0\0\0", b"\x90\0\0\0")) if broken else b""
    flags = draw.getrandbits(5)
    tail, payload = flags & 8, draw.randbytes(draw.randrange(1, 20))
    limit, over = draw.randrange(256), draw.choice((TCP, UDP))
    behind = draw.randbytes(2) + bytes([limit, len(stack) // 4])
    behind += draw.randbytes(4 * ((flags & 1) + (flags >> 4)))
    behind += payload + stack if tail else stack + payload
    if over == TCP:
        transport = tcp(draw.choice((b"", b"\x02\x04\x05\xb4")))
    else:
        transport = udp(b"", 50001)[:4] + draw.randbytes(4)
    head = bytes([draw.choice((0x2F, 0x3F)), over, flags | draw.getrandbits(3) << 5, 200])
    protocol = draw.choice((253, 131))
    body = head + transport + behind
    if draw.random() < 0.5:
        frame = ethernet(ipv4(body, protocol))
    else:
        length = len(body).to_bytes(2, "big") + bytes([protocol, 64])
        frame = ethernet(bytes.fromhex("60000000") + length + ADDRESSES + body, 0x86DD)
    many = "too_many_hops" if len(hops) > MOST_HOPS else "decoded"
    reason = "ifa_bad_length" if broken else many
    expected = {
        "status": CODE[reason], "ifa_version": head[0] >> 4, "ifa_namespace": 15,
        "ifa_flags": flags, "ifa_hop_limit": limit, "protocol": over,
        "hop_count": min(len(hops), MOST_HOPS),
        "sport": 40000, "dport": 5001 if over == TCP else 50001, "payload_bytes": len(payload),
    }  # fmt: skip
    named = {f"h{at}_{name}": value for at, told in enumerate(hops[:MOST_HOPS])
             for name, value in told.items()}  # fmt: skip
    return frame, expected | named


def standard(draw: random.Random) -> tuple[bytes, dict[str, int]]:
    """A record of name space 1, and what it says."""
    words = [draw.getrandbits(32) if draw.random() < 0.9 else 0xFFFFFFFF for _ in range(8)]
    words[0] = 1 << 28 | words[0] & 0xFFFFFFF
    received = (words[1] & 0xFFFFF) * 10**9 + words[3]
    told = {
        "node": words[0] >> 8 & 0xFFFFF, "ttl": words[0] & 0xFF, "port": words[2] >> 16,
        "congestion": words[1] >> 26 & 3, "queue": words[1] >> 20 & 63, "tx_bytes": words[5],
        "ingress_port": words[2] & 0xFFFF, "latency_ns": words[4], "ingress_ts_ns": received,
        "ts_ns": received + words[4], "qlen_bytes": (words[6] & 0xFFFF) * 208,
        "buffer_bytes": words[7] * 208,
    }  # fmt: skip
    if (code := words[1] >> 28) in SPEEDS:
        told["b_bps"] = SPEEDS[code] * 10**9
    return b"".join(word.to_bytes(4, "big") for word in words), told


def vendor(draw: random.Random) -> tuple[bytes, dict[str, int]]:
    """A record of name space 5, by the schema in the settings, and what it says."""
    value = draw.getrandbits(124)
    told = {"ttl": value >> 120, "tx_bytes": value >> 56 & (1 << 64) - 1,
            "node": value >> 32 & 0xFFFF, "qlen_bytes": (value & 0xFFFFFFFF) * 208}  # fmt: skip
    return (5 << 124 | value).to_bytes(16, "big"), told


def test_the_second_reader_agrees_on_every_field_of_every_frame() -> None:
    draw = random.Random(253)
    made = [make(draw) for _ in range(FRAMES)]
    rows = complete(Decoder(SETTINGS).decode(frames_of([f for f, _ in made]), ["tap"], "test"))
    hops = [name for name in rows.columns if name[0] == "h" and name[1].isdigit()]
    for row, (_, expected) in zip(rows.to_dicts(), made, strict=True):
        assert {name: row[name] for name in expected} == expected
        assert {name for name in hops if row[name] is not None} <= expected.keys()


def test_what_a_wide_record_says_beyond_a_column_is_null() -> None:
    wide = (("reserved", 28), ("cells", 64), ("seconds", 64), ("nanoseconds", 32))
    settings = CollectorSettings(ifa_name_spaces={5: wide}, ifa_cell_bytes=208)
    for cells, seconds in ((88_686_269_585_142_075, 18_446_744_072), (1 << 63, 1 << 60)):
        record = (5 << 28).to_bytes(4) + cells.to_bytes(8) + seconds.to_bytes(8) + bytes(4)
        row = row_of(
            packet(bytes.fromhex("2f1100ff"), PORTS, b"\xff\xff\x1e\x06" + record), settings
        )
        fits = cells < 1 << 63
        assert row["h0_qlen_bytes"] == (208 * cells if fits else None)
        assert row["h0_ts_ns"] == (1_000_000_000 * seconds if fits else None)
