"""Content of frames: the value of every header field, for many packets of one shape at once.

The methods of `Content` are named for the wire tables that they fill.
"""

from collector import UDP
from replay.carriage import GRE_PROTOCOL, IFA_PROTOCOL
from replay.layout import size
from replay.packet_content import TTL, Values
from replay.report_content import ReportContent
from replay.stack_content import StackContent
from replay.state import ABOVE, ACK, FIRST, INFOS
from replay.transport_content import TransportContent
from replay.tunnel_content import TunnelContent

HOP_BY_HOP = 0
IPV6_OCTETS = 40


class Content(StackContent, ReportContent, TransportContent, TunnelContent):
    """All headers of packets of one shape."""

    def ethernet(self) -> Values:
        """What the flow's own packet stands in: in a tunnel it is bridged from host to host."""
        if self.shape.around:
            to, by = self.of(self.names.mac, 1 - self.sender), self.of(self.names.mac, self.sender)
            return {"destination": to, "source": by, "ethertype": self.ip_ethertype()}
        return self.routed()

    def csig_compact(self) -> Values:
        """The tag of data: at the sender's edge as the sender wrote it."""
        tag = self.csig()
        if self.edge == FIRST:
            initial = self.run.initial[self.shape.carriage.acts - 1]
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
        table = self.layouts.tables[self.shape.carriage.options[ACK]]
        known = {field.name for field in table.fields}
        head = {"kind": kind, "length": table.octets, **({"exid": exid} if "exid" in known else {})}
        return {**head, **self.csig()}

    csig_echo_expanded = csig_echo_compact

    def under(self) -> Values:
        """Of an IP header inside a tunnel: as the sender wrote it."""
        return {"dscp": self.dscp(), "ecn": self.ecn()}

    def ipv4(self) -> Values:
        """IPv4 header; the identification counts a flow's packets."""
        inside = self.shape.around is not None
        first = IFA_PROTOCOL if self.layouts.inserted(self.shape) else self.carried()
        return {
            **(self.under() if inside else self.ip()),
            "version": 4, "ihl": 5, "total_length": self.after("ipv4"),
            "id": self.rows & 0xFFFF, "flags": 2, "ttl": TTL if inside else self.hops_away(),
            "protocol": self.carried() if inside else first,
            "source": self.of(self.names.ipv4, self.sender),
            "destination": self.of(self.names.ipv4, 1 - self.sender),
        }  # fmt: skip

    def ipv6(self) -> Values:
        """IPv6 header."""
        inside = self.shape.around is not None
        follows = HOP_BY_HOP if self.layouts.option(self.shape) else self.carried()
        return {
            **(self.under() if inside else self.ip()), **self.addresses(),
            "version": 6, "flow_label": self.flow + 1,
            "next_header": self.carried() if inside else follows,
            "hop_limit": TTL if inside else self.hops_away(),
            "payload_length": self.after("ipv6") - IPV6_OCTETS,
        }  # fmt: skip

    def hop_by_hop(self) -> Values:
        """Extension header that holds the option of AECN or IOAM."""
        around = self.shape.around
        follows = self.carried() if around is None else UDP if around.port else GRE_PROTOCOL
        octets = sum(map(size, self.layouts.option(self.shape)))
        return {"next_header": follows, "length": octets // 8 - 1}

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
