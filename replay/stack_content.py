"""Stacks: the value of every field that switches write into data, for packets of one shape.

The methods of `StackContent` are named for the wire tables that they fill. Records lie newest
first; each call for one gives the next.
"""

import numpy as np
from numpy.typing import NDArray

from collector import TCP, UDP
from replay.carriage import BRIDGED
from replay.layout import (
    BITMAP,
    DOMAIN,
    DOMAIN_BITMAP,
    IFA_NAME_SPACE,
    INT_1_BITMAP,
    IOAM_TRACE,
    REPORT_BITMAP,
)
from replay.packet_content import PacketContent, Values
from replay.state import DATA, HOPS

MD, MX, MD_OCTETS, MD_1_OCTETS, MOST_HOPS = 1, 3, 12, 8, 8
AFTER_DSCP = 2
"""Bits behind the original DSCP in a shim."""
MEGABIT, BILLION = 1_000_000, 1_000_000_000
WORD = 0xFFFFFFFF
TRACE_OCTETS = 12
"""Octets of an IOAM option before its data."""
TTL = 64
IFA_VERSION, EACH_ITS_OWN, ANY = 2, 15, 255
IFA_SPEEDS = {gbps * 10**9: code for code, gbps in enumerate((10, 25, 40, 50, 100, 200, 400))}
"""Speed code by bit/s."""
NO_SPEED = 15
"""Speed code of a link that IFA has none for."""
IFA_SECONDS = 1 << 20
MILLION = 1_000_000


class StackContent(PacketContent):
    """See the module."""

    def int_shim(self) -> Values:
        """Shim of the stack, with the DSCP that the packet's class had."""
        return {**self.shim(), "npt": 0, "next": self.original_dscp() << AFTER_DSCP}

    def original_dscp(self) -> NDArray[np.int64]:
        """DSCP of the class of data."""
        return self.dscp() * (self.shape.kind == DATA)

    def shim(self) -> Values:
        """Type of what follows, and its words."""
        own = self.layouts.hop_octets(self.shape.telemetry) * self.shape.hops
        kind = MX if "int_mx" in self.shape.carriage.stack else MD
        return {"type": kind, "length": (MD_OCTETS + own) // 4}

    def int_shim_gre(self) -> Values:
        """The same in GRE, whose own words say where INT begins."""
        return {**self.shim(), "next": BRIDGED}

    def int_mx(self) -> Values:
        """MX header: each switch is to report what reports hold."""
        return {"version": 2, "bitmap": REPORT_BITMAP}

    def int_v1_shim_dscp(self) -> Values:
        """Shim of INT 1.0, whose length counts itself."""
        words = 1 + (MD_1_OCTETS + self.shape.hops * self.layouts.int_1_hop.octets) // 4
        return {"type": MD, "length": words, "original_dscp": self.original_dscp()}

    def int_v1_md(self) -> Values:
        """MD header of INT 1.0."""
        return {
            "version": 1, "hop_ml": self.layouts.int_1_hop.octets // 4,
            "remaining": MOST_HOPS - self.shape.hops, "bitmap": INT_1_BITMAP,
        }  # fmt: skip

    def int_v1_hop(self) -> Values:
        """The next record of INT 1.0, whose times wrap."""
        self.hop -= 1
        hop, port = self.hop, self.port(self.hop)
        waited = self.told["wait_ns"][:, hop]
        full = self.settings.int_utilization_full or MILLION
        return {
            "node": port["node_id"], "ingress": self.ingress(hop), "egress": port["port_id"],
            "latency": waited, "queue": 0, "occupancy": self.told["qlen"][:, hop],
            "ingress_ts": (self.sent_ns(hop) - waited) & WORD,
            "egress_ts": self.sent_ns(hop) & WORD,
            "tx_utilization": self.told["used_ppm"][:, hop].astype(np.int64) * full // MILLION,
        }  # fmt: skip

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

    def ifa_over_udp(self) -> Values:
        """The same where a tunnel's UDP follows."""
        return {**self.ifa_over_tcp(), "next": UDP}

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
