"""Frames with the trailer of a Metamako device, and a reader of it, by its picture.

The last sixteen octets of a frame: original check sequence 4 | seconds 4 | nanoseconds 4 |
reserved 6 bits, extended, valid | device 2 | port 1
"""

import random

from octets import ETHERNET, ethernet, ipv4, tcp, udp

TRAILER = 16
VLAN = bytes.fromhex("00640800")


def make(draw: random.Random) -> bytes:
    """A frame with a trailer; some are too short for it, or say nothing of their length."""
    if draw.random() < 0.1:
        return draw.randbytes(draw.randrange(TRAILER))
    return packet(draw) + draw.randbytes(TRAILER)


def packet(draw: random.Random) -> bytes:
    """What the device copied."""
    kind = draw.randrange(6)
    payload = draw.randbytes(draw.randrange(40))
    segment = ipv4(tcp(payload=payload))
    if kind == 0:
        return ethernet(ipv4(udp(payload, 9), 17))
    if kind == 1:
        return ethernet(VLAN + segment, 0x8100)
    if kind == 2:
        return ethernet(payload, 0x0806)
    if kind == 3:
        return ethernet(segment[:2] + b"\0\0" + segment[4:])
    if kind == 4:
        return ethernet(segment + bytes(draw.randrange(1, 9)))
    return ethernet(segment)


def read(frame: bytes) -> tuple[str, dict[str, int]]:
    """How a frame ends, and what it says."""
    if len(frame) < TRAILER:
        return "bad_length", {}
    trailer, rest = frame[-TRAILER:], frame[:-TRAILER]
    at = len(ETHERNET)
    kind, at = rest[at : at + 2], at + 2
    if kind == b"\x81\x00":
        kind, at = rest[at + 2 : at + 4], at + 4
    if kind != b"\x08\x00":
        return "unknown_ethertype", {}
    total = int.from_bytes(rest[at + 2 : at + 4], "big") or len(rest) - at
    head = 40 if rest[at + 9] == 6 else 28
    seconds, nanoseconds = (int.from_bytes(trailer[start : start + 4], "big") for start in (4, 8))
    return "", {
        "payload_bytes": total - head,
        "mirror_time_ns": seconds * 10**9 + nanoseconds,
        "mirror_session": trailer[13] << 8 | trailer[14],
        "mirror_port": trailer[15],
        "dport": int.from_bytes(rest[at + 22 : at + 24], "big"),
    }
