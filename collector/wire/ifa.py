"""Inband Flow Analyzer 2.0 (draft-kumar-ippm-ifa): an IP protocol in front of the transport.

IFA header    | Ver 4 | GNS 4 | next header 8 | R 3 | MF TS I TA C 5 | max length 8 |
transport     | TCP or UDP, with the lengths that it had before |
metadata      | request 8 | action 8 | hop limit 8 | current length 8 |
checksum      | checksum 16 | R 16 |                       with flag C
fragment      | packet id 26 | fragment 5 | last 1 |       with flag MF
stack         | records, newest first, `current length` words; with flag TS where the packet ends |
LNS 1         | LNS 4 | device 20 | TTL 8 | speed 4 | congestion 2 | queue 6 | seconds 20 |
              | egress 16 | ingress 16 | nanoseconds 32 | residence 32 | tx bytes 32 |
              | R 16 | queue cells 16 | pool cells 32 |

The four bits LNS at the start of a record say how it is laid out, unless the header's GNS does so
for all of them. Others use the same IP protocols: the version and what follows must be sane.
"""

from dataclasses import replace

from collector.settings import CollectorSettings
from collector.settings.trace import GLOBAL, LNS_BITS, IfaSchema
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length, Part, Records
from collector.wire.transport import TCP, UDP

DRAFT = "draft-kumar-ippm-ifa §3"
FRAGMENT, TAIL, CHECKSUM = 0x10, 0x08, 0x01
"""Flags as the draft orders them, without the reserved bits."""
FLAG_BITS = 5
TRANSPORTS = ((6, "tcp"), (17, "udp"))
UDP_PROTOCOL = 17
LNS1: IfaSchema = (
    ("node", 20), ("ttl", 8), ("speed", 4), ("congestion", 2), ("queue", 6), ("seconds", 20),
    ("port", 16), ("ingress_port", 16), ("nanoseconds", 32), ("residence", 32), ("tx_bytes", 32),
    ("reserved", 16), ("cells", 16), ("pool_cells", 32),
)  # fmt: skip
"""A record of local name space 1, behind its LNS."""


def schemas(settings: CollectorSettings) -> dict[int, IfaSchema]:
    """Records by name space."""
    return {1: LNS1} | settings.ifa_name_spaces


def record(number: int, schema: IfaSchema) -> Part:
    """A record of one name space."""
    told = (
        Field(name, bits, "Hop metadata.", None if name == "reserved" else f"ifa_{name}")
        for name, bits in schema
    )
    return Part(number, (Field("lns", LNS_BITS, "Local name space."), *told))


def flagged(settings: CollectorSettings, flag: int) -> tuple[str, int]:
    """Column and mask of a flag."""
    if settings.ifa_flag_order == "draft":
        return "ifa_flags", flag
    return "ifa_flags_reversed", int(f"{flag:0{FLAG_BITS}b}"[::-1], 2)


def first(settings: CollectorSettings, protocol: int, name: str, otherwise: str | None) -> Header:
    """The IFA header in front of one transport."""
    flags = Field("flags", FLAG_BITS, "MF TS I TA C.", flagged(settings, 0)[0])
    reserved = Field("reserved", 8 - FLAG_BITS)
    ordered = (reserved, flags) if settings.ifa_flag_order == "draft" else (flags, reserved)
    return Header(
        f"ifa_over_{name}",
        DRAFT,
        (
            Field("version", 4, "2.", "ifa_version"),
            Field("gns", 4, "Global name space; 15: each hop's own.", "ifa_namespace"),
            Field("next", 8, "IP protocol of the transport."),
            *ordered,
            Field("max_length", 8, "Most words of metadata."),
        ),
        doc=f"IFA header in front of {name.upper()}.",
        layer="ifa",
        checks=(
            Check("version", min(settings.ifa_versions), max(settings.ifa_versions), None),
            Check("next", protocol, protocol, None),
        ),
        otherwise=otherwise,
        to=f"ifa_{name}",
    )


def metadata(settings: CollectorSettings, after: tuple[Branch, ...]) -> tuple[Header, ...]:
    """What stands between the transport and the stack."""
    checksum = Branch(*flagged(settings, CHECKSUM), flagged(settings, CHECKSUM)[1], "ifa_checksum")
    fragment = Branch(*flagged(settings, FRAGMENT), flagged(settings, FRAGMENT)[1], "ifa_fragment")
    return (
        Header(
            "ifa_metadata",
            DRAFT,
            (
                Field("request", 8, "Request vector."),
                Field("action", 8, "Action vector: L 128, C 64."),
                Field("hop_limit", 8, "Hops that may still add; 255: any.", "ifa_hop_limit"),
                Field("length", 8, "Words of the stack.", "_ifa_words"),
            ),
            doc="IFA metadata header.",
            layer="ifa",
            branches=(checksum, fragment, *after),
            to="ifa_stack",
        ),
        Header(
            "ifa_checksum",
            DRAFT,
            (Field("checksum", 16, "Of the metadata."), Field("reserved", 16)),
            doc="IFA checksum header.",
            layer="ifa",
            branches=(fragment, *after),
            to="ifa_stack",
        ),
        Header(
            "ifa_fragment",
            DRAFT,
            (Field("packet", 26), Field("fragment", 5), Field("last", 1)),
            doc="IFA metadata fragment header.",
            layer="ifa",
            branches=after,
            to="ifa_stack",
        ),
    )


def stack(settings: CollectorSettings, name: str, number: int | None) -> Header:
    """The stack of hops, each of its own name space or all of one."""
    known = schemas(settings).items()
    parts = (record(each, schema) for each, schema in known if number in (None, each))
    tail = flagged(settings, TAIL)
    return Header(
        name,
        DRAFT,
        (),
        doc="IFA metadata stack.",
        layer="ifa",
        records=Records(
            parts=tuple(parts),
            key=Field("lns", LNS_BITS) if number is None else None,
            reason="ifa_bad_length",
            total="_ifa_words",
            tail=tail,
            whole=True,
        ),
        branches=(Branch(*tail, tail[1], "ifa_tail"), BY_PORT),
    )


BY_PORT = Branch("protocol", 0xFF, UDP_PROTOCOL, select="dport", space="udp_port")
"""What follows the stack is what would follow the transport."""
CUT = Header(
    "ifa_tail",
    DRAFT,
    (),
    doc="End of the packet that a tail stamp took.",
    layer="ifa",
    trailer=Length(column="_ifa_words", unit=4),
    branches=(BY_PORT,),
)


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file; the transports are those of IP, but bound nothing."""
    if not settings.ifa_protocols:
        return ()
    names = {number: f"ifa_stack{number}" for number in schemas(settings)}
    after = tuple(Branch("ifa_namespace", GLOBAL, number, name) for number, name in names.items())
    to = {"to": "ifa_metadata", "branches": (), "next": None, "extent": None}
    return (
        first(settings, *TRANSPORTS[0], "ifa_over_udp"),
        first(settings, *TRANSPORTS[1], None),
        replace(TCP, name="ifa_tcp", layer="tcp", **to),  # type: ignore[arg-type]  # fields of a header by name
        replace(UDP, name="ifa_udp", layer="udp", **to),  # type: ignore[arg-type]  # fields of a header by name
        *metadata(settings, after),
        stack(settings, "ifa_stack", None),
        *(stack(settings, name, number) for number, name in names.items()),
        CUT,
    )


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """IP protocols that carry IFA, and what carries on if it is not."""
    return {"ip_protocol": dict.fromkeys(settings.ifa_protocols, "ifa_over_tcp")}
