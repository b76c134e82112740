"""A second reader, written from the documents without a wire table, agrees with the decoder."""

import random
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from octets import ETHERNET, ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder, complete

FRAMES = 3000
EXID = 0xC516
WIDTHS = (4, 4, 4, 4, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4)
"""Octets of each baseline instruction, from its first bit on."""
DOMAIN = (8, 4)
AECN = ("inflight_ratio", "dre", "queue_utilization", "queue_delay", "congested_hops",
        "available_bandwidth")  # fmt: skip
COMPUTED = ("aecn_u", "aecn_dre_ratio", "aecn_queue_ratio", "aecn_queue_delay_ns", "aecn_abw_bps",
            "aecn_saturated", "aecn_rest_bytes")  # fmt: skip
"""AECN in units, which its own tests read again."""


@dataclass
class Reader:
    """Takes big-endian numbers off the front of some octets."""

    octets: bytes
    at: int = 0
    found: dict[str, Any] = field(default_factory=dict)

    def take(self, count: int) -> int:
        value = int.from_bytes(self.octets[self.at : self.at + count], "big")
        self.at += count
        return value

    @property
    def left(self) -> int:
        return len(self.octets) - self.at


def read_frame(octets: bytes) -> dict[str, Any]:
    """What a frame made by `make` says, by the names of the observation's columns."""
    reader = Reader(octets, at=12)
    ethertype = reader.take(2)
    while ethertype == 0x8100:
        reader.take(2)
        ethertype = reader.take(2)
    if ethertype in (0x9900, 0x9901):
        reader.found |= signal("csig", reader.take(2 if ethertype == 0x9900 else 6), ethertype & 1)
        ethertype = reader.take(2)
    protocol = read_ipv4(reader) if ethertype == 0x0800 else read_ipv6(reader)
    reader.found["protocol"] = protocol
    reader.found |= {"sport": reader.take(2), "dport": reader.take(2)}
    if protocol == 6:
        read_tcp(reader)
    else:
        reader.take(4)
    if reader.found["dscp"] == 23 or reader.found["dport"] == 555:
        read_int(reader)
    reader.found["payload_bytes"] = reader.left
    return reader.found


def signal(prefix: str, value: int, expanded: int) -> dict[str, Any]:
    """Figures 2 and 3 of the draft."""
    if expanded:
        lm, t, s = value >> 32, value >> 28 & 15, value >> 8 & 0xFFFFF
    else:
        t, s, lm = value >> 13, value >> 7 & 31, value & 127
    return {f"{prefix}_variant": 1 + expanded, f"{prefix}_t": t, f"{prefix}_s": s,
            f"{prefix}_lm": lm}  # fmt: skip


def read_ipv4(reader: Reader) -> int:
    words, traffic = reader.take(1) & 15, reader.take(1)
    reader.found |= {"dscp": traffic >> 2, "ecn": traffic & 3, "ttl": reader.octets[reader.at + 6]}
    reader.take(7)
    protocol = reader.take(1)
    reader.take(2)
    reader.found |= {"src_lo": reader.take(4) + 0xFFFF_0000_0000}
    reader.found |= {"dst_lo": reader.take(4) + 0xFFFF_0000_0000}
    reader.take(4 * words - 20)
    return protocol


def read_ipv6(reader: Reader) -> int:
    first = reader.take(4)
    reader.found |= {"dscp": first >> 22 & 63, "ecn": first >> 20 & 3}
    reader.take(2)
    following, reader.found["ttl"] = reader.take(1), reader.take(1)
    for name in ("src_hi", "src_lo", "dst_hi", "dst_lo"):
        reader.found[name] = reader.take(8)
    if following == 0:
        following, end = reader.take(1), reader.at - 1 + 8 * (reader.take(1) + 1)
        while reader.at < end:
            kind = reader.take(1)
            length = reader.take(1) if kind else 0
            stop = reader.at + length
            if kind == 0x3E:
                read_aecn(reader)
            reader.at = stop
    return following


def read_aecn(reader: Reader) -> None:
    reader.found |= {"aecn_flags": reader.take(1), "aecn_type": reader.take(3)}
    for bit, name in enumerate(AECN):
        if reader.found["aecn_type"] & 1 << 23 - bit:
            reader.found[f"aecn_{name}"] = reader.take(1)


def read_tcp(reader: Reader) -> None:
    reader.found |= {"seq": reader.take(4), "ack": reader.take(4)}
    word = reader.take(2)
    reader.found |= {"flags": word & 0x1FF, "window": reader.take(2)}
    reader.take(4)
    end = reader.at + 4 * (word >> 12) - 20
    while reader.at < end:
        kind = reader.take(1)
        if kind == 1:
            continue
        length = reader.take(1)
        stop = reader.at + length - 2
        if kind == 8:
            reader.found |= {"ts_val": reader.take(4), "ts_ecr": reader.take(4)}
        elif kind == 5:
            for edge in range((length - 2) // 4):
                name = f"sack{edge // 2}_{'right' if edge % 2 else 'left'}"
                reader.found[name] = reader.take(4)
        elif kind == 253 and reader.take(2) == EXID:
            reader.found |= signal("csig_echo", reader.take(length - 4), int(length == 10))
        reader.at = stop


def read_int(reader: Reader) -> None:
    """INT-MD v2.1: shim, header, stack; the newest hop stands first."""
    shim = reader.take(4)
    stack = 4 * (shim >> 16 & 0xFF) - 12
    first = reader.take(4)
    bitmap, domain, own = reader.take(2), reader.take(2), reader.take(2)
    reader.take(2)
    if reader.found["dscp"] == 23:
        reader.found["dscp"] = shim >> 2 & 63
    if shim >> 26 & 3 == 1:
        reader.found["dport"] = shim & 0xFFFF
    hops = stack // (4 * (first >> 8 & 31))
    reader.found |= {"int_version": first >> 28, "int_flags": first >> 25 & 7,
                     "int_remaining_hops": first & 0xFF, "int_domain": domain,
                     "hop_count": hops}  # fmt: skip
    for hop in reversed(range(hops)):
        read_hop(reader, f"h{hop}", bitmap, own)


def read_hop(reader: Reader, prefix: str, bitmap: int, own: int) -> None:
    """One record: baseline metadata, the domain's, then the checksum complement."""
    values: dict[int, int] = {}
    for bit, width in enumerate(WIDTHS[:15]):
        if bitmap & 0x8000 >> bit:
            values[bit] = reader.take(width)
    for bit, width in enumerate(DOMAIN):
        if own & 0x8000 >> bit:
            values[16 + bit] = reader.take(width)
    if bitmap & 1 and (complement := reader.take(4)) != 0xFFFFFFFF:
        reader.found[f"{prefix}_complement"] = complement
    columns = (("node", 0, 32, 1), ("port", 1, 16, 1), ("latency_ns", 2, 32, 1),
               ("qlen_bytes", 3, 24, 1), ("ts_ns", 5, 64, 1), ("tx_bytes", 16, 64, 1),
               ("b_bps", 17, 32, 1_000_000), ("ingress_ts_ns", 4, 64, 1), ("l2_port", 6, 32, 1),
               ("buffer_bytes", 8, 24, 1))  # fmt: skip
    for name, bit, bits, unit in columns:
        if bit in values and (value := values[bit] & (1 << bits) - 1) != (1 << bits) - 1:
            reader.found[f"{prefix}_{name}"] = value * unit
    upper = (("ingress_port", 1, 16, 16), ("queue", 3, 24, 8), ("l2_ingress_port", 6, 32, 32),
             ("buffer", 8, 24, 8))  # fmt: skip
    for name, bit, low, bits in upper:
        if bit in values and (value := values[bit] >> low) != (1 << bits) - 1:
            reader.found[f"{prefix}_{name}"] = value


def make(draw: random.Random) -> bytes:
    """A frame with random telemetry at random places."""
    inband, dscp = b"", draw.choice((0, 10, 46))
    if by_dscp := draw.random() < 0.3:
        inband, dscp = make_int(draw, port=0), 23
    if draw.random() < 0.6:
        transport, protocol = make_tcp(draw, inband), 6
    elif by_dscp or draw.random() < 0.5:
        transport, protocol = udp(inband + draw.randbytes(draw.randrange(9)), 5001), 17
    else:
        port = draw.randrange(10000, 20000)
        transport, protocol = udp(make_int(draw, port) + draw.randbytes(draw.randrange(9)), 555), 17
    traffic = dscp, draw.randrange(4)
    if draw.random() < 0.5:
        packet = b"\x08\x00" + ipv4(transport, protocol, *traffic, source=draw.randrange(256))
    else:
        packet = b"\x86\xdd" + make_ipv6(draw, transport, protocol, traffic)
    tags = b"".join(b"\x81\x00" + draw.randbytes(2) for _ in range(draw.choice((0, 0, 1, 2))))
    tags += draw.choice((b"", b"\x99\x00" + draw.randbytes(2), b"\x99\x01" + draw.randbytes(6)))
    return ETHERNET + tags + packet


def make_int(draw: random.Random, port: int) -> bytes:
    bitmap, own, hops = draw.getrandbits(16), draw.getrandbits(2) << 14, draw.randrange(5)
    bitmap &= 0xFFFF if draw.random() < 0.2 else 0xFF81
    widths = [width for bit, width in enumerate(WIDTHS) if bitmap & 0x8000 >> bit]
    widths += [width for bit, width in enumerate(DOMAIN) if own & 0x8000 >> bit]
    words = sum(widths) // 4 or 1
    hops = min(hops, (255 - 3) // words)
    stack = b"".join(
        draw.choice((b"\xff" * 4, draw.randbytes(4), draw.randbytes(4)))
        for _ in range(words * hops)
    )
    shim = bytes([0x14 if port else 0x10, 3 + words * hops]) + port.to_bytes(2, "big")
    first = 2 << 28 | draw.getrandbits(3) << 25 | words << 8 | draw.getrandbits(8)
    return (
        shim + first.to_bytes(4, "big") + bitmap.to_bytes(2, "big") + draw.randbytes(2)
        + own.to_bytes(2, "big") + bytes(2) + stack
    )  # fmt: skip


def make_tcp(draw: random.Random, inband: bytes) -> bytes:
    options = draw.choice(
        (
            b"",
            b"\x01\x01\x08\x0a" + draw.randbytes(8),
            b"\xfd\x06" + EXID.to_bytes(2, "big") + draw.randbytes(2),
            b"\xfd\x0a" + EXID.to_bytes(2, "big") + draw.randbytes(6),
            b"\xfd\x06\xac\xc0" + draw.randbytes(2),
            b"\x01\x05\x12" + draw.randbytes(16) + b"\xfe\x04\xac\xce",
            b"\x05\x22" + draw.randbytes(32),
        )
    )
    octets = bytearray(
        tcp(options, inband + draw.randbytes(draw.randrange(9)), draw.getrandbits(9))
    )
    octets[0:12] = draw.randbytes(2) + (5001).to_bytes(2, "big") + draw.randbytes(8)
    return bytes(octets)


def make_ipv6(
    draw: random.Random, transport: bytes, protocol: int, traffic: tuple[int, int]
) -> bytes:
    chain, following = b"", protocol
    if draw.random() < 0.7:
        bits = draw.getrandbits(6) << 18
        option = b"\x3e" + bytes([4 + bits.bit_count(), draw.getrandbits(7) << 1])
        option += bits.to_bytes(3, "big") + draw.randbytes(bits.bit_count())
        pad = -(len(option) + 2) % 8
        option += b"\0" if pad == 1 else b"\x01" + bytes([pad - 2]) + bytes(pad - 2) if pad else b""
        chain, following = bytes([protocol, (len(option) + 2) // 8 - 1]) + option, 0
    first = 6 << 28 | traffic[0] << 22 | traffic[1] << 20 | draw.getrandbits(20)
    body = chain + transport
    return (
        first.to_bytes(4, "big") + len(body).to_bytes(2, "big") + bytes([following, 64])
        + draw.randbytes(32) + body
    )  # fmt: skip


def test_the_second_reader_agrees_on_every_field_of_every_frame() -> None:
    draw = random.Random(20)
    packets = [make(draw) for _ in range(FRAMES)]
    decoder = Decoder(CollectorSettings(int_dscp=23))
    rows = complete(decoder.decode(frames_of(packets), ["tap"], "test"))
    assert decoder.accounting.reasons == {}
    expected = [read_frame(packet) for packet in packets]
    names = sorted({name for row in expected for name in row})
    for name in names:
        told = pl.Series([row.get(name) for row in expected], dtype=pl.UInt64)
        if name in {"src_hi", "dst_hi", "hop_count"}:
            told = told.fill_null(0)
        assert rows[name].cast(pl.UInt64).to_list() == told.to_list(), name
    assert {name for name in rows.columns if name.startswith(("aecn_", "h0_")) and (
        rows[name].null_count() < FRAMES
    )} <= {*names, *COMPUTED}  # fmt: skip


def test_the_second_reader_reads_the_worked_example() -> None:
    octets = bytes.fromhex(
        "9c40022b002c0000140723442000020690000000000000000000000203000123000000010000001064617461"
    )
    row = read_frame(ethernet(ipv4(octets, protocol=17)))
    assert (row["dport"], row["hop_count"], row["h0_node"], row["h1_node"]) == (9028, 2, 1, 2)
    assert (row["h0_qlen_bytes"], row["h1_qlen_bytes"], row["payload_bytes"]) == (16, 0x123, 4)
