"""Reports: the value of every field of what switches report, for packets of one shape.

The methods of `ReportContent` are named for the wire tables that they fill.
"""

import numpy as np
from numpy.typing import NDArray

from collector import UDP
from replay.layout import REPORT_1_BITMAP, REPORT_BITMAP
from replay.packet_content import IPV4, TTL, PacketContent, Values
from replay.state import REPORTED
from replay.wiring import COLLECTOR, COLLECTOR_MAC

ETHERNET_INNER, INNER_ONLY, SAW, TRACKED, TO_THE_END = 3, 0, 1, 2, 255
"""Inner type of a report, types of reports 2.0, flag F, length that is that of the datagram."""
TRACKED_1, LOCAL = 1, 2
"""Flag F and the kind of switch-local reports of older versions."""
IP_OCTETS, ETHERNET_OCTETS = 20, 14
MILLION = 1_000_000
WORD = 0xFFFFFFFF
REPORT_PORT = 49151
SEQUENCES = 1 << 22


class ReportContent(PacketContent):
    """See the module."""

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
            **self.ports(), "latency": self.told["wait_ns"][:, hop],
            "occupancy": self.told["qlen"][:, hop], "egress_ts": self.sent_ns(hop),
            "utilization": self.told["used_ppm"][:, hop].astype(np.int64) * full // MILLION,
        }  # fmt: skip

    def ports(self) -> Values:
        """By which ports the packets came and went."""
        hop = self.reporter()
        return {"ingress": self.ingress(hop), "egress": self.port(hop)["port_id"]}

    def report_saw_1(self) -> Values:
        """The same in reports 1.0, whose times wrap."""
        return {**self.report_saw(), "egress_ts": self.sent_ns(self.reporter()) & WORD}

    def received(self) -> NDArray[np.int64]:
        """When the switch received the packets, as it wraps."""
        hop = self.reporter()
        at: NDArray[np.int64] = (self.sent_ns(hop) - self.told["wait_ns"][:, hop]) & WORD
        return at

    def report_1(self) -> Values:
        """Header of a report 1.0."""
        octets = sum(self.layouts.named[name].octets for name in ("report_1", "report_saw_1"))
        return {
            "version": 1, "length": octets // 4, "bitmap": REPORT_1_BITMAP, "flags": TRACKED_1,
            "node": self.node(), "sequence": self.rows & WORD, "ingress_ts": self.received(),
        }  # fmt: skip

    def report_05(self) -> Values:
        """Header of a report 0.5."""
        return {"next": LOCAL, "flags": TRACKED_1, "sequence": self.rows & WORD,
                "ingress_ts": self.received()}  # fmt: skip

    def report_05_local(self) -> Values:
        """What its switch saw."""
        hop = self.reporter()
        return {
            **self.ports(), "node": self.node(), "occupancy": self.told["qlen"][:, hop],
            "egress_ts": self.sent_ns(hop) & WORD,
        }  # fmt: skip
