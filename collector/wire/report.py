"""Telemetry reports: what INT nodes send to a collector (P4.org Telemetry Report 2.0, 1.0, 0.5).

group 2.0   | Ver 4 | hw 6 | sequence 22 | node 32 | reports until the datagram ends
report 2.0  | RepType 4 | InType 4 | RepLen 8 | MDLen 8 | D Q F I 4 | R 4 |
  RepType 1 | RepMdBits 16 | domain 16 | DSMdBits 16 | DSMdStatus 16 | MDLen words | inner
  TLV inner | Type 4 | R 4 | Length 8 | template 16 | Length words
report 1.0  | Ver 4 | length 4 | next 3 | RepMdBits 6 | R 6 | D Q F 3 | hw 6 | switch 32 |
            | sequence 32 | ingress ts 32 | a word for each bit | inner
report 0.5  | Ver 4 | next 4 | D Q F 3 | R 15 | hw 6 | sequence 32 | ingress ts 32 |
  drop      | switch 32 | ingress 16 | egress 16 | queue 8 | reason 8 | pad 16 | Ethernet
  local     | switch 32 | ingress 16 | egress 16 | queue 8 | occupancy 24 | egress ts 32 | Ethernet

Every report of a datagram is a row of its own. The datagram only transports the copy: the inner
packet is the flow, and what its own transport carried is forgotten. Of several packets in one
report's TLVs, the first is read.
"""

from dataclasses import replace

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.report_metadata import BITS_1, BITS_2, PARTS_1, PARTS_2
from collector.wire.table import Branch, Check, Header, Length, Records

SPECIFICATION = "P4.org Telemetry Report 2.0 §3"
FIRST = "P4.org Telemetry Report 1.0 §3"
OLDEST = "P4.org Telemetry Report 0.5"
SPACES = {
    "report_version": -CODE["report_unknown_version"],
    "report_inner": 0,
    "report_tlv_inner": 0,
    "report_next": 0,
    "report_oldest_next": 0,
    "report_quirk": 0,
}
INNER, INT = 0, 1
"""Types of reports 2.0 that are read; the format of IOAM's is undefined."""
TO_THE_END = 0xFF
NIBBLE = 0xF
PACKETS = (1, 2, 3)
"""Types of TLVs that hold packets."""
MARK = (("report_hop", 1),)
"""A report that says what its node saw."""

REPORT = Header(
    "report",
    SPECIFICATION,
    (Field("version", 4, "2, 1, or 0 for 0.5.", "report_version"), Field("rest", 4)),
    doc="Looks at the version of a report.",
    peek=True,
    envelope="mirror",
    inherited=True,
    next=("version", "report_version"),
)
GROUP = Header(
    "report_group",
    SPECIFICATION,
    (
        Field("version", 4, "2."),
        Field("hardware", 6, "Hardware id.", "report_hardware"),
        Field("sequence", 22, "Sequence number.", "report_sequence"),
        Field("node", 32, "Node id.", "report_node"),
    ),
    doc="Group header of reports 2.0.",
    layer="report",
    inherited=True,
    to="report_individual",
)
_TYPES = (
    Field("report_type", 4, "0 inner only, 1 INT, 2 IOAM.", "_report_type"),
    Field("inner_type", 4, "0 none, 1 TLV, 2 domain-specific, 3 Ethernet, 4 IPv4, 5 IPv6."),
)
_HEAD = (
    *_TYPES,
    Field("length", 8, "Words behind the first; 255: to the end of the datagram."),
    Field("metadata_length", 8, "Words of metadata.", "_report_words"),
    Field("flags", 4, "D dropped, Q congested, F tracked flow, I intermediate.", "report_flags"),
    Field("reserved", 4),
)
_MAIN = (
    Field("bitmap", 16, "RepMdBits, bit 0 first.", "_report_bitmap"),
    Field("domain", 16, "Domain-specific id."),
    Field("domain_bitmap", 16, "DSMdBits."),
    Field("domain_status", 16, "DSMdStatus."),
)
SPAN = Length("length", 4, 4, open=TO_THE_END)


def individual(settings: CollectorSettings) -> Header:
    """What tells the types of reports apart."""
    inner = "report_inner" if settings.report_quirk == "none" else "report_cablelabs"
    return Header(
        "report_individual",
        SPECIFICATION,
        _TYPES,
        doc="Looks at the type of a report 2.0.",
        peek=True,
        branches=(
            Branch("_report_type", NIBBLE, INNER, inner),
            Branch("_report_type", NIBBLE, INT, "report_int"),
        ),
        layer="report",
        to="report_other",
    )


INNER_ONLY = Header(
    "report_inner",
    SPECIFICATION,
    _HEAD,
    doc="Report 2.0 of a packet alone.",
    extent=SPAN,
    checks=(Check("report_type", INNER, INNER, "report_bad_length"),),
    again="report_individual",
    layer="report",
    next=("inner_type", "report_inner"),
)
OTHER = Header(
    "report_other",
    SPECIFICATION,
    _HEAD,
    doc="Report 2.0 of a type whose contents are not defined.",
    extent=SPAN,
    again="report_individual",
    layer="report",
)
METADATA = Header(
    "report_int",
    SPECIFICATION,
    (*_HEAD, *_MAIN),
    doc="Report 2.0 with what its node saw.",
    extent=SPAN,
    checks=(Check("length", 2, TO_THE_END, "report_bad_length"),),
    again="report_individual",
    marks=MARK,
    records=Records(
        bitmap=("_report_bitmap",),
        bits=BITS_2,
        parts=PARTS_2,
        reason="report_bad_length",
        stride="_report_words",
        total="_report_words",
        per_hop=False,
    ),
    layer="report",
    next=("inner_type", "report_inner"),
)
CABLELABS = Header(
    "report_cablelabs",
    "github.com/cablelabs, transparent-security",
    (*_HEAD, *_MAIN, Field("extra", 32)),
    doc="Report 2.0 as cablelabs sends it: inner only, with main contents and a word more.",
    layer="report",
    next=("inner_type", "report_quirk"),
)
_TLV = (
    Field("type", 4, "0 domain-specific, 1 Ethernet, 2 IPv4, 3 IPv6.", "_report_tlv"),
    Field("reserved", 4),
)
_TLV_LENGTH = (
    Field("length", 8, "Words behind this one."),
    Field("template", 16, "Data template."),
)
TLVS = (
    Header(
        "report_tlv",
        SPECIFICATION,
        _TLV,
        doc="Looks at the type of a TLV.",
        peek=True,
        branches=tuple(
            Branch("_report_tlv", NIBBLE, kind, "report_tlv_packet") for kind in PACKETS
        ),
        layer="report",
        to="report_tlv_other",
    ),
    Header(
        "report_tlv_packet",
        SPECIFICATION,
        (*_TLV, *_TLV_LENGTH),
        doc="TLV that holds a packet.",
        extent=Length("length", 4, 4),
        layer="report",
        next=("type", "report_tlv_inner"),
    ),
    Header(
        "report_tlv_other",
        SPECIFICATION,
        (*_TLV, *_TLV_LENGTH),
        doc="TLV that is skipped.",
        length=Length("length", 4, 4),
        layer="report",
        to="report_tlv",
    ),
)
VERSION_1 = Header(
    "report_1",
    FIRST,
    (
        Field("version", 4, "1."),
        Field("length", 4, "Words of the header.", "_report_words"),
        Field("next", 3, "0 Ethernet, 1 IPv4, 2 IPv6."),
        Field("bitmap", 6, "RepMdBits, bit 0 first.", "_report_bits"),
        Field("reserved", 6),
        Field("flags", 3, "D dropped, Q congested, F tracked flow.", "report_dqf"),
        Field("hardware", 6, "Hardware id.", "report_hardware"),
        Field("node", 32, "Switch id.", "report_node"),
        Field("sequence", 32, "Sequence number.", "report_sequence"),
        Field("ingress_ts", 32, "Ingress timestamp, ns, wraps.", "report_ingress_ts_low"),
    ),
    doc="Report 1.0.",
    length=Length("length", 4),
    checks=(Check("length", 4, 15, "report_bad_length"),),
    marks=MARK,
    records=Records(
        bitmap=("_report_bits",),
        bits=BITS_1,
        parts=PARTS_1,
        reason="report_bad_length",
        total="_report_words",
        add=-16,
        start=16,
        newest_first=False,
        per_hop=False,
    ),
    layer="report",
    next=("next", "report_next"),
)
_SAW = (
    Field("node", 32, "Switch id.", "report_node"),
    Field("ingress", 16, "Ingress port.", "report_ingress"),
    Field("egress", 16, "Egress port.", "report_port"),
    Field("queue", 8, "Queue id.", "report_queue"),
)
VERSION_05 = (
    Header(
        "report_05",
        OLDEST,
        (
            Field("version", 4, "0."),
            Field("next", 4, "0 Ethernet, 1 drop, 2 switch-local."),
            Field("flags", 3, "D dropped, Q congested, F tracked flow.", "report_dqf"),
            Field("reserved", 15),
            Field("hardware", 6, "Hardware id.", "report_hardware"),
            Field("sequence", 32, "Sequence number.", "report_sequence"),
            Field("ingress_ts", 32, "Ingress timestamp, ns, wraps.", "report_ingress_ts_low"),
        ),
        doc="Report 0.5.",
        checks=(Check("version", 0, 0, "report_unknown_version"),),
        layer="report",
        next=("next", "report_oldest_next"),
    ),
    Header(
        "report_05_drop",
        OLDEST,
        (*_SAW, Field("reason", 8, "Drop reason.", "report_drop_reason"), Field("pad", 16)),
        doc="Tail of a drop report 0.5.",
        marks=MARK,
        layer="report",
        to="ethernet",
    ),
    Header(
        "report_05_local",
        OLDEST,
        (
            *_SAW,
            Field("occupancy", 24, "Queue occupancy.", "report_occupancy"),
            Field("egress_ts", 32, "Egress timestamp, ns, wraps.", "report_egress_ts_low"),
        ),
        doc="Tail of a switch-local report 0.5.",
        marks=MARK,
        layer="report",
        to="ethernet",
    ),
)


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    first = CABLELABS if settings.report_quirk == "cablelabs" else INNER_ONLY
    own = (REPORT, GROUP, individual(settings), first, METADATA, OTHER)
    found = (*own, *TLVS, VERSION_1, *VERSION_05)
    return tuple(replace(each, short="report_bad_length") for each in found)


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Ports of reports, their versions, and what lies inside them."""
    return {
        "udp_port": dict.fromkeys(settings.report_udp_ports, "report"),
        "report_version": {2: "report_group", 1: "report_1", 0: "report_05"},
        "report_inner": {1: "report_tlv", 3: "ethernet", 4: "ipv4", 5: "ipv6"},
        "report_tlv_inner": {1: "ethernet", 2: "ipv4", 3: "ipv6"},
        "report_next": {0: "ethernet", 1: "ipv4", 2: "ipv6"},
        "report_oldest_next": {0: "ethernet", 1: "report_05_drop", 2: "report_05_local"},
        "report_quirk": {4: "ethernet", 5: "ethernet"},
    }
