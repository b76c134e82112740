"""Frame layouts: which headers stand in which order on each kind of packet, by the wire tables."""

from dataclasses import dataclass, replace

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
    HOPS,
    IFA,
    INFOS,
    INT,
    IOAM,
    POSTCARDS,
    SINK,
    SYN,
    TELEMETRIES,
)

BITMAP = 0xD400
"""INT instructions: node id, level 1 interfaces, queue id and occupancy, egress timestamp."""
DOMAIN_BITMAP = 0xC000
"""Domain-specific instructions: transmitted bytes, B in Mbit/s."""
DOMAIN = 0x4853
AECN_TYPE_BITS = 24
IFA_NAME_SPACE = 1
IOAM_TRACE = 0xFA0000
"""IOAM trace type: node id, interfaces, both parts of the time, transit delay, queue depth."""
REPORT_BITMAP = 0x7500
"""Report metadata: interfaces, latency, queue occupancy, egress timestamp, TX utilisation."""

NOP = b"\x01"
SACK_PERMITTED = b"\x04\x02"
PAD_2 = b"\x01\x00"
"""PadN that aligns the IOAM option."""
PAD_3 = b"\x01\x01\x00"
"""PadN that fills the AECN option's extension header to sixteen octets."""
CONTROL = range(SYN, HANDSHAKE_ACK + 1)
OVER_IPV6 = (AECN, IOAM)
"""Telemetry of flows over IPv6."""
ENVELOPE = ("ethernet", "ipv4", "udp")
"""Headers around a report."""

Piece = Header | bytes
"""A table to be packed, or octets as they are."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The part of a packet that decides on its layout: kind, telemetry, hops in its stack."""

    kind: int
    telemetry: int
    hops: int = 0
    report: bool = False
    """Whether this is a switch's report of the packet."""


def record(name: str, header: Header, bitmap: int) -> Header:
    """One record of a header's stack as a table of its own: the parts that the bitmap names."""
    assert header.records is not None
    bits = header.records.bits
    parts = [part for part in header.records.parts if bitmap >> (bits - 1 - part.bit) & 1]
    return Header(name, header.source, tuple(field for part in parts for field in part.fields))


def keyed(name: str, header: Header, number: int) -> Header:
    """A record whose first bits are a number that says how it is laid out."""
    assert header.records is not None
    (part,) = (part for part in header.records.parts if part.bit == number)
    return Header(name, header.source, part.fields)


class Layouts:
    """The layouts that a collector with these settings reads."""

    def __init__(self, settings: CollectorSettings) -> None:
        tables = {header.name: header for header in headers(settings)}
        self.tables = tables
        self.hop = record("int_hop", tables["int_md"], BITMAP << 16 | DOMAIN_BITMAP)
        self.ioam_node = record("ioam_node", tables["ioam_preallocated"], IOAM_TRACE)
        self.ifa_hop = keyed("ifa_hop", tables["ifa_stack"], IFA_NAME_SPACE)
        self.saw = record("report_saw", tables["report_int"], REPORT_BITMAP)
        self.envelope = tuple(replace(tables[name], name=f"outer_{name}") for name in ENVELOPE)
        self.sink_octets = tables["int_shim"].octets + tables["int_md"].octets
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
            "ipv6" if shape.telemetry in OVER_IPV6 else "ipv4",
        ]
        option: tuple[Piece, ...] = ()
        if shape.telemetry == AECN and data:
            option = (self.tables["hop_by_hop"], self.tables["aecn"], self.aecn_data, PAD_3)
        if shape.telemetry == IOAM and data:
            option = self.trace(shape.hops)
        if self.inserted(shape):
            option = (self.tables["ifa_over_tcp"],)
        before = self.report(shape) if shape.report else ()
        headers = (self.tables[name] for name in names)
        return (*before, *headers, *option, *self.tcp(shape), *self.stack(shape))

    def stack(self, shape: Shape) -> tuple[Piece, ...]:
        """What follows TCP."""
        if self.announced(shape):
            return (self.tables["int_shim"], self.tables["int_md"], *[self.hop] * shape.hops)
        if self.inserted(shape):
            return (self.tables["ifa_metadata"], *[self.ifa_hop] * shape.hops)
        return ()

    def announced(self, shape: Shape) -> bool:
        """Whether there is an INT stack, which the DSCP announces."""
        if shape.telemetry == SINK:
            return shape.kind == DATA and shape.hops > 0
        return shape.telemetry == INT and shape.kind in (DATA, ACK)

    def inserted(self, shape: Shape) -> bool:
        """Whether IFA stands around TCP, with the protocol number of its own."""
        return shape.telemetry == IFA and shape.kind == DATA

    def trace(self, hops: int) -> tuple[Piece, ...]:
        """The IOAM option: room for what is still free, then the nodes."""
        free = bytes((HOPS - hops) * self.ioam_node.octets)
        option = self.tables["ioam_preallocated"]
        return (self.tables["hop_by_hop"], PAD_2, option, free, *[self.ioam_node] * hops)

    def report(self, shape: Shape) -> tuple[Piece, ...]:
        """What stands before the packet in a report of it."""
        saw = shape.telemetry == POSTCARDS
        own = (self.tables["report_int"], self.saw) if saw else (self.tables["report_inner"],)
        return (*self.envelope, self.tables["report_group"], *own)

    def hop_octets(self, telemetry: int) -> int:
        """Octets by which a hop makes data longer."""
        added = {INT: self.hop, SINK: self.hop, IFA: self.ifa_hop}.get(telemetry)
        return added.octets if added else 0

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
        """Octets of a frame, without the check sequence; reports leave the payload out."""
        rest = payload if shape.kind == DATA and not shape.report else 0
        return sum(map(size, self.pieces(shape))) + rest

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
