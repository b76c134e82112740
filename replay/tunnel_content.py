"""Tunnels: the value of every field of what stands around a packet of hosts that use an overlay.

The methods of `TunnelContent` are named for the wire tables that they fill. What switches read and
write stands here: addresses of the hosts in the network below, DSCP, marks and telemetry.
"""

import numpy as np

from collector import UDP
from replay.carriage import BRIDGED, GRE_PROTOCOL, IFA_PROTOCOL
from replay.identity import EPHEMERAL
from replay.packet_content import PacketContent, Values

BELOW_V4 = (100 << 24 | 64 << 16) - (10 << 24)
"""From a host's address to the one that it has below."""
BELOW_V6 = 1 << 48
HOP_BY_HOP = 0
IPV6_OCTETS = 40
WITH_VNI = 0x08
VNI = 5001


class TunnelContent(PacketContent):
    """See the module."""

    def tunnel_ethernet(self) -> Values:
        """As without a tunnel."""
        return self.routed()

    def tunnelled(self) -> int:
        """Protocol of the tunnel."""
        return UDP if self.shape.around and self.shape.around.port else GRE_PROTOCOL

    def tunnel_ipv4(self) -> Values:
        """From host to host, in the network below."""
        below = np.uint64(BELOW_V4)
        return {
            **self.ip(), "version": 4, "ihl": 5, "total_length": self.after("tunnel_ipv4"),
            "id": self.rows & 0xFFFF, "flags": 2, "ttl": self.hops_away(),
            "protocol": IFA_PROTOCOL if self.layouts.inserted(self.shape) else self.tunnelled(),
            "source": self.of(self.names.ipv4, self.sender) + below,
            "destination": self.of(self.names.ipv4, 1 - self.sender) + below,
        }  # fmt: skip

    def tunnel_ipv6(self) -> Values:
        """The same over IPv6."""
        added = {"high": np.uint64(BELOW_V6), "low": np.uint64(0)}
        ends = {name: value + added[name.rpartition("_")[2]]
                for name, value in self.addresses().items()}  # fmt: skip
        option = self.layouts.option(self.shape)
        return {
            **self.ip(), **ends, "version": 6, "flow_label": self.flow + 1,
            "next_header": HOP_BY_HOP if option else self.tunnelled(),
            "hop_limit": self.hops_away(),
            "payload_length": self.after("tunnel_ipv6") - IPV6_OCTETS,
        }  # fmt: skip

    def tunnel_udp(self) -> Values:
        """Without a checksum, as tunnels are (RFC 6935); the source port is the flow's entropy."""
        assert self.shape.around is not None
        return {
            "source_port": EPHEMERAL + self.flow, "destination_port": self.shape.around.port,
            "length": self.after("tunnel_udp"),
        }  # fmt: skip

    def vxlan(self) -> Values:
        """VXLAN."""
        return {"flags": WITH_VNI, "vni": VNI}

    def geneve(self) -> Values:
        """Geneve without options."""
        return {"protocol": BRIDGED, "vni": VNI}

    def gre(self) -> Values:
        """GRE, whose protocol announces INT."""
        announced = self.layouts.announced(self.shape)
        return {"protocol": self.settings.int_gre_protocol if announced else BRIDGED}
