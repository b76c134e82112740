"""Link layers: Ethernet and its tags, PPP, Linux cooked captures, loopback, raw IP, MPLS.

PPP may come in HDLC framing, and with its protocol compressed to one octet. A pseudowire's Ethernet
frame begins, by a setting, behind a control word.

Ethernet | destination 48 | source 48 | ethertype 16 |
VLAN     | (TPID) | PCP 3 | DEI 1 | VID 12 | ethertype 16 |
SNAP     | DSAP 8 | SSAP 8 | control 8 | OUI 24 | ethertype 16 |
MACsec   | V 1 | ES 1 | SC 1 | SCB 1 | E 1 | C 1 | AN 2 | short length 8 | packet number 32 |
         | with SC: channel 64 | ethertype 16 |
PPP      | in HDLC framing: address FF 8 | control 03 8 | protocol 16, or 8 when its last bit is 1 |
Cisco    | address 8 | control 8 | ethertype 16 |
PPPoE    | Ver 4 | Type 4 | code 8 | session 16 | length 16 |
SLL      | packet type 16 | ARPHRD 16 | address length 16 | address 64 | protocol 16 |
SLL2     | protocol 16 | R 16 | interface 32 | ARPHRD 16 | packet type 8 | length 8 | address 64 |
MPLS     | label 20 | TC 3 | S 1 | TTL 8 |
control  | 0 4 | flags 4 | fragmentation 2 | length 6 | sequence 16 |
"""

from dataclasses import replace

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length

SPACES = {
    "ethertype": -CODE["unknown_ethertype"],
    "ppp": -CODE["unknown_ethertype"],
    "link_type": -CODE["unknown_link_type"],
    "ip_version": -CODE["bad_version"],
    "mpls": 0,
    "mpls_payload": -CODE["unknown_ethertype"],
    "sll": -CODE["unknown_ethertype"],
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
        Check("encrypted", 0, 0, "encrypted"),
        Check("changed", 0, 0, "encrypted"),
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
    "RFC 1661 §2, RFC 1662 §3",
    (Field("first", 8, "255: HDLC framing; odd: a protocol of one octet.", "_ppp_first"),),
    doc="PPP, in whichever form it comes.",
    peek=True,
    branches=(
        Branch("_ppp_first", 0xFF, 0xFF, to="ppp_hdlc"),
        Branch("_ppp_first", 1, 1, to="ppp_short"),
    ),
    to="ppp_protocol",
)
PPP_HDLC = Header(
    "ppp_hdlc",
    "RFC 1662 §3.1",
    (Field("address", 8, "255: all stations."), Field("control", 8, "3: unnumbered information.")),
    doc="Address and control of HDLC framing.",
    checks=(Check("control", 3, 3, "unknown_ethertype"),),
    layer="ppp",
    to="ppp",
)
PPP_PROTOCOL = Header(
    "ppp_protocol",
    "RFC 1661 §2",
    (Field("protocol", 16, "What follows."),),
    doc="PPP protocol of two octets.",
    layer="ppp",
    next=("protocol", "ppp"),
)
PPP_SHORT = Header(
    "ppp_short",
    "RFC 1661 §6.5",
    (Field("protocol", 8, "What follows."),),
    doc="PPP protocol, compressed.",
    layer="ppp",
    next=("protocol", "ppp"),
)
CISCO_HDLC = Header(
    "cisco_hdlc",
    "LINKTYPE_C_HDLC",
    (
        Field("address", 8, "15 unicast, 143 multicast."),
        Field("control", 8),
        Field("protocol", 16, "Ethertype."),
    ),
    doc="Cisco's HDLC framing.",
    next=("protocol", "ethertype"),
)
HDLC = replace(
    CISCO_HDLC,
    name="hdlc",
    source="LINKTYPE_PPP_HDLC",
    doc="HDLC framing of Cisco or of PPP: the address tells which.",
    fields=(
        Field("address_high", 1),
        Field("address", 7, "15: Cisco's framing."),
        *CISCO_HDLC.fields[1:],
    ),
    checks=(Check("address", 0x0F, 0x0F, None),),
    otherwise="ppp",
)
PPPOE = Header(
    "pppoe",
    "RFC 2516 §4",
    (
        Field("version", 4, "1."),
        Field("type", 4, "1."),
        Field("code", 8, "0: session data."),
        Field("session", 16, "Session id."),
        Field("length", 16, "Octets that follow."),
    ),
    doc="PPP over Ethernet, session stage.",
    extent=Length("length", 1, 6),
    checks=(
        Check("version", 1, 1, "bad_version"),
        Check("type", 1, 1, "bad_version"),
        Check("code", 0, 0, "unknown_ethertype"),
    ),
    to="ppp",
)
_COOKED = (Branch("_sll_protocol", 0xF800, 0, select="_sll_protocol", space="sll"),)
"""Linux's own numbers for what has no ethertype; they are no lengths."""
SLL = Header(
    "sll",
    "LINKTYPE_LINUX_SLL",
    (Field("packet_type", 16), Field("arphrd", 16), Field("address_length", 16),
     Field("address", 64), Field("protocol", 16, "Ethertype.", "_sll_protocol")),
    doc="Linux cooked capture, version 1.",
    next=("protocol", "ethertype"),
    branches=_COOKED,
)  # fmt: skip
SLL2 = Header(
    "sll2",
    "LINKTYPE_LINUX_SLL2",
    (Field("protocol", 16, "Ethertype.", "_sll_protocol"), Field("reserved", 16),
     Field("interface", 32), Field("arphrd", 16), Field("packet_type", 8),
     Field("address_length", 8), Field("address", 64)),
    doc="Linux cooked capture, version 2.",
    layer="sll",
    next=("protocol", "ethertype"),
    branches=_COOKED,
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
MPLS_PAYLOAD = Header(
    "mpls_payload",
    "RFC 4928 §3",
    (Field("first", 4, "4 or 6: IP; 0: a pseudowire's control word."), Field("rest", 4)),
    doc="What a bottom label hides, by its first four bits.",
    peek=True,
    layer="mpls",
    next=("first", "mpls_payload"),
)
CONTROL_WORD = Header(
    "control_word",
    "RFC 4385 §3",
    (
        Field("zero", 4, "0."),
        Field("flags", 4),
        Field("fragmentation", 2),
        Field("length", 6, "Octets of a short frame; 0: not told."),
        Field("sequence", 16),
    ),
    doc="Control word of a pseudowire that carries Ethernet (RFC 4448).",
    layer="mpls",
    to="ethernet",
)
HEADERS = (
    ETHERNET, VLAN, SNAP, MACSEC, MACSEC_CHANNEL, MACSEC_TYPE, PPP, PPP_HDLC, PPP_PROTOCOL,
    PPP_SHORT, CISCO_HDLC, HDLC, PPPOE, SLL, SLL2, NULL, RAW_IP, MPLS, MPLS_PAYLOAD, CONTROL_WORD,
)  # fmt: skip


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Ethertypes, PPP protocols, link types of capture files, and what a label hides."""
    ethertype = {0x0800: "ipv4", 0x86DD: "ipv6", 0x8847: "mpls", 0x8848: "mpls", 0x6558: "ethernet",
                 0x88E5: "macsec", 0x8864: "pppoe", 0x880B: "ppp"}  # fmt: skip
    ethertype |= dict.fromkeys(SNAP_LENGTHS, "snap")
    ethertype |= dict.fromkeys((0x8100, 0x88A8, 0x9100, 0x9200, 0x9300), "vlan")
    link_type = {0: "null", 1: "ethernet", 9: "hdlc", 12: "raw_ip", 14: "raw_ip", 50: "hdlc",
                 51: "pppoe", 101: "raw_ip", 104: "cisco_hdlc", 108: "null", 113: "sll",
                 219: "mpls", 228: "ipv4", 229: "ipv6", 276: "sll2"}  # fmt: skip
    bare = settings.mpls_pseudowire == "bare"
    pseudowire = dict.fromkeys(range(16), "ethernet") if bare else {0: "control_word"}
    return {
        "ethertype": ethertype,
        "ppp": {0x21: "ipv4", 0x57: "ipv6", 0x281: "mpls", 0x283: "mpls"},
        "link_type": link_type,
        "ip_version": {4: "ipv4", 6: "ipv6"},
        "mpls": {0: "mpls", 1: "mpls_payload"},
        "mpls_payload": pseudowire | {4: "ipv4", 6: "ipv6"},
        "sll": {4: "snap"},
    }
