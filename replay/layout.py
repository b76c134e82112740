"""Frame layouts: which headers stand in which order on each kind of packet, by the wire tables."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings, Header, headers
from replay.carriage import CARRIAGES, TUNNELS, Carriage, Tunnel
from replay.state import ACK, DATA, HANDSHAKE_ACK, HOPS, INFOS, SINK, SYN, TELEMETRIES

BITMAP = 0xD400
"""INT instructions: node id, level 1 interfaces, queue id and occupancy, egress timestamp."""
DOMAIN_BITMAP = 0xC000
"""Domain-specific instructions: transmitted bytes, B in Mbit/s."""
DOMAIN = 0x4853
AECN_TYPE_BITS = 24
IFA_NAME_SPACE = 1
IOAM_TRACE = 0xFA0000
"""IOAM trace type: node id, interfaces, both parts of the time, transit delay, queue depth."""
INT_1_BITMAP = 0xFD00
"""The same of INT 1.0, with both timestamps and TX utilisation: 32 bits each."""
REPORT_1_BITMAP = 0b111101
"""The same of reports 1.0: interfaces, latency, queue, egress timestamp, TX utilisation."""
REPORT_BITMAP = 0x7500
"""Report metadata: interfaces, latency, queue occupancy, egress timestamp, TX utilisation."""

NOP = b"\x01"
SACK_PERMITTED = b"\x04\x02"
PAD_2 = b"\x01\x00"
"""PadN that aligns the IOAM option."""
PAD_3 = b"\x01\x01\x00"
"""PadN that fills the AECN option's extension header to sixteen octets."""
CONTROL = range(SYN, HANDSHAKE_ACK + 1)
HPCC_BYTES, HPCC_QUEUE = 128, 80
"""Octets per unit of the HPCC simulator's counter and of its queue."""
ICRC = 4
"""Octets behind the payload of RoCEv2."""
ENVELOPE = ("ethernet", "ipv4", "udp")
"""Headers around a report."""
TUNNEL = ("ethernet", "ipv4", "ipv6", "udp")
"""Headers of tunnels."""

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
    tunnel: int = 0
    """Code of the tunnel that it is in."""
    bare: bool = False
    """An acknowledgment that only says what window there is."""

    @property
    def carriage(self) -> Carriage:
        """How frames of its telemetry are built."""
        return CARRIAGES[self.telemetry]

    @property
    def around(self) -> Tunnel | None:
        """The tunnel."""
        return TUNNELS[self.tunnel]


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
        self.int_1_hop = record("int_v1_hop", tables["int_v1_md"], INT_1_BITMAP)
        self.saw = record("report_saw", tables["report_int"], REPORT_BITMAP)
        saw_1 = record("report_saw_1", tables["report_1"], REPORT_1_BITMAP)
        records = (self.hop, self.ioam_node, self.ifa_hop, self.int_1_hop, self.saw, saw_1)
        own = {each.name: each for each in records}
        outer = {f"outer_{name}": tables[name] for name in ENVELOPE}
        outer |= {f"tunnel_{name}": tables[name] for name in TUNNEL}
        self.named = tables | own | {name: replace(each, name=name) for name, each in outer.items()}
        """Tables, records and headers of envelopes by the names of `Content`'s methods."""
        self.sink_octets = tables["int_shim"].octets + tables["int_md"].octets
        infos = range(INFOS)
        reverse = settings.aecn_numbering == "lsb"
        self.aecn_type = sum(1 << (bit if reverse else AECN_TYPE_BITS - 1 - bit) for bit in infos)
        self.aecn_data = record("aecn_data", tables["aecn"], self.aecn_type)

    def pieces(self, shape: Shape) -> tuple[Piece, ...]:
        """Headers and octets in wire order, without the payload."""
        head, rest = getattr(self, shape.carriage.transport)(shape)
        around, ip = shape.around, f"ipv{shape.carriage.version}"
        if around is None:
            below = self.network(shape, "ethernet", ip)
            inside = (*head, *self.stack(shape), *rest)
        else:
            udp = ("tunnel_udp",) if around.port else ()
            shim = self.stack(shape)
            # GRE names what follows it: INT stands behind, and before where a port does that.
            own = (*shim, self.named[around.table]) if udp else (self.named[around.table], *shim)
            below = self.network(shape, "tunnel_ethernet", f"tunnel_{ip}")
            inside = (*self.of(udp), *own, *self.of(("ethernet", ip)), *head, *rest)
        return (*(self.report(shape) if shape.report else ()), *below, *inside)

    def of(self, names: Iterable[str]) -> tuple[Header, ...]:
        """Tables by their names."""
        return tuple(self.named[name] for name in names)

    def network(self, shape: Shape, ethernet: str, ip: str) -> tuple[Piece, ...]:
        """What switches forward a packet by, with what they read there."""
        carriage, data = shape.carriage, shape.kind == DATA
        tag = (carriage.tag,) if carriage.tag and data else ()
        around = (self.around(shape),) if self.inserted(shape) else ()
        return (*self.of((ethernet, *tag, ip)), *self.option(shape), *self.of(around))

    def option(self, shape: Shape) -> tuple[Piece, ...]:
        """The IPv6 option of data."""
        if shape.kind != DATA or not shape.carriage.option:
            return ()
        made: tuple[Piece, ...] = getattr(self, shape.carriage.option)(shape)
        return made

    def around(self, shape: Shape) -> str:
        """The table before the transport."""
        return shape.around.around if shape.around else shape.carriage.around

    def stack(self, shape: Shape) -> tuple[Piece, ...]:
        """Headers of a stack and its records."""
        carriage = shape.carriage
        if not self.stacked(shape):
            return ()
        first, *more = carriage.stack
        gre = shape.around is not None and first == "int_shim"
        names = (shape.around.int_shim if gre and shape.around else first, *more)
        hop = (self.named[carriage.record],) if carriage.record else ()
        return (*self.of(names), *hop * shape.hops)

    def stacked(self, shape: Shape) -> bool:
        """Whether there is a stack; a sink's first switch inserts it."""
        carriage = shape.carriage
        there = shape.hops > 0 or shape.telemetry != SINK
        return bool(carriage.stack) and shape.kind in carriage.on and there

    def announced(self, shape: Shape) -> bool:
        """Whether there is an INT stack, which the DSCP announces."""
        return shape.carriage.announced and self.stacked(shape)

    def inserted(self, shape: Shape) -> bool:
        """Whether IFA stands around the transport, with the protocol number of its own."""
        return bool(shape.carriage.around) and shape.kind == DATA

    def aecn_option(self, _: Shape) -> tuple[Piece, ...]:
        """The option of AECN."""
        return (self.tables["hop_by_hop"], self.tables["aecn"], self.aecn_data, PAD_3)

    def trace(self, shape: Shape) -> tuple[Piece, ...]:
        """The IOAM option: room for what is still free, then the nodes."""
        free = bytes((HOPS - shape.hops) * self.ioam_node.octets)
        option = self.tables["ioam_preallocated"]
        return (self.tables["hop_by_hop"], PAD_2, option, free, *[self.ioam_node] * shape.hops)

    def report(self, shape: Shape) -> tuple[Piece, ...]:
        """What stands before the packet in a report of it."""
        return self.of((*(f"outer_{name}" for name in ENVELOPE), *shape.carriage.report))

    def hop_octets(self, telemetry: int) -> int:
        """Octets by which a hop makes data longer."""
        name = CARRIAGES[telemetry].record
        return self.named[name].octets if name else 0

    def tcp(self, shape: Shape) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """TCP header with its options, filled to whole words, and nothing behind a stack."""
        tcp, stamps = self.tables["tcp"], self.tables["tcp_timestamps"]
        if shape.kind in CONTROL and shape.kind != HANDSHAKE_ACK:
            mss, scale = self.tables["tcp_mss"], self.tables["tcp_wscale"]
            return (tcp, mss, SACK_PERMITTED, stamps, NOP, scale), ()
        option: tuple[Piece, ...] = ()
        if shape.kind in shape.carriage.options:
            more = self.tables[shape.carriage.options[shape.kind]]
            option = (*[NOP] * (-more.octets % 4), more)
        return (tcp, NOP, NOP, stamps, *option), ()

    def roce(self, shape: Shape) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """UDP, and what stands behind a stack."""
        ack = ("roce_aeth",) if shape.kind == ACK else ()
        return self.of(("udp",)), self.of(("roce", *ack))

    def hpcc(self, shape: Shape) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """Packets of the HPCC simulator: its acknowledgments are a protocol of their own."""
        head = ("hpcc_ack",) if shape.kind == ACK else ("udp", "hpcc_data")
        return self.of((*head, "hpcc_int")), ()

    def octets(self, shape: Shape, payload: int = 0) -> int:
        """Octets of a frame, without the check sequence; reports leave the payload out."""
        if shape.report:
            return sum(map(size, self.pieces(shape)))
        trailer = ICRC if shape.carriage.transport == "roce" else 0
        return sum(map(size, self.pieces(shape))) + payload * (shape.kind == DATA) + trailer

    def headers(self, shape: Shape) -> int:
        """Octets of the headers of a packet, of which no mirror may cut any; reports are whole."""
        return 0 if shape.report else sum(map(size, self.pieces(shape)))

    def tunnel_octets(self, telemetry: int, tunnel: int) -> int:
        """Octets that a tunnel puts around each packet."""
        shape = Shape(ACK, telemetry)
        return self.octets(replace(shape, tunnel=tunnel)) - self.octets(shape)

    def first_octets(self, payload: int, hops: int, carried: set[int]) -> NDArray[np.int64]:
        """Octets by packet kind and telemetry as hosts send them; INT comes back with `hops`.

        0 of what is not carried: settings may not say how it looks.
        """
        octets = np.zeros((HANDSHAKE_ACK + 1, TELEMETRIES), np.int64)
        for kind, telemetry in product(range(HANDSHAKE_ACK + 1), carried):
            shape = Shape(kind, telemetry, hops * (kind == ACK))
            octets[kind, telemetry] = self.octets(shape, payload)
        return octets


def size(piece: Piece) -> int:
    """Octets of a piece."""
    return len(piece) if isinstance(piece, bytes) else piece.octets
