"""Packets of one shape, seen at one edge: what their headers are filled from."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings
from replay.carriage import EXPEDITED
from replay.fabric import Run
from replay.identity import CLIENT, SERVER, Identities
from replay.layout import Layouts, Shape, size
from replay.state import ABOVE, ACK, DATA, FIRST, LAST, REPORTED
from replay.wiring import ingress_ports

IPV4, IPV6 = 0x0800, 0x86DD
SIX = 6
TTL = 64
ECT0, CE = 2, 3
CE_AT = {LAST: "ce", ABOVE: "up_ce"}
"""Mark of a packet at an edge."""

Values = dict[str, object]


class Heard(NamedTuple):
    """What ends know when they send a packet, one row a packet of the run."""

    heard_ns: NDArray[np.int64]
    """When its sender last heard from the other end; -1: never."""
    came: NDArray[np.int64]
    """Packets of data that have reached the receiver of the flow, with this one."""
    marked: NDArray[np.int64]
    """Those of them that were marked."""


class PacketContent:
    """Packets of one shape, seen at one edge."""

    def __init__(
        self, run: Run, names: Identities, settings: CollectorSettings, layouts: Layouts,
        shape: Shape, edge: int, rows: NDArray[np.int64], heard: Heard,
    ) -> None:  # fmt: skip
        """`rows` of `run.packets`."""
        self.run, self.names, self.settings, self.layouts = run, names, settings, layouts
        self.shape, self.edge, self.rows = shape, edge, rows
        self.heard_ns = heard.heard_ns[rows]
        self.packet = run.packets[rows]
        self.flow = self.packet["flow"]
        self.sender = CLIENT if shape.kind % 2 == 0 else SERVER
        self.told = run.packets[self.packet["echo"]] if shape.kind == ACK else self.packet
        """Packets whose telemetry these carry: themselves, or the data that they answer."""
        answered = self.packet["echo"] if shape.kind == ACK else rows
        self.came, self.marked = heard.came[answered], heard.marked[answered]
        self.octets = layouts.octets(shape, run.world.payload_bytes)
        """Octets of the frame."""
        self.inner = layouts.octets(replace(shape, report=False), run.world.payload_bytes)
        """Octets of the packet in its own Ethernet frame."""
        self.hop = shape.hops
        """Records that are not yet written, counted from the sender."""

    def of(self, array: NDArray[Any], end: int) -> NDArray[Any]:
        """Column of the identities for one end of each packet's flow."""
        column: NDArray[Any] = array[self.flow, end]
        return column

    def values(self, name: str) -> Values:
        """Values of the fields of the next header called `name`."""
        found: Values = getattr(self, name)()
        return found

    def routed(self) -> Values:
        """Routed: at each edge the other address is the leaf's; above there are only leaves'."""
        names, receiver = self.names, 1 - self.sender
        data = self.shape.kind == DATA
        tag = {
            "csig_compact": self.settings.csig_compact_tpids,
            "csig_expanded": self.settings.csig_expanded_tpids,
        }.get(self.shape.carriage.tag)
        if self.edge == ABOVE or REPORTED <= self.edge < REPORTED + self.shape.hops - 1:
            addresses = (names.router, receiver), (names.router, self.sender)
        elif self.edge == FIRST:
            addresses = (names.router, self.sender), (names.mac, self.sender)
        else:
            addresses = (names.mac, receiver), (names.router, receiver)
        (to, to_end), (by, by_end) = addresses
        ethertype = tag[0] if tag and data else self.ip_ethertype()
        return {
            "destination": self.of(to, to_end),
            "source": self.of(by, by_end),
            "ethertype": ethertype,
        }

    def ip_ethertype(self) -> int:
        """Ethertype of the IP version."""
        return IPV6 if self.shape.carriage.version == SIX else IPV4

    def ip(self) -> Values:
        """What switches read: DSCP announces INT or the urgent class, CE says that one marked."""
        ecn = self.ecn()
        if self.shape.kind == DATA:
            ecn = np.where(ecn == 0, 0, np.where(self.ce(), CE, ecn))
        announced = self.layouts.announced(self.shape)
        return {"dscp": self.settings.int_dscp or 0 if announced else self.dscp(), "ecn": ecn}

    def dscp(self) -> NDArray[np.int64]:
        """DSCP of the packets' class."""
        urgent = self.run.flows["urgent"][self.flow].astype(np.int64)
        named: NDArray[np.int64] = urgent * EXPEDITED
        return named

    def ecn(self) -> NDArray[np.int64]:
        """ECN as the sender wrote it."""
        capable = self.run.flows["ecn"][self.flow].astype(np.int64)
        written: NDArray[np.int64] = capable * ECT0 * (self.shape.kind == DATA)
        return written

    def ce(self) -> NDArray[Any] | int:
        """Whether a port on the way to this edge has marked each packet."""
        if self.edge >= REPORTED:
            there: NDArray[Any] = self.packet["ce"] & (
                self.packet["ce_hop"] <= self.edge - REPORTED
            )
            return there
        marks: NDArray[Any] | int = self.packet[CE_AT[self.edge]] if self.edge != FIRST else 0
        return marks

    def hops_away(self) -> object:
        """Time to live: each egress port has counted the packet down once."""
        if self.edge >= REPORTED:
            return TTL - 1 - (self.edge - REPORTED)
        return TTL - (self.packet["hop"] if self.edge == LAST else int(self.edge == ABOVE))

    def after(self, name: str) -> int:
        """Octets of the packet from a header on."""
        before = 0
        for piece in self.layouts.pieces(replace(self.shape, report=False)):
            if not isinstance(piece, bytes) and piece.name == name:
                break
            before += size(piece)
        return self.inner - before

    def carried(self) -> int:
        """Number of the flow's own transport."""
        if self.shape.carriage.transport == "hpcc" and self.shape.kind == ACK:
            return self.settings.hpcc_ack_protocols[0]
        return self.shape.carriage.protocol

    def addresses(self) -> dict[str, NDArray[np.uint64]]:
        """IPv6 addresses of both ends, in halves."""
        ends = {"source": self.sender, "destination": 1 - self.sender}
        return {
            f"{name}_{half}": self.of(array, end)
            for name, end in ends.items()
            for half, array in (("high", self.names.ipv6_high), ("low", self.names.ipv6_low))
        }

    def port(self, hop: int) -> NDArray[Any]:
        """Egress ports of a hop of the paths."""
        found: NDArray[Any] = self.run.ports[self.run.paths["port"][self.told["path"], 0, hop]]
        return found

    def ingress(self, hop: int) -> NDArray[np.int64]:
        """Ingress ports of a hop of the paths."""
        entry = ingress_ports(self.run.interfaces, self.run.paths)
        found: NDArray[np.int64] = entry[self.told["path"], hop]
        return found

    def sent_ns(self, hop: int) -> NDArray[np.int64]:
        """When the packets left a hop, ns since 1970."""
        at: NDArray[np.int64] = self.run.world.start_ns + self.told["ts_ns"][:, hop]
        return at
