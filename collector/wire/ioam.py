"""IOAM trace options of IPv6 (RFC 9197 section 4.4, RFC 9486 section 3).

| option type 8 | length 8 | R 8 | IOAM type 8 | namespace 16 | NodeLen 5 | flags 4 | RemLen 7 |
| trace type 24 | R 8 | free space, if pre-allocated | node data, newest first |

Flags are overflow, loopback, active and a reserved one. Node data has a field or two for each bit
of the trace type, bit 0 first; the opaque state snapshot of bit 22 is of any length, which NodeLen
does not count.
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Check, Header, Part, Records

STANDARD = "RFC 9197 §4.4"
PREALLOCATED, INCREMENTAL = 0, 1
HEAD_OCTETS = 10
"""Octets of an option that its length counts and that are not data."""
TYPE_BITS = 24
UNDEFINED = range(12, 22)
"""Trace type bits without a meaning yet: four octets each. The last bit, 23, is to be ignored."""
SNAPSHOT_BIT = 22

NODE = (
    Part(0, (Field("hop_limit", 8, "Hop limit at the node.", "ioam_ttl"),
             Field("node", 24, "Node id.", "ioam_node"))),
    Part(1, (Field("ingress", 16, "Ingress interface.", "ioam_ingress"),
             Field("egress", 16, "Egress interface.", "ioam_egress"))),
    Part(2, (Field("seconds", 32, "Time of receipt, seconds.", "ioam_seconds"),)),
    Part(3, (Field("fraction", 32, "Time of receipt, fraction.", "ioam_fraction"),)),
    Part(4, (Field("transit_delay", 32, "Time in the node, ns.", "ioam_transit"),)),
    Part(5, (Field("data", 32, "Namespace-specific data.", "ioam_data"),)),
    Part(6, (Field("queue_depth", 32, "Length of the egress queue.", "ioam_queue"),)),
    Part(7, (Field("complement", 32, "Checksum complement.", "ioam_complement"),)),
    Part(8, (Field("hop_limit_wide", 8, "Hop limit at the node.", "ioam_ttl_wide"),
             Field("node_wide", 56, "Wide node id.", "ioam_node_wide"))),
    Part(9, (Field("ingress_wide", 32, "Wide ingress interface.", "ioam_ingress_wide"),
             Field("egress_wide", 32, "Wide egress interface.", "ioam_egress_wide"))),
    Part(10, (Field("data_wide", 64, "Wide namespace-specific data.", "ioam_data_wide"),)),
    Part(11, (Field("buffer", 32, "Buffer occupancy.", "ioam_buffer"),)),
    *(Part(bit, (Field(f"undefined{bit}", 32, "Its length is kept."),)) for bit in UNDEFINED),
    Part(SNAPSHOT_BIT, (Field("words", 8, "Words of the snapshot.", "ioam_snapshot_words"),
                        Field("schema", 24, "Its schema.", "ioam_snapshot_schema")), "words"),
)  # fmt: skip
"""What a node adds for each bit of the trace type, in wire order (RFC 9197 section 4.4.2)."""


def trace(name: str, kind: int, doc: str, otherwise: str | None) -> Header:
    """A trace option of one IOAM type."""
    return Header(
        name,
        STANDARD,
        (
            Field("option_type", 8, "IPv6 option type."),
            Field("option_length", 8, "Octets that follow.", "_ioam_octets"),
            Field("reserved", 8),
            Field("type", 8, "0 pre-allocated, 1 incremental.", "ioam_type"),
            Field("namespace", 16, "IOAM namespace id.", "ioam_namespace"),
            Field("node_words", 5, "Words that each node adds, snapshot apart.", "_ioam_words"),
            Field("flags", 4, "Overflow 8, loopback 4, active 2.", "ioam_flags"),
            Field("remaining", 7, "Words of free space.", "ioam_remaining"),
            Field("trace_type", TYPE_BITS, "Which data nodes add.", "ioam_trace_type"),
            Field("reserved2", 8),
        ),
        doc=doc,
        layer="ioam",
        checks=(Check("type", kind, kind, None), Check("node_words", 1, 31, "ioam_bad_length")),
        otherwise=otherwise,
        records=Records(
            bitmap=("ioam_trace_type",),
            bits=TYPE_BITS,
            parts=NODE,
            reason="ioam_bad_length",
            stride="_ioam_words",
            total="_ioam_octets",
            unit=1,
            add=-HEAD_OCTETS,
            skip="ioam_remaining" if kind == PREALLOCATED else None,
            exact=True,
        ),
    )


HEADERS = (
    trace("ioam_preallocated", PREALLOCATED, "IOAM trace with room made by its first node.",
          "ioam_incremental"),
    trace("ioam_incremental", INCREMENTAL, "IOAM trace that grows at each node.", None),
)  # fmt: skip


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS if settings.ioam_option_types else ()


def options(settings: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """IPv6 option types that carry traces; other IOAM types in them are skipped."""
    types = settings.ioam_option_types
    return {"ipv6_option": {(number, 0): "ioam_preallocated" for number in types}}
