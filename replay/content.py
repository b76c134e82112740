"""Content of frames: the value of every header field, for many packets of one shape at once.

The methods of `Content` are named for the wire tables that they fill.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings
from replay.fabric import Run
from replay.identity import CLIENT, SERVER, Identities
from replay.layout import OVER_IPV6, Layouts, Shape, size
from replay.stack_content import EXPEDITED, StackContent
from replay.state import (
    ABOVE,
    ACK,
    CSIG_COMPACT,
    CSIG_EXPANDED,
    DATA,
    FIRST,
    INFOS,
    LAST,
    REPORTED,
    SYN,
    SYN_ACK,
)

IPV4, IPV6, TCP, HOP_BY_HOP = 0x0800, 0x86DD, 6, 0
IFA_PROTOCOL = 253
ETHERNET_OCTETS, IPV6_OCTETS = 14, 40
TTL = 64
ECT0, CE = 2, 3
F_SYN, F_ACK, F_ECE, F_CWR = 2, 16, 64, 128
WINDOW, WINDOW_SHIFT = 65535, 2
TIMESTAMP_OCTETS = 12
MILLISECOND = 1_000_000
WORD = 0xFFFFFFFF
CE_AT = {LAST: "ce", ABOVE: "up_ce"}
"""Mark of a packet at an edge."""

Values = dict[str, object]


class Content(StackContent):
    """Packets of one shape, seen at one edge."""

    def __init__(
        self, run: Run, names: Identities, settings: CollectorSettings, layouts: Layouts,
        shape: Shape, edge: int, rows: NDArray[np.int64], heard_ns: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """`rows` of `run.packets`; `heard_ns`: when their senders last heard from the other end."""
        self.run, self.names, self.settings, self.layouts = run, names, settings, layouts
        self.shape, self.edge, self.rows, self.heard_ns = shape, edge, rows, heard_ns
        self.packet = run.packets[rows]
        self.flow = self.packet["flow"]
        self.sender = CLIENT if shape.kind % 2 == 0 else SERVER
        self.told = run.packets[self.packet["echo"]] if shape.kind == ACK else self.packet
        """Packets whose telemetry these carry: themselves, or the data that they answer."""
        self.octets = layouts.octets(shape, run.world.payload_bytes)
        """Octets of the frame."""
        self.inner = layouts.octets(replace(shape, report=False), run.world.payload_bytes)
        """Octets of the packet in its own Ethernet frame."""
        self.hop = shape.hops

    def of(self, array: NDArray[Any], end: int) -> NDArray[Any]:
        """Column of the identities for one end of each packet's flow."""
        column: NDArray[Any] = array[self.flow, end]
        return column

    def values(self, name: str) -> Values:
        """Values of the fields of the next header called `name`."""
        found: Values = getattr(self, name)()
        return found

    def ethernet(self) -> Values:
        """Routed: at each edge the other address is the leaf's; above there are only leaves'."""
        names, receiver = self.names, 1 - self.sender
        data = self.shape.kind == DATA
        tag = {
            CSIG_COMPACT: self.settings.csig_compact_tpids,
            CSIG_EXPANDED: self.settings.csig_expanded_tpids,
        }.get(self.shape.telemetry)
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
        return IPV6 if self.shape.telemetry in OVER_IPV6 else IPV4

    def csig_compact(self) -> Values:
        """The tag of data: at the sender's edge as the sender wrote it."""
        tag = self.csig()
        if self.edge == FIRST:
            initial = self.run.initial[self.shape.telemetry - 1]
            tag |= {"s": initial[self.packet["csig_t"]], "lm": 0}
        elif self.edge == ABOVE:
            tag |= {"s": self.packet["up_s"], "lm": self.packet["up_lm"]}
        return {**tag, "ethertype": self.ip_ethertype()}

    csig_expanded = csig_compact

    def csig(self) -> Values:
        """CSIG data fields as the last hop left them."""
        return {name: self.told[f"csig_{name}"] for name in ("t", "s", "lm")}

    def csig_echo_compact(self) -> Values:
        """The reflection in a TCP option."""
        kind, exid = self.settings.csig_echo_kind, self.settings.csig_echo_exid
        name = "compact" if self.shape.telemetry == CSIG_COMPACT else "expanded"
        table = self.layouts.tables[f"csig_echo_{name}"]
        known = {field.name for field in table.fields}
        head = {"kind": kind, "length": table.octets, **({"exid": exid} if "exid" in known else {})}
        return {**head, **self.csig()}

    csig_echo_expanded = csig_echo_compact

    def ip(self) -> Values:
        """DSCP announces INT or the urgent class; CE is seen once a port has marked."""
        marked = self.layouts.announced(self.shape)
        flow, ecn, dscp = self.run.flows[self.flow], np.zeros(len(self.rows), np.int64), 0
        if self.shape.kind == DATA:
            ce = self.marked()
            ecn = np.where(flow["ecn"] == 0, 0, np.where(ce, CE, ECT0))
        dscp = (self.settings.int_dscp or 0) if marked else flow["urgent"] * EXPEDITED
        return {"dscp": dscp, "ecn": ecn}

    def marked(self) -> NDArray[Any] | int:
        """Whether a port on the way to this edge has marked each packet."""
        if self.edge >= REPORTED:
            there: NDArray[Any] = self.packet["ce"] & (
                self.packet["ce_hop"] <= self.edge - REPORTED
            )
            return there
        marks: NDArray[Any] | int = self.packet[CE_AT[self.edge]] if self.edge != FIRST else 0
        return marks

    def ttl(self) -> object:
        """Each egress port has counted the packet down once."""
        if self.edge >= REPORTED:
            return TTL - 1 - (self.edge - REPORTED)
        return TTL - (self.packet["hop"] if self.edge == LAST else int(self.edge == ABOVE))

    def ipv4(self) -> Values:
        """IPv4 header; the identification counts a flow's packets."""
        return {
            **self.ip(), "version": 4, "ihl": 5, "total_length": self.inner - self.below_ip(),
            "id": self.rows & 0xFFFF, "flags": 2, "ttl": self.ttl(),
            "protocol": IFA_PROTOCOL if self.layouts.inserted(self.shape) else TCP,
            "source": self.of(self.names.ipv4, self.sender),
            "destination": self.of(self.names.ipv4, 1 - self.sender),
        }  # fmt: skip

    def below_ip(self) -> int:
        """Octets before the IP header."""
        tables, telemetry = self.layouts.tables, self.shape.telemetry
        tag = {CSIG_COMPACT: "csig_compact", CSIG_EXPANDED: "csig_expanded"}.get(telemetry)
        return ETHERNET_OCTETS + (tables[tag].octets if tag and self.shape.kind == DATA else 0)

    def ipv6(self) -> Values:
        """IPv6 header."""
        ends = {"source": self.sender, "destination": 1 - self.sender}
        addresses = {
            f"{name}_{half}": self.of(array, end)
            for name, end in ends.items()
            for half, array in (("high", self.names.ipv6_high), ("low", self.names.ipv6_low))
        }
        follows = HOP_BY_HOP if self.shape.kind == DATA else TCP
        return {
            **self.ip(), **addresses, "version": 6, "flow_label": self.flow + 1,
            "next_header": follows, "hop_limit": self.ttl(),
            "payload_length": self.inner - self.below_ip() - IPV6_OCTETS,
        }  # fmt: skip

    def hop_by_hop(self) -> Values:
        """Extension header that holds the option of AECN or IOAM."""
        pieces = self.layouts.pieces(self.shape)
        begin = pieces.index(self.layouts.tables["hop_by_hop"])
        end = pieces.index(self.layouts.tables["tcp"])
        return {"next_header": TCP, "length": sum(map(size, pieces[begin:end])) // 8 - 1}

    def aecn(self) -> Values:
        """The option's fixed part."""
        length = self.layouts.tables["aecn"].octets - 2 + INFOS
        return {
            "option_type": self.settings.aecn_option_types[0], "option_length": length,
            "type": self.layouts.aecn_type,
        }  # fmt: skip

    def aecn_data(self) -> Values:
        """Congestion information: nothing yet at the sender's edge."""
        seen = self.packet["up_aecn" if self.edge == ABOVE else "aecn"] * (self.edge != FIRST)
        infos = [field.name for field in self.layouts.aecn_data.fields]
        order = reversed(range(INFOS)) if self.settings.aecn_numbering == "lsb" else range(INFOS)
        return {name: seen[:, at] for name, at in zip(infos, order, strict=True)}

    def tcp(self) -> Values:
        """TCP header; sequence numbers count from the initial ones, SYN takes one."""
        kind, stream = self.shape.kind, self.packet["seq"]
        isn, peer = self.of(self.names.isn, self.sender), self.of(self.names.isn, 1 - self.sender)
        handshake = kind in (SYN, SYN_ACK)
        seq = isn + (0 if handshake else 1) + (stream if kind == DATA else 0)
        ack = peer + 1 + (stream if kind == ACK else 0)
        options = sum(map(size, self.layouts.tcp(self.shape)))
        return {
            "source_port": self.of(self.names.port, self.sender),
            "destination_port": self.of(self.names.port, 1 - self.sender),
            "seq": seq & WORD, "ack": (ack & WORD) * (kind != SYN), "data_offset": options // 4,
            "flags": self.flags(), "window": WINDOW,
        }  # fmt: skip

    def flags(self) -> object:
        """ECN is negotiated by the flows that run DCTCP (RFC 3168 section 6.1.1)."""
        kind = self.shape.kind
        ecn = self.run.flows["ecn"][self.flow].astype(np.int64)
        if kind == SYN:
            return F_SYN | (F_ECE | F_CWR) * ecn
        if kind == SYN_ACK:
            return F_SYN | F_ACK | F_ECE * ecn
        return F_ACK | self.packet["ece"] * F_ECE | self.packet["cwr"] * F_CWR

    def tcp_mss(self) -> Values:
        """Segments carry the payload and the timestamps option."""
        return {"kind": 2, "length": 4, "mss": self.run.world.payload_bytes + TIMESTAMP_OCTETS}

    def tcp_wscale(self) -> Values:
        """Window scale."""
        return {"kind": 3, "length": 3, "shift": WINDOW_SHIFT}

    def tcp_timestamps(self) -> Values:
        """Milliseconds of each host's clock; the echo is the youngest value heard, 0 before any."""
        clock = self.names.clock
        value = self.of(clock, self.sender) + self.packet["first_ns"] // MILLISECOND
        echo = self.of(clock, 1 - self.sender) + self.heard_ns // MILLISECOND
        return {
            "kind": 8, "length": 10, "value": value & WORD,
            "echo": np.where(self.heard_ns < 0, 0, echo & WORD),
        }  # fmt: skip
