"""In-band Network Telemetry, INT-MD version 2 (P4.org INT specification v2.1, sections 5.7-5.8).

shim      | Type 4 | NPT 2 | R 2 | Length 8 | by NPT 16 |
MD header | Ver 4 | D E M 3 | R 12 | HopML 5 | RemHop 8 | bitmap 16 | domain 16 |
          | domain-specific instruction 16 | domain-specific flags 16 |
stack     | newest hop first, HopML words each: bitmap parts, the domain's, complement |
"""

from collections.abc import Sequence

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Part, Records

SPECIFICATION = "P4.org INT v2.1 §5"
VERSION = 2
MD, MX = 1, 3
NPT_NONE, NPT_PORT, NPT_PROTOCOL = 0, 1, 2
BITMAP_BITS = 32
"""Sixteen baseline instruction bits, then sixteen domain-specific ones."""
CHECKSUM_BIT = 15

BASELINE = (
    Part(0, (Field("node", 32, "Node id.", "node"),)),
    Part(1, (Field("ingress", 16, "Level 1 ingress interface."),
             Field("egress", 16, "Level 1 egress interface.", "port"))),
    Part(2, (Field("latency", 32, "Hop latency.", "latency"),)),
    Part(3, (Field("queue", 8, "Queue id.", "queue"),
             Field("occupancy", 24, "Queue occupancy.", "occupancy"))),
    Part(4, (Field("ingress_ts", 64, "Ingress timestamp, ns."),)),
    Part(5, (Field("egress_ts", 64, "Egress timestamp, ns.", "ts"),)),
    Part(6, (Field("ingress2", 32, "Level 2 ingress interface."),
             Field("egress2", 32, "Level 2 egress interface."))),
    Part(7, (Field("tx_utilization", 32, "Egress port TX utilisation.", "tx_utilization"),)),
    Part(8, (Field("buffer", 8, "Buffer id."), Field("buffer_occupancy", 24, "Buffer occupancy."))),
    *(Part(bit, (Field(f"reserved{bit}", 32, "Its length is kept."),)) for bit in range(9, 15)),
)  # fmt: skip
"""Baseline metadata in wire order (section 5.8); the checksum complement comes last of all."""


def metadata(domain: Sequence[tuple[str, int]]) -> tuple[Part, ...]:
    """Parts of a hop's record in wire order; `domain` lists (column, bits) by its own bit."""
    own = tuple(
        Part(16 + bit, (Field(name, bits, "Domain-specific metadata.", name),))
        for bit, (name, bits) in enumerate(domain)
    )
    complement = Part(CHECKSUM_BIT, (Field("checksum_complement", 32, "Checksum complement."),))
    return (*BASELINE, *own, complement)


def stacks(domain: Sequence[tuple[str, int]]) -> tuple[Header, ...]:
    """Shim and MD header with the hop metadata of the domain."""
    shim = Header(
        "int_shim",
        SPECIFICATION,
        (
            Field("type", 4, "1 INT-MD, 2 destination, 3 INT-MX.", "int_type"),
            Field("npt", 2, "Next protocol type: what the last 16 bits mean.", "int_npt"),
            Field("reserved", 2),
            Field("length", 8, "Words of header and stack, without the shim.", "_int_words"),
            Field("next", 16, "Original DSCP, UDP port or IP protocol, by NPT.", "int_next"),
        ),
        doc="INT shim over TCP or UDP.",
        checks=(
            Check("type", MD, MD, "int_unsupported_type"),
            Check("length", 3, 255, "int_bad_length"),
        ),
        branches=(Branch("int_type", 0xF, MD, to="int_md"),),
    )
    md = Header(
        "int_md",
        SPECIFICATION,
        (
            Field("version", 4, "2.", "int_version"),
            Field(
                "flags", 3, "D discard at sink, E hop limit exceeded, M MTU exceeded.", "int_flags"
            ),
            Field("reserved", 12),
            Field("hop_ml", 5, "Words that each hop adds.", "_int_hop_words"),
            Field("remaining", 8, "Remaining hop count.", "int_remaining_hops"),
            Field("bitmap", 16, "Instruction bitmap, bit 0 first.", "_int_bitmap"),
            Field("domain", 16, "Domain-specific id.", "int_domain"),
            Field("domain_bitmap", 16, "Domain-specific instruction.", "_int_domain_bitmap"),
            Field("domain_flags", 16, "Domain-specific flags."),
        ),
        doc="INT-MD metadata header and the stack of hops behind it.",
        checks=(
            Check("version", VERSION, VERSION, "int_unknown_version"),
            Check("hop_ml", 1, 31, "int_bad_length"),
        ),
        records=Records(
            bitmap=("_int_bitmap", "_int_domain_bitmap"),
            bits=BITMAP_BITS,
            parts=metadata(domain),
            reason="int_bad_length",
            stride="_int_hop_words",
            total="_int_words",
            add=-12,
        ),
        branches=(
            Branch("int_npt", 0x3, NPT_PORT, select="int_next", space="udp_port"),
            Branch("int_npt", 0x3, NPT_PROTOCOL, select="int_next", space="ip_protocol"),
        ),
    )
    return shim, md


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return stacks(settings.int_domain)


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """UDP ports that announce INT."""
    return {"udp_port": dict.fromkeys(settings.int_udp_ports, "int_shim")}


def carried(settings: CollectorSettings) -> dict[str, tuple[Branch, ...]]:
    """Branches that a DSCP adds to the transports."""
    if settings.int_dscp is None:
        return {}
    mask = settings.int_dscp_mask
    shim = (Branch("dscp", mask, settings.int_dscp & mask, to="int_shim"),)
    return {"tcp": shim, "udp": shim}
