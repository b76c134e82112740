"""Link layers: Ethernet and its tags, PPP, Linux cooked captures, loopback, raw IP, MPLS.

Ethernet | destination 48 | source 48 | ethertype 16 |
VLAN     | (TPID) | PCP 3 | DEI 1 | VID 12 | ethertype 16 |
SNAP     | DSAP 8 | SSAP 8 | control 8 | OUI 24 | ethertype 16 |
MACsec   | V 1 | ES 1 | SC 1 | SCB 1 | E 1 | C 1 | AN 2 | short length 8 | packet number 32 |
         | with SC: channel 64 | ethertype 16 |
MPLS     | label 20 | TC 3 | S 1 | TTL 8 |
"""

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header

SPACES = {
    "ethertype": -CODE["unknown_ethertype"],
    "ppp": -CODE["unknown_ethertype"],
    "link_type": -CODE["unknown_link_type"],
    "ip_version": -CODE["bad_version"],
    "mpls": 0,
}
SNAP_LENGTHS = range(8, 1501)
"""Numbers in an ethertype's place that are a frame's length, long enough for a SNAP header."""

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
        Field("channel", 1, "The secure channel is named.", "_macsec_channel"),
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
    branches=(Branch("_macsec_channel", 1, 1, to="macsec_channel"),),
    to="macsec_type",
)
MACSEC_CHANNEL = Header(
    "macsec_channel",
    "IEEE 802.1AE §9.3",
    (Field("channel", 64, "Secure channel identifier."),),
    doc="Channel of a security tag.",
    layer="macsec",
    to="macsec_type",
)
MACSEC_TYPE = Header(
    "macsec_type",
    "IEEE 802.1AE §9.3",
    (Field("ethertype", 16, "What follows."),),
    doc="Ethertype behind a security tag.",
    layer="macsec",
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
    layer="sll",
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
    (Field("version", 4, "4 or 6."), Field("rest", 4)),
    doc="An IP packet without link layer: the version tells which.",
    peek=True,
    next=("version", "ip_version"),
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


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(_: CollectorSettings) -> dict[str, dict[int, str]]:
    """Ethertypes, PPP protocols, link types of capture files, and what a label hides."""
    ethertype = {0x0800: "ipv4", 0x86DD: "ipv6", 0x8847: "mpls", 0x8848: "mpls", 0x6558: "ethernet",
                 0x88E5: "macsec"}  # fmt: skip
    ethertype |= dict.fromkeys(SNAP_LENGTHS, "snap")
    ethertype |= dict.fromkeys((0x8100, 0x88A8, 0x9100, 0x9200, 0x9300), "vlan")
    link_type = {0: "null", 1: "ethernet", 9: "ppp", 12: "raw_ip", 14: "raw_ip", 101: "raw_ip",
                 108: "null", 113: "sll", 228: "ipv4", 229: "ipv6", 276: "sll2"}  # fmt: skip
    return {
        "ethertype": ethertype,
        "ppp": {0x21: "ipv4", 0x57: "ipv6", 0x281: "mpls"},
        "link_type": link_type,
        "ip_version": {4: "ipv4", 6: "ipv6"},
        "mpls": {0: "mpls", 1: "raw_ip"},
    }
