"""CSIG frames and a reader of them, both written from the draft's pictures."""

import random
from dataclasses import dataclass
from typing import Any

from octets import ETHERNET, ipv4, tcp, udp

EXID = 0xC516
UDP_PORT = 777
UDP_OFFSET = 3
VALID = 0x40
COMPACT_TPID, EXPANDED_TPID = 0x9900, 0x9901
VLANS = (0x8100, 0x88A8, 0x9100)


@dataclass(frozen=True)
class Dialect:
    """What the settings of one comparison say."""

    uec: bool = False
    kind: int = 253
    data_length: bool = False
    wide_udp: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The same for the decoder."""
        return {
            "csig_layout": "uec" if self.uec else "draft",
            "csig_echo_kind": self.kind,
            "csig_echo_length": "data" if self.data_length else "tcp",
            "csig_echo_udp_ports": (UDP_PORT,),
            "csig_echo_udp_offset": UDP_OFFSET,
            "csig_echo_udp_valid": VALID,
            "csig_echo_udp_variant": "expanded" if self.wide_udp else "compact",
        }

    @property
    def head(self) -> int:
        """Octets of a TCP option before the data fields."""
        return 4 if self.kind in (253, 254) else 2


def number(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def data_fields(octets: bytes, dialect: Dialect) -> dict[str, Any]:
    """A tag without its TPID: two octets are a compact one, six an expanded one."""
    word = number(octets)
    if len(octets) == 2:
        found = {"variant": 1, "t": word >> 13, "s": word >> 7 & 0x1F, "lm": word & 0x7F}
    else:
        found = {"variant": 2, "lm": word >> 32, "t": word >> 28 & 0xF, "s": word >> 8 & 0xFFFFF}
    if dialect.uec:
        found |= {"lm": found["lm"] >> 1, "d": found["lm"] & 1}
    return found | {"known": found["t"] <= (3 if dialect.uec else 2)}


def named(prefix: str, found: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix}_{name}": value for name, value in found.items()}


def read(frame: bytes, dialect: Dialect) -> dict[str, Any]:
    """What a frame says, by the names of the observation's columns."""
    row: dict[str, Any] = {}
    at, ethertype = 14, number(frame[12:14])
    while ethertype != 0x0800:
        if ethertype in VLANS:
            size = 4
        elif ethertype == 0x88E5:
            size = 16 if frame[at] & 0x20 else 8
        elif ethertype == 0x8847:
            while not frame[at + 2] & 1:
                at += 4
            at += 4
            break
        else:
            size = 4 if ethertype == COMPACT_TPID else 8
            row |= named("csig", data_fields(frame[at : at + size - 2], dialect))
        at += size
        ethertype = number(frame[at - 2 : at])
    inner = frame[at + 20 : at + number(frame[at + 2 : at + 4])]
    row |= {"sport": number(inner[:2]), "dport": number(inner[2:4])}
    if frame[at + 9] == 6:
        return row | read_options(inner[20 : (inner[12] >> 4) * 4], dialect)
    return row | read_payload(inner[8:], dialect, row["sport"], row["dport"])


def read_options(options: bytes, dialect: Dialect) -> dict[str, Any]:
    row: dict[str, Any] = {}
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        size = options[at + 1]
        own = options[at] == dialect.kind
        size += dialect.head if own and dialect.data_length else 0
        if own and (dialect.head == 2 or number(options[at + 2 : at + 4]) == EXID):
            row |= reflection(options[at + dialect.head : at + size], dialect)
        at += size
    return row


def reflection(data: bytes, dialect: Dialect) -> dict[str, Any]:
    if len(data) not in (2, 6):
        return {"csig_echo_valid": False}
    return {"csig_echo_valid": True} | named("csig_echo", data_fields(data, dialect))


def read_payload(payload: bytes, dialect: Dialect, sport: int, dport: int) -> dict[str, Any]:
    if UDP_PORT not in (sport, dport) or len(payload) <= UDP_OFFSET:
        return {}
    flags, data = payload[UDP_OFFSET], payload[UDP_OFFSET + 1 :]
    wanted = data[: 6 if dialect.wide_udp else 2]
    row = reflection(wanted if flags & VALID else b"", dialect)
    return row | {"csig_echo_flags": flags}


def make(draw: random.Random, dialect: Dialect) -> bytes:
    """One frame of any sort that `read` knows."""
    transport = make_udp(draw, dialect) if draw.random() < 0.3 else make_tcp(draw, dialect)
    frame = ipv4(transport, 17 if transport[6:8] == b"UU" else 6)
    ethertype = 0x0800
    if draw.random() < 0.2:
        labels = [draw.getrandbits(31) << 9 & 0xFFFFFE00 for _ in range(draw.randrange(3))]
        stack = [*labels, draw.getrandbits(20) << 12 | 0x1FF]
        frame, ethertype = b"".join(each.to_bytes(4, "big") for each in stack) + frame, 0x8847
    if draw.random() < 0.8:
        wide = draw.random() < 0.5
        data = draw.choice([draw.randbytes(6), b"\xff" * 6, bytes(6)])[: 6 if wide else 2]
        frame = data + ethertype.to_bytes(2, "big") + frame
        ethertype = EXPANDED_TPID if wide else COMPACT_TPID
    for _ in range(draw.choice([0, 0, 1, 1, 2, 4])):
        frame = draw.randbytes(2) + ethertype.to_bytes(2, "big") + frame
        ethertype = draw.choice(VLANS)
    if draw.random() < 0.2:
        channel = draw.random() < 0.5
        tag = bytes([0x20 if channel else 0, 0]) + draw.randbytes(12 if channel else 4)
        frame = tag + ethertype.to_bytes(2, "big") + frame + draw.randbytes(16)
        ethertype = 0x88E5
    return ETHERNET + ethertype.to_bytes(2, "big") + frame


def make_tcp(draw: random.Random, dialect: Dialect) -> bytes:
    data = draw.choice([draw.randbytes(size) for size in (0, 1, 2, 2, 3, 5, 6, 6, 7, 8)])
    exid = EXID if draw.random() < 0.8 else 0xACCE
    own = (exid.to_bytes(2, "big") if dialect.head == 4 else b"") + data
    length = len(own) + 2 - (dialect.head if dialect.data_length else 0)
    echo = bytes([dialect.kind, length]) + own
    before = draw.choice([b"", b"\x01\x01", b"\x08\x0a" + draw.randbytes(8), b"\x02\x04\x05\xb4"])
    return tcp(before + (echo if draw.random() < 0.8 else b""), draw.randbytes(draw.randrange(4)))


def make_udp(draw: random.Random, dialect: Dialect) -> bytes:
    size = 6 if dialect.wide_udp else 2
    rest = draw.choice([0, 0, size, size, size + 3])
    flags = draw.choice([0, VALID, VALID, 0xFF, 0xFF - VALID])
    payload = draw.randbytes(UDP_OFFSET) + bytes([flags]) + draw.randbytes(rest)
    if draw.random() < 0.1:
        payload = payload[: draw.randrange(UDP_OFFSET)]
    octets = bytearray(udp(payload, draw.choice([UDP_PORT, 9])))
    if draw.random() < 0.3:
        octets[0:2] = UDP_PORT.to_bytes(2, "big")
    octets[6:8] = b"UU"
    return bytes(octets)
