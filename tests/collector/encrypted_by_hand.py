"""PSP packets and a reader of them, both written from the picture in its specification.

octet 0 next header | 1 length, of eight octets without the first eight | 2 R 2, crypt offset 6 |
3 S, D, version 4, V, 1 | 4-7 security parameters index | 8-15 initialization vector |
with V 16-23 cookie | encrypted | check value 16
"""

import random
from dataclasses import dataclass, field

from octets import ETHERNET

PORTS = (1000, 2000)
CHECK_VALUE = bytes(range(16))
HEAD = 42
"""Octets of Ethernet, IPv4 and UDP in front."""


@dataclass(frozen=True)
class Sent:
    """A frame, of which so many octets were captured."""

    octets: bytes
    captured: int


@dataclass(frozen=True)
class Told:
    """How a frame ends, and what it says."""

    reason: str = ""
    columns: dict[str, int | None] = field(default_factory=dict)


def make(draw: random.Random) -> Sent:
    """A frame; lengths may be odd, and the capture may have cut it."""
    cookie = draw.random() < 0.3
    words = (1, 2)[cookie] if draw.random() < 0.8 else draw.choice((0, 0, 3, 9, 255))
    head = bytes([draw.choice((4, 6, 17, 41)), words, draw.getrandbits(8)])
    head += bytes([draw.getrandbits(6) << 2 | cookie << 1 | 1])
    body = head + draw.randbytes(12) + draw.randbytes(8 * cookie)
    body += draw.randbytes(draw.randrange(60)) + CHECK_VALUE
    if draw.random() < 0.15:
        body = body[: draw.randrange(20)]
    port = draw.choice((*PORTS, 1001))
    length = 8 + len(body)
    if draw.random() < 0.15:
        length = draw.choice((0, draw.randrange(8), draw.randrange(8, 60), length + 9))
    packet = draw.randrange(1, 1 << 16).to_bytes(2, "big") + port.to_bytes(2, "big")
    packet += length.to_bytes(2, "big") + bytes(2) + body
    total = (20 + len(packet)).to_bytes(2, "big")
    octets = (
        ETHERNET + b"\x08\x00\x45\x00" + total + bytes.fromhex("00074000401100000a0000010a000002")
    )
    octets += packet
    cut = draw.random() < 0.2
    return Sent(octets, draw.randrange(34, len(octets)) if cut else len(octets))


def read(sent: Sent) -> Told:
    """What the frame says."""
    octets = sent.octets[: sent.captured]
    if len(octets) < HEAD:
        return Told("truncated")
    source, port, length = (int.from_bytes(octets[at : at + 2], "big") for at in (34, 36, 38))
    if 0 < length < 8:
        return Told("bad_length")
    stop = 34 + length if length else len(sent.octets)
    plain = {"sport": source, "dport": port, "spi": None, "payload_bytes": stop - HEAD}
    if port not in PORTS or stop == HEAD:
        return Told(columns=plain)
    if min(len(octets), stop) < HEAD + 16:
        return Told("truncated")
    size = 8 + 8 * octets[HEAD + 1]
    if size < 16:
        return Told("bad_length")
    payload = max(stop - 16 - HEAD - size, 0)
    spi = int.from_bytes(octets[HEAD + 4 : HEAD + 8], "big")
    return Told(columns={"sport": 1000, "dport": 1000, "spi": spi, "payload_bytes": payload})
