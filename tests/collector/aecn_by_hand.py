"""AECN frames and a reader of them, both written from the drafts' pictures."""

import random
from typing import Any

from octets import ADDRESSES, ETHERNET, udp

INFOS = ("inflight_ratio", "dre", "queue_utilization", "queue_delay", "congested_hops",
         "available_bandwidth")  # fmt: skip
HOP_BY_HOP, ROUTING, DESTINATION = 0, 43, 60
OPTION_TYPE, TLV_TYPE = 0x3E, 0xFC
Settings = dict[str, Any]


def frame(chain: list[tuple[int, bytes]], transport: bytes) -> bytes:
    """IPv6 with these extension headers, whose first octets are still to be written, and UDP."""
    body, following = transport, 17
    for number, header in reversed(chain):
        body, following = bytes([following]) + header[1:] + body, number
    head = bytes.fromhex("60000000") + len(body).to_bytes(2, "big") + bytes([following, 64])
    return ETHERNET + b"\x86\xdd" + head + ADDRESSES + body


def options(content: bytes) -> bytes:
    """An extension header of options, filled with a PadN or a Pad1."""
    spare = -(2 + len(content)) % 8
    content += b"\0" if spare == 1 else padded(1, spare)
    return bytes([0, (2 + len(content)) // 8 - 1]) + content


def segment_routing(content: bytes, segments: int) -> bytes:
    """A segment routing header, filled with a PadN or a Pad1."""
    spare = -len(content) % 8
    content += b"\0" if spare == 1 else padded(4, spare)
    length = 2 * segments + len(content) // 8
    head = bytes([0, length, 4, 0, segments - 1, 0, 0, 0])
    return head + bytes(range(16)) * segments + content


def padded(kind: int, octets: int) -> bytes:
    return bytes([kind, octets - 2]) + bytes(octets - 2) if octets else b""


def make(draw: random.Random) -> bytes:
    """A frame with AECN in any of its places, or in several, or in none."""
    chain: list[tuple[int, bytes]] = []
    if draw.random() < 0.5:
        chain.append((HOP_BY_HOP, options(make_list(draw, OPTION_TYPE))))
    if draw.random() < 0.3:
        chain.append((ROUTING, make_routing(draw)))
    if draw.random() < 0.3:
        chain.append((DESTINATION, options(make_list(draw, OPTION_TYPE))))
    return frame(chain, udp(draw.randbytes(draw.randrange(5)), 9))


def make_routing(draw: random.Random) -> bytes:
    if draw.random() < 0.2:
        return bytes([0, 2, draw.choice([0, 2, 3])]) + draw.randbytes(21)
    return segment_routing(make_list(draw, TLV_TYPE), draw.randrange(1, 4))


def make_list(draw: random.Random, own: int) -> bytes:
    other = bytes([0x1E]) + b"\x03abc"
    pieces = [b"\0", other, make_option(draw, own)]
    return b"".join(piece for piece in pieces if draw.random() < 0.8)


def make_option(draw: random.Random, own: int) -> bytes:
    """Flags, type and data, which are all that the type names, or more, or are customised."""
    flags = draw.choice([0, 0x80, 0x01, 0x81, 0x40, 0xFF])
    low, high = draw.getrandbits(6), draw.getrandbits(6) << 18
    bits = draw.choice([low, high, low | high, draw.getrandbits(24), 0xFFFFFF, 0])
    data = draw.randbytes(bits.bit_count() + draw.choice([0, 0, 1, 9]))
    data = draw.choice([data, b"\xff" * len(data)])
    return bytes([own, 4 + len(data), flags]) + bits.to_bytes(3, "big") + data


def read(octets: bytes, settings: Settings) -> dict[str, Any]:
    """What a frame says, by the names of the observation's columns."""
    row: dict[str, Any] = {}
    at, following = 54, octets[20]
    while following in (HOP_BY_HOP, ROUTING, DESTINATION):
        end = at + 8 + 8 * octets[at + 1]
        if following != ROUTING:
            row = read_list(octets[at + 2 : end], OPTION_TYPE, settings) or row
        elif octets[at + 2] == 4:
            first = at + 8 + 16 * (octets[at + 4] + 1)
            row = read_list(octets[first:end], TLV_TYPE, settings) or row
        at, following = end, octets[at]
    return row


def read_list(octets: bytes, own: int, settings: Settings) -> dict[str, Any]:
    row: dict[str, Any] = {}
    at = 0
    while at < len(octets):
        if octets[at] == 0:
            at += 1
            continue
        end = at + 2 + octets[at + 1]
        if octets[at] == own:
            row = read_option(octets[at + 2 : end], settings)
        at = end
    return row


def read_option(octets: bytes, settings: Settings) -> dict[str, Any]:
    """One option's octets behind its length."""
    msb = settings["aecn_numbering"] == "msb"
    kind, data = int.from_bytes(octets[1:4], "big"), octets[4:]
    row: dict[str, Any] = {"aecn_flags": octets[0], "aecn_type": kind}
    own = (
        0x01
        if (settings.get("aecn_flags_numbering") or settings["aecn_numbering"]) == "msb"
        else 0x80
    )
    if not octets[0] & own:
        full = 0
        known = len(INFOS) if settings.get("aecn_available_bandwidth", True) else 5
        for bit, name in enumerate(INFOS[:known]):
            if kind & (0x800000 >> bit if msb else 1 << bit):
                row[f"aecn_{name}"], data = data[0], data[1:]
                full |= (row[f"aecn_{name}"] == 255) << bit
        if len(row) > 2:
            row["aecn_saturated"] = full
    row["aecn_rest_bytes"] = len(data)
    return row | ({"aecn_rest": int.from_bytes(data[:8], "big")} if data else {})
