"""Frames written out by hand, octet by octet: no wire table is read here."""

from collections.abc import Iterable

import numpy as np

from collector import Frames

ETHERNET = bytes.fromhex("020000000002020000000001")
TPID = b"\x99\x00"
ETHERNET_LINK = 1


def frames_of(packets: Iterable[bytes], link: int = ETHERNET_LINK) -> Frames:
    """A run of whole frames, one a millisecond."""
    packets = list(packets)
    sizes = np.array([len(packet) for packet in packets], np.int64)
    data = np.frombuffer(b"".join(packets) + b"\0", np.uint8)
    data.flags.writeable = False
    return Frames(
        data=data,
        offset=np.cumsum(sizes) - sizes,
        captured=sizes.astype(np.int32),
        length=sizes.astype(np.int32),
        time_ns=np.arange(len(packets), dtype=np.int64) * 1_000_000,
        link=np.full(len(packets), link, np.uint16),
        interface=np.zeros(len(packets), np.uint16),
        first=1,
    )


def ipv4(payload: bytes, protocol: int = 6, dscp: int = 0, ecn: int = 0, source: int = 1) -> bytes:
    """An IPv4 header written out by hand, 10.0.0.`source` to 10.0.0.2."""
    head = bytes([0x45, dscp << 2 | ecn]) + (20 + len(payload)).to_bytes(2, "big")
    rest = b"\x00\x07\x40\x00\x40" + bytes([protocol]) + b"\0\0"
    return head + rest + bytes([10, 0, 0, source]) + bytes([10, 0, 0, 2]) + payload


def tcp(options: bytes = b"", payload: bytes = b"", flags: int = 0x10) -> bytes:
    """A TCP header, 40000 to 5001."""
    options += b"\x01" * (-len(options) % 4)
    ports = (40000).to_bytes(2, "big") + (5001).to_bytes(2, "big")
    numbers = (1000).to_bytes(4, "big") + (2000).to_bytes(4, "big")
    offset = (5 + len(options) // 4) << 12 | flags
    return ports + numbers + offset.to_bytes(2, "big") + b"\x10\x00\0\0\0\0" + options + payload


def udp(payload: bytes, dport: int) -> bytes:
    """A UDP header from port 40000."""
    ports = (40000).to_bytes(2, "big") + dport.to_bytes(2, "big")
    return ports + (8 + len(payload)).to_bytes(2, "big") + b"\0\0" + payload


def ethernet(payload: bytes, ethertype: int = 0x0800) -> bytes:
    """An Ethernet frame."""
    return ETHERNET + ethertype.to_bytes(2, "big") + payload


AECN = bytes.fromhex("06013e0700980000501e020103000000")
ADDRESSES = bytes.fromhex("fd" + "00" * 14 + "01" + "fd" + "00" * 14 + "02")


def aecn_frame(option: bytes = AECN) -> bytes:
    """The worked example in front of a TCP segment."""
    body = option + tcp(payload=b"data")
    head = bytes.fromhex("60000000") + len(body).to_bytes(2, "big") + b"\x00\x40"
    return ethernet(head + ADDRESSES + body, 0x86DD)


INT_UDP = bytes.fromhex(
    "9c40022b002c0000140723442000020690000000000000000000000203000123000000010000001064617461"
)
