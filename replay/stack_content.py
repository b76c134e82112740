"""Stacks and reports: the value of every field that switches write, for packets of one shape.

The methods of `StackContent` are named for the wire tables that they fill. Records lie newest
first; each call for one gives the next.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings
from replay.fabric import Run
from replay.layout import (
    BITMAP,
    DOMAIN,
    DOMAIN_BITMAP,
    IFA_NAME_SPACE,
    IOAM_TRACE,
    REPORT_BITMAP,
    Layouts,
    Shape,
)
from replay.state import DATA, HOPS, REPORTED
from replay.wiring import COLLECTOR, COLLECTOR_MAC, ingress_ports

Values = dict[str, object]
MD, MD_OCTETS, MOST_HOPS = 1, 12, 8
EXPEDITED = 46
"""DSCP of urgent data (RFC 3246)."""
AFTER_DSCP = 2
"""Bits behind the original DSCP in a shim."""
MEGABIT, BILLION = 1_000_000, 1_000_000_000
WORD = 0xFFFFFFFF
TRACE_OCTETS = 12
"""Octets of an IOAM option before its data."""
TTL = 64
TCP = 6
IFA_VERSION, EACH_ITS_OWN, ANY = 2, 15, 255
IFA_SPEEDS = {gbps * 10**9: code for code, gbps in enumerate((10, 25, 40, 50, 100, 200, 400))}
"""Speed code by bit/s."""
NO_SPEED = 15
"""Speed code of a link that IFA has none for."""
IFA_SECONDS = 1 << 20
ETHERNET_INNER, INNER_ONLY, SAW, TRACKED, TO_THE_END = 3, 0, 1, 2, 255
"""Inner type of a report, types of reports 2.0, flag F, length that is that of the datagram."""
IPV4, UDP, IP_OCTETS, ETHERNET_OCTETS = 0x0800, 17, 20, 14
MILLION = 1_000_000
REPORT_PORT = 49151
SEQUENCES = 1 << 22


class StackContent:
    """See the module; `Content` says what its attributes hold."""

    run: Run
    settings: CollectorSettings
    layouts: Layouts
    shape: Shape
    rows: NDArray[np.int64]
    packet: NDArray[Any]
    told: NDArray[Any]
    octets: int
    edge: int
    hop: int
    """Records that are not yet written, counted from the sender."""

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

    def int_shim(self) -> Values:
        """Shim of the stack, with the DSCP that the packet's class had."""
        stack = MD_OCTETS + self.shape.hops * self.layouts.hop.octets
        urgent = self.run.flows["urgent"][self.packet["flow"]].astype(np.int64)
        dscp = urgent * EXPEDITED * (self.shape.kind == DATA)
        return {"type": MD, "npt": 0, "length": stack // 4, "next": dscp << AFTER_DSCP}

    def int_md(self) -> Values:
        """MD header."""
        return {
            "version": 2, "hop_ml": self.layouts.hop.octets // 4,
            "remaining": MOST_HOPS - self.shape.hops, "bitmap": BITMAP,
            "domain": DOMAIN, "domain_bitmap": DOMAIN_BITMAP,
        }  # fmt: skip

    def int_hop(self) -> Values:
        """The next record of an INT stack."""
        self.hop -= 1
        hop, port = self.hop, self.port(self.hop)
        return {
            "node": port["node_id"], "ingress": self.ingress(hop), "egress": port["port_id"],
            "queue": 0, "occupancy": self.told["qlen"][:, hop], "egress_ts": self.sent_ns(hop),
            "tx_bytes": self.told["tx_bytes"][:, hop], "b_mbps": port["bps"] // MEGABIT,
        }  # fmt: skip

    def ifa_over_tcp(self) -> Values:
        """IFA header: each hop in a name space of its own."""
        return {"version": IFA_VERSION, "gns": EACH_ITS_OWN, "next": TCP, "max_length": ANY}

    def ifa_metadata(self) -> Values:
        """What the stack is: any hop may add to it."""
        words = self.shape.hops * self.layouts.ifa_hop.octets // 4
        return {"request": ANY, "hop_limit": ANY, "length": words}

    def ifa_hop(self) -> Values:
        """The next record of an IFA stack: received at a time, sent a residence later."""
        self.hop -= 1
        hop, port = self.hop, self.port(self.hop)
        received = self.sent_ns(hop) - self.told["wait_ns"][:, hop]
        speeds = [IFA_SPEEDS.get(int(bps), NO_SPEED) for bps in port["bps"]]
        return {
            "lns": IFA_NAME_SPACE, "node": port["node_id"], "ttl": TTL - 1 - hop, "speed": speeds,
            "seconds": received // BILLION % IFA_SECONDS, "nanoseconds": received % BILLION,
            "port": port["port_id"], "ingress_port": self.ingress(hop),
            "residence": self.told["wait_ns"][:, hop],
            "tx_bytes": self.told["tx_bytes"][:, hop] & WORD,
            "cells": -(-self.told["qlen"][:, hop] // self.settings.ifa_cell_bytes),
        }  # fmt: skip

    def ioam_preallocated(self) -> Values:
        """Pre-allocated trace: room for every hop that a path may have."""
        node = self.layouts.ioam_node.octets
        free = HOPS - self.shape.hops
        return {
            "option_type": self.settings.ioam_option_types[0],
            "option_length": TRACE_OCTETS - 2 + HOPS * node, "type": 0,
            "node_words": node // 4, "remaining": free * node // 4, "trace_type": IOAM_TRACE,
        }  # fmt: skip

    def ioam_node(self) -> Values:
        """The next node of the trace; its time is that of receipt."""
        self.hop -= 1
        hop, port = self.hop, self.port(self.hop)
        received = self.sent_ns(hop) - self.told["wait_ns"][:, hop]
        fraction = received % BILLION
        if self.settings.ioam_fraction == "microseconds":
            fraction //= 1000
        return {
            "hop_limit": TTL - 1 - hop, "node": port["node_id"], "ingress": self.ingress(hop),
            "egress": port["port_id"], "seconds": received // BILLION, "fraction": fraction,
            "transit_delay": self.told["wait_ns"][:, hop],
            "queue_depth": -(-self.told["qlen"][:, hop] // self.settings.ioam_queue_bytes),
        }  # fmt: skip

    def reporter(self) -> int:
        """Hop whose switch makes these reports."""
        return self.edge - REPORTED

    def node(self) -> NDArray[np.int64]:
        """Node id of that switch."""
        found: NDArray[np.int64] = self.port(self.reporter())["node_id"].astype(np.int64)
        return found

    def outer_ethernet(self) -> Values:
        """Reports leave by a network of their own."""
        return {
            "destination": COLLECTOR_MAC,
            "source": COLLECTOR_MAC + self.node(),
            "ethertype": IPV4,
        }

    def outer_ipv4(self) -> Values:
        """From the switch to the collector."""
        return {
            "version": 4, "ihl": 5, "total_length": self.octets - ETHERNET_OCTETS, "ttl": TTL,
            "protocol": UDP, "id": self.sequence() & 0xFFFF,
            "source": COLLECTOR + self.node(), "destination": COLLECTOR,
        }  # fmt: skip

    def outer_udp(self) -> Values:
        """Without a checksum, which IPv4 allows."""
        return {
            "source_port": REPORT_PORT, "destination_port": self.settings.report_udp_ports[0],
            "length": self.octets - ETHERNET_OCTETS - IP_OCTETS,
        }  # fmt: skip

    def sequence(self) -> NDArray[np.int64]:
        """Sequence numbers: those of the packets, so that a lost report leaves a gap."""
        return self.rows % SEQUENCES

    def report_group(self) -> Values:
        """Group header: which switch."""
        return {"version": 2, "sequence": self.sequence(), "node": self.node()}

    def report_inner(self) -> Values:
        """A sink's report: the packet with the stack that it had."""
        return {
            "report_type": INNER_ONLY, "inner_type": ETHERNET_INNER, "length": TO_THE_END,
            "flags": TRACKED,
        }  # fmt: skip

    def report_int(self) -> Values:
        """A switch's report of what it saw itself."""
        return {
            "report_type": SAW, "inner_type": ETHERNET_INNER, "length": TO_THE_END,
            "metadata_length": self.layouts.saw.octets // 4, "flags": TRACKED,
            "bitmap": REPORT_BITMAP,
        }  # fmt: skip

    def report_saw(self) -> Values:
        """What the switch saw."""
        hop = self.reporter()
        full = self.settings.report_utilization_full or MILLION
        return {
            "ingress": self.ingress(hop), "egress": self.port(hop)["port_id"],
            "latency": self.told["wait_ns"][:, hop], "occupancy": self.told["qlen"][:, hop],
            "egress_ts": self.sent_ns(hop),
            "utilization": self.told["used_ppm"][:, hop].astype(np.int64) * full // MILLION,
        }  # fmt: skip
