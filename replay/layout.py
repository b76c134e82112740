"""Frame layouts: which headers stand in which order on each kind of packet, by the wire tables."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings, Header, headers
from replay.state import (
    ACK,
    AECN,
    CSIG_COMPACT,
    CSIG_EXPANDED,
    DATA,
    HANDSHAKE_ACK,
    INFOS,
    INT,
    SYN,
    TELEMETRIES,
)

BITMAP = 0xD400
"""INT instructions: node id, level 1 interfaces, queue id and occupancy, egress timestamp."""
DOMAIN_BITMAP = 0xC000
"""Domain-specific instructions: transmitted bytes, B in Mbit/s."""
DOMAIN = 0x4853
AECN_TYPE_BITS = 24

NOP = b"\x01"
SACK_PERMITTED = b"\x04\x02"
PAD_3 = b"\x01\x01\x00"
"""PadN that fills the AECN option's extension header to sixteen octets."""
CONTROL = range(SYN, HANDSHAKE_ACK + 1)

Piece = Header | bytes
"""A table to be packed, or octets as they are."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The part of a packet that decides on its layout: kind, telemetry, hops in its INT stack."""

    kind: int
    telemetry: int
    hops: int = 0


def record(name: str, header: Header, bitmap: int) -> Header:
    """One record of a header's stack as a table of its own: the parts that the bitmap names."""
    assert header.records is not None
    bits = header.records.bits
    parts = [part for part in header.records.parts if bitmap >> (bits - 1 - part.bit) & 1]
    return Header(name, header.source, tuple(field for part in parts for field in part.fields))


class Layouts:
    """The layouts that a collector with these settings reads."""

    def __init__(self, settings: CollectorSettings) -> None:
        tables = {header.name: header for header in headers(settings)}
        self.tables = tables
        self.hop = record("int_hop", tables["int_md"], BITMAP << 16 | DOMAIN_BITMAP)
        infos = range(INFOS)
        reverse = settings.aecn_numbering == "lsb"
        self.aecn_type = sum(1 << (bit if reverse else AECN_TYPE_BITS - 1 - bit) for bit in infos)
        self.aecn_data = record("aecn_data", tables["aecn"], self.aecn_type)

    def pieces(self, shape: Shape) -> tuple[Piece, ...]:
        """Headers and octets in wire order, without the payload."""
        data = shape.kind == DATA
        tag = {CSIG_COMPACT: "csig_compact", CSIG_EXPANDED: "csig_expanded"}.get(shape.telemetry)
        names = [
            "ethernet",
            *([tag] if tag and data else []),
            "ipv6" if shape.telemetry == AECN else "ipv4",
        ]
        option: tuple[Piece, ...] = ()
        if shape.telemetry == AECN and data:
            option = (self.tables["hop_by_hop"], self.tables["aecn"], self.aecn_data, PAD_3)
        stack: tuple[Piece, ...] = ()
        if shape.telemetry == INT and shape.kind in (DATA, ACK):
            stack = (self.tables["int_shim"], self.tables["int_md"], *[self.hop] * shape.hops)
        return (*(self.tables[name] for name in names), *option, *self.tcp(shape), *stack)

    def tcp(self, shape: Shape) -> tuple[Piece, ...]:
        """TCP header with its options, filled to whole words."""
        tcp, stamps = self.tables["tcp"], self.tables["tcp_timestamps"]
        if shape.kind in CONTROL and shape.kind != HANDSHAKE_ACK:
            return (
                tcp,
                self.tables["tcp_mss"],
                SACK_PERMITTED,
                stamps,
                NOP,
                self.tables["tcp_wscale"],
            )
        reflected: tuple[Piece, ...] = ()
        if shape.kind == ACK and shape.telemetry in (CSIG_COMPACT, CSIG_EXPANDED):
            name = "compact" if shape.telemetry == CSIG_COMPACT else "expanded"
            echo = self.tables[f"csig_echo_{name}"]
            reflected = (*[NOP] * (-echo.octets % 4), echo)
        return (tcp, NOP, NOP, stamps, *reflected)

    def octets(self, shape: Shape, payload: int = 0) -> int:
        """Octets of a frame, without the check sequence."""
        return sum(map(size, self.pieces(shape))) + (payload if shape.kind == DATA else 0)

    def first_octets(self, payload: int, hops: int) -> NDArray[np.int64]:
        """Octets by packet kind and telemetry as hosts send them; INT comes back with `hops`."""
        return np.array(
            [
                [
                    self.octets(Shape(kind, telemetry, hops * (kind == ACK)), payload)
                    for telemetry in range(TELEMETRIES)
                ]
                for kind in range(HANDSHAKE_ACK + 1)
            ]
        )


def size(piece: Piece) -> int:
    """Octets of a piece."""
    return len(piece) if isinstance(piece, bytes) else piece.octets
