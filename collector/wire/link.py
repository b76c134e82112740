"""Link layers: Ethernet II, 802.1Q/ad tags, PPP, Linux cooked captures, loopback, raw IP, MPLS.

Ethernet | destination 48 | source 48 | ethertype 16 |
VLAN     | (TPID) | PCP 3 | DEI 1 | VID 12 | ethertype 16 |
MPLS     | label 20 | TC 3 | S 1 | TTL 8 |
"""

from collector.wire.table import Field, Header

ETHERNET = Header(
    "ethernet",
    "IEEE 802.3 §3.2",
    (
        Field("destination", 48),
        Field("source", 48),
        Field("ethertype", 16, "What follows."),
    ),
    doc="Ethernet II frame.",
    next=("ethertype", "ethertype"),
)
VLAN = Header(
    "vlan",
    "IEEE 802.1Q §9",
    (Field("pcp", 3), Field("dei", 1), Field("vid", 12), Field("ethertype", 16, "What follows.")),
    doc="One customer or service tag.",
    next=("ethertype", "ethertype"),
)
PPP = Header(
    "ppp",
    "RFC 1661 §2",
    (Field("protocol", 16, "What follows."),),
    doc="PPP without HDLC framing.",
    next=("protocol", "ppp"),
)
SLL = Header(
    "sll",
    "LINKTYPE_LINUX_SLL",
    (Field("packet_type", 16), Field("arphrd", 16), Field("address_length", 16),
     Field("address", 64), Field("protocol", 16, "Ethertype.")),
    doc="Linux cooked capture, version 1.",
    next=("protocol", "ethertype"),
)  # fmt: skip
SLL2 = Header(
    "sll2",
    "LINKTYPE_LINUX_SLL2",
    (Field("protocol", 16, "Ethertype."), Field("reserved", 16), Field("interface", 32),
     Field("arphrd", 16), Field("packet_type", 8), Field("address_length", 8),
     Field("address", 64)),
    doc="Linux cooked capture, version 2.",
    next=("protocol", "ethertype"),
)  # fmt: skip
NULL = Header(
    "null",
    "LINKTYPE_NULL",
    (Field("family", 32, "Address family in the byte order of the writing machine."),),
    doc="BSD loopback; the IP version is read from the packet itself.",
    to="raw_ip",
)
RAW_IP = Header(
    "raw_ip",
    "LINKTYPE_RAW",
    (),
    doc="An IP packet without link layer: the version tells which.",
    next=("", "ip_version"),
)
MPLS = Header(
    "mpls",
    "RFC 3032 §2.1",
    (Field("label", 20), Field("tc", 3), Field("bottom", 1, "Last of the stack."), Field("ttl", 8)),
    doc="MPLS label; below the last one the IP version is read from the packet.",
    next=("bottom", "mpls"),
)
HEADERS = (ETHERNET, VLAN, PPP, SLL, SLL2, NULL, RAW_IP, MPLS)
