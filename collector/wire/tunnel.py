"""Envelopes: overlays that carry the flow itself, and mirrors that only carry its copy.

    GRE       | C R K S 4 | recursion, flags 9 | version 3 | protocol 16 | optional words |
    VXLAN     | flags 8 | reserved 24 | VNI 24 | reserved 8 |
    Geneve    | Ver 2 | options 6 | O C R 8 | protocol 16 | VNI 24 | R 8 | options |
    ERSPAN II | Ver 4 | VLAN 12 | COS 3 | En 2 | T 1 | session 10 | R 12 | index 20 |
    ERSPAN III| Ver 4 | VLAN 12 | COS 3 | BSO 2 | T 1 | session 10 | timestamp 32 |
              | SGT 16 | P 1 | FT 5 | HwID 6 | D 1 | Gra 2 | O 1 |

Telemetry and ECN on a mirror's outer layers belong to the transport of the copy and are forgotten.
"""

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length

SPACES = {"gpe": -CODE["unknown_ethertype"], "erspan3": -CODE["unknown_ethertype"]}

ERSPAN_PROTOCOL = 0x88BE
METADATA_PROTOCOL = 0x8909
SEQUENCE_PRESENT = 0x1000
OPTIONAL_WORDS = 0xB000_0000
"""Checksum, key and sequence flags: each present one adds a word."""

GRE = Header(
    "gre",
    "RFC 2784 §2, RFC 2890 §2",
    (Field("word", 32, "Flags, version and protocol.", "_gre_word"),),
    doc="Generic Routing Encapsulation with its optional words.",
    length=Length("word", 4, 4, OPTIONAL_WORDS),
    next=("word", "ethertype"),
    branches=(
        Branch("_gre_word", SEQUENCE_PRESENT << 16 | 0xFFFF, ERSPAN_PROTOCOL, to="erspan1"),
        Branch("_gre_word", 0xFFFF, ERSPAN_PROTOCOL, to="erspan2"),
        Branch("_gre_word", 0xFFFF, METADATA_PROTOCOL, to="gre_metadata"),
    ),
)
GRE_METADATA = Header(
    "gre_metadata",
    "Cisco metadata, as tshark reads it",
    (
        Field("ethertype", 16, "What follows."),
        Field("version", 8),
        Field("length", 8),
        Field("option", 16),
        Field("group", 16, "Security group."),
    ),
    doc="Security group of a packet in GRE.",
    layer="gre",
    checks=(
        Check("version", 1, 1, "unknown_ethertype"),
        Check("length", 1, 1, "unknown_ethertype"),
    ),
    next=("ethertype", "ethertype"),
)
ERSPAN1 = Header(
    "erspan1", "ERSPAN type I", (), doc="Mirror without a header of its own.", to="ethernet",
    envelope="mirror", layer="erspan",
)  # fmt: skip
ERSPAN2 = Header(
    "erspan2",
    "ERSPAN type II",
    (
        Field("version", 4, "1."),
        Field("vlan", 12),
        Field("cos", 3),
        Field("encapsulation", 2),
        Field("truncated", 1),
        Field("session", 10, "Mirror session.", "mirror_session"),
        Field("reserved", 12),
        Field("index", 20, "Port index.", "mirror_port"),
    ),
    doc="Mirror with session and port index.",
    to="ethernet",
    envelope="mirror",
    layer="erspan",
)
ERSPAN3 = Header(
    "erspan3",
    "ERSPAN type III",
    (
        Field("version", 4, "2."),
        Field("vlan", 12),
        Field("cos", 3),
        Field("bso", 2),
        Field("truncated", 1),
        Field("session", 10, "Mirror session.", "mirror_session"),
        Field("timestamp", 32),
        Field("sgt", 16),
        Field("p", 1),
        Field("frame_type", 5, "0 Ethernet, 2 IP."),
        Field("hardware", 6),
        Field("direction", 1),
        Field("granularity", 2),
        Field("optional", 1, "An eight-octet sub-header follows."),
    ),
    doc="Mirror with session and timestamp.",
    length=Length("optional", 8, 12, 1),
    next=("frame_type", "erspan3"),
    envelope="mirror",
    layer="erspan",
)
VXLAN = Header(
    "vxlan",
    "RFC 7348 §5",
    (
        Field("flags", 8, "0x08: the VNI is valid."),
        Field("reserved", 24),
        Field("vni", 24, "Virtual network identifier.", "vni"),
        Field("reserved2", 8),
    ),
    doc="VXLAN overlay.",
    to="ethernet",
)
VXLAN_GPE = Header(
    "vxlan_gpe",
    "draft-ietf-nvo3-vxlan-gpe §3",
    (
        Field("flags", 8),
        Field("reserved", 16),
        Field("next_protocol", 8, "1 IPv4, 2 IPv6, 3 Ethernet, 4 NSH."),
        Field("vni", 24, "Virtual network identifier.", "vni"),
        Field("reserved2", 8),
    ),
    doc="VXLAN overlay with a protocol field.",
    next=("next_protocol", "gpe"),
)
NSH = Header(
    "nsh",
    "RFC 8300 §2",
    (
        Field("version", 2),
        Field("flags", 2),
        Field("ttl", 6),
        Field("length", 6, "Words of the whole header."),
        Field("reserved", 4),
        Field("md_type", 4),
        Field("next_protocol", 8, "1 IPv4, 2 IPv6, 3 Ethernet, 4 NSH."),
        Field("service_path", 32),
    ),
    doc="Network Service Header.",
    length=Length("length", 4),
    next=("next_protocol", "gpe"),
)
GENEVE = Header(
    "geneve",
    "RFC 8926 §3.4",
    (
        Field("version", 2),
        Field("options_length", 6, "Words of options."),
        Field("flags", 8),
        Field("protocol", 16, "Ethertype."),
        Field("vni", 24, "Virtual network identifier.", "vni"),
        Field("reserved", 8),
    ),
    doc="Geneve overlay; options are skipped.",
    length=Length("options_length", 4, 8),
    checks=(Check("version", 0, 0, "bad_version"),),
    next=("protocol", "ethertype"),
)
HEADERS = (GRE, GRE_METADATA, ERSPAN1, ERSPAN2, ERSPAN3, VXLAN, VXLAN_GPE, NSH, GENEVE)


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(_: CollectorSettings) -> dict[str, dict[int, str]]:
    """IP protocol, UDP ports and ethertypes of the envelopes, and what follows inside them."""
    return {
        "ip_protocol": {47: "gre"},
        "udp_port": {4789: "vxlan", 8472: "vxlan", 4790: "vxlan_gpe", 6081: "geneve"},
        "ethertype": {0x22EB: "erspan3", 0x894F: "nsh"},
        "gpe": {1: "ipv4", 2: "ipv6", 3: "ethernet", 4: "nsh"},
        "erspan3": {0: "ethernet", 2: "raw_ip"},
    }
