"""Link layers: Ethernet and its tags, PPP, Linux cooked captures, loopback, raw IP, MPLS.

Ethernet | destination 48 | source 48 | ethertype 16 |
VLAN     | (TPID) | PCP 3 | DEI 1 | VID 12 | ethertype 16 |
SNAP     | DSAP 8 | SSAP 8 | control 8 | OUI 24 | ethertype 16 |
MACsec   | V 1 | ES 1 | SC 1 | SCB 1 | E 1 | C 1 | AN 2 | short length 8 | packet number 32 |
         | with SC: channel 64 | ethertype 16 |
MPLS     | label 20 | TC 3 | S 1 | TTL 8 |
"""

from collector.wire.table import Branch, Check, Field, Header

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
SNAP = Header(
    "snap",
    "IEEE 802 §9.2",
    (
        Field("dsap", 8),
        Field("ssap", 8),
        Field("control", 8),
        Field("oui", 24, "0: an ethertype follows."),
        Field("ethertype", 16, "What follows."),
    ),
    doc="Ethertype of a frame that has a length in its place.",
    checks=(
        Check("dsap", 0xAA, 0xAA, "unknown_ethertype"),
        Check("ssap", 0xAA, 0xAA, "unknown_ethertype"),
        Check("control", 3, 3, "unknown_ethertype"),
        Check("oui", 0, 0, "unknown_ethertype"),
    ),
    next=("ethertype", "ethertype"),
)
MACSEC = Header(
    "macsec",
    "IEEE 802.1AE §9.3",
    (
        Field("version", 1),
        Field("end_station", 1),
        Field("channel", 1, "The secure channel is named.", "macsec_channel"),
        Field("broadcast", 1),
        Field("encrypted", 1, "What follows cannot be read."),
        Field("changed", 1, "What follows is not the frame's own text."),
        Field("association", 2),
        Field("short_length", 8),
        Field("packet_number", 32),
    ),
    doc="Security tag of a frame that is protected but not encrypted.",
    checks=(
        Check("encrypted", 0, 0, "unknown_ethertype"),
        Check("changed", 0, 0, "unknown_ethertype"),
    ),
    branches=(Branch("macsec_channel", 1, 1, to="macsec_channel"),),
    to="macsec_type",
)
MACSEC_CHANNEL = Header(
    "macsec_channel",
    "IEEE 802.1AE §9.3",
    (Field("channel", 64, "Secure channel identifier."),),
    doc="Channel of a security tag.",
    to="macsec_type",
)
MACSEC_TYPE = Header(
    "macsec_type",
    "IEEE 802.1AE §9.3",
    (Field("ethertype", 16, "What follows."),),
    doc="Ethertype behind a security tag.",
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
HEADERS = (
    ETHERNET, VLAN, SNAP, MACSEC, MACSEC_CHANNEL, MACSEC_TYPE, PPP, SLL, SLL2, NULL, RAW_IP, MPLS,
)  # fmt: skip
