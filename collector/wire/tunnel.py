"""Envelopes: overlays that carry the flow itself, and mirrors that only carry its copy.

    GRE       | C R K S 4 | strict 1 | recursion 3 | flags 5 | version 3 | protocol 16 |
              | C or R: checksum 16, offset 16 | K: key 32 | S: sequence 32 |
              | R: | address family 16 | offset 8 | length 8 | address | ... | 0 32 |
    GRE v1    | C R K S 4 | strict 1 | recursion 3 | A 1 | flags 4 | version 3 | protocol 16 |
              | K: length 16, call 16 | S: sequence 32 | A: acknowledgment 32 |
    VXLAN     | flags 8 | reserved 24 | VNI 24 | reserved 8 |
    VXLAN-GPE | flags 8 | reserved 16 | next protocol 8 | VNI 24 | reserved 8 |
    NSH       | Ver 2 | O U 2 | TTL 6 | length 6 | U 4 | type 4 | next 8 | path 24 | index 8 | ... |
    Geneve    | Ver 2 | options 6 | O C R 8 | protocol 16 | VNI 24 | R 8 | options |

Telemetry and ECN on a mirror's outer layers belong to the transport of the copy and are forgotten.
Which GRE tunnels and virtual networks are mirrors, settings say; ERSPAN always is one.
"""

from dataclasses import replace

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length

SPACES = {"gpe": -CODE["unknown_ethertype"], "nsh": -CODE["unknown_ethertype"]}

ERSPAN_PROTOCOL, ERSPAN3_PROTOCOL, METADATA_PROTOCOL = 0x88BE, 0x22EB, 0x8909
CHECKSUM, ROUTING, KEY, SEQUENCE = 8, 4, 2, 1
"""Bits of GRE's `present`."""

_PRESENT = Field("present", 4, "C R K S: which optional words are there.", "_gre_present")
_PROTOCOL = Field("protocol", 16, "Ethertype.", "_gre_protocol")
_HEAD = (
    _PRESENT,
    Field("strict", 1, "Strict source route."),
    Field("recursion", 3),
    Field("flags", 5),
    Field("version", 3, "0; 1: enhanced GRE."),
    _PROTOCOL,
)
_INNER = Branch("_gre_protocol", 0, 0, select="_gre_protocol", space="ethertype")
_ROUTED = (
    Branch("_gre_present", CHECKSUM | ROUTING, ROUTING, to="gre_offset"),
    Branch("_gre_present", ROUTING, ROUTING, to="gre_route"),
)
_BY_PROTOCOL = (
    Branch("_gre_protocol", 0xFFFF, ERSPAN_PROTOCOL, to="erspan"),
    Branch("_gre_protocol", 0xFFFF, ERSPAN3_PROTOCOL, to="erspan3"),
    Branch("_gre_protocol", 0xFFFF, METADATA_PROTOCOL, to="gre_metadata"),
)
GRE = Header(
    "gre",
    "RFC 2784 §2, RFC 2890 §2",
    _HEAD,
    doc="Generic Routing Encapsulation with its optional words.",
    length=Length("present", 4, 4, CHECKSUM | KEY | SEQUENCE),
    checks=(Check("version", 0, 0, None),),
    next=("protocol", "ethertype"),
    branches=(*_ROUTED, *_BY_PROTOCOL),
    otherwise="gre1",
)
GRE1 = Header(
    "gre1",
    "RFC 2637 §4.1",
    (*_HEAD[:3], Field("flags", 5, "The first: an acknowledgment is there.", "_gre1_flags"),
     *_HEAD[4:]),
    doc="Enhanced GRE of PPTP.",
    length=Length("present", 4, 4, CHECKSUM | KEY | SEQUENCE),
    checks=(Check("version", 1, 1, "bad_version"),),
    next=("protocol", "ethertype"),
    branches=(Branch("_gre1_flags", 0x10, 0x10, to="gre1_acknowledgment"),),
    layer="gre",
)  # fmt: skip
GRE1_ACKNOWLEDGMENT = Header(
    "gre1_acknowledgment",
    "RFC 2637 §4.1",
    (Field("acknowledgment", 32),),
    doc="Last word of enhanced GRE.",
    branches=(_INNER,),
    layer="gre",
)
GRE_OFFSET = Header(
    "gre_offset",
    "RFC 1701",
    (Field("word", 32),),
    doc="Word that routing needs and no checksum announced.",
    layer="gre",
    to="gre_route",
)
GRE_ROUTE = Header(
    "gre_route",
    "RFC 1701",
    (
        Field("family", 16, "Address family; 0 ends the list.", "_gre_family"),
        Field("offset", 8),
        Field("length", 8, "Octets of the addresses that follow."),
    ),
    doc="Source route entry.",
    length=Length("length", 1, 4),
    branches=(replace(_INNER, column="_gre_family", mask=0xFFFF),),
    layer="gre",
    to="gre_route",
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
        Field("version", 2, "0."),
        Field("flags", 2, "O operations packet, U."),
        Field("ttl", 6),
        Field("length", 6, "Words of the whole header."),
        Field("reserved", 4),
        Field("md_type", 4),
        Field("next_protocol", 8, "1 IPv4, 2 IPv6, 3 Ethernet, 4 NSH, 5 MPLS."),
        Field("service_path", 24),
        Field("service_index", 8),
    ),
    doc="Network Service Header.",
    length=Length("length", 4),
    next=("next_protocol", "nsh"),
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
    doc="Geneve overlay.",
    length=Length("options_length", 4, 8),
    options=("geneve_option", "geneve"),
    checks=(Check("version", 0, 0, "bad_version"),),
    next=("protocol", "ethertype"),
)
HEADERS = (
    GRE, GRE1, GRE1_ACKNOWLEDGMENT, GRE_OFFSET, GRE_ROUTE, GRE_METADATA,
    VXLAN, VXLAN_GPE, NSH, GENEVE,
)  # fmt: skip


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """IP protocol, UDP ports and ethertypes of the envelopes, and what follows inside them."""
    ports = (
        ("vxlan", settings.vxlan_udp_ports),
        ("vxlan_gpe", settings.vxlan_gpe_udp_ports),
        ("geneve", settings.geneve_udp_ports),
    )
    inner = {1: "ipv4", 2: "ipv6", 3: "ethernet", 4: "nsh", 5: "mpls"}
    return {
        "ip_protocol": {47: "gre"},
        "udp_port": {port: name for name, numbers in ports for port in numbers},
        "ethertype": {0x894F: "nsh"},
        "gpe": inner,
        "nsh": inner,
    }
