"""In-band Network Telemetry version 2 (P4.org INT specification v2.1, sections 5.7-5.9).

MD header | Ver 4 | D E M 3 | R 12 | HopML 5 | RemHop 8 | bitmap 16 | domain 16 |
          | domain-specific instruction 16 | domain-specific flags 16 |
stack     | newest hop first, HopML words each: bitmap parts, the domain's, complement |
          | source-only metadata |
MX header | Ver 4 | D 1 | R 27 | bitmap 16 | domain 16 | instruction 16 | flags 16 | the source's |
Geneve    | class 16 | type 8 | R 3 | length 5 | MD or MX header | stack |

Type 1 is INT-MD; with type 3, INT-MX, every node exports and nothing stacks up. The shims in front
are in `collector.wire.inband_shim`; a Geneve option's own head is its shim.
"""

from collections.abc import Sequence
from dataclasses import replace

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length, Part, Records

SPACES = {"int_type": -CODE["int_unsupported_type"]}
OPTION_SPACES = ("geneve_option",)
SPECIFICATION = "P4.org INT v2.1 §5"
VERSION = 2
MD, MX = 1, 3
BITMAP_BITS = 32
"""Sixteen baseline instruction bits, then sixteen domain-specific ones."""
CHECKSUM_BIT = 15
HEAD_WORDS, SHIM_WORDS = 3, 1
BY_PORT, BY_DSCP, BY_MARKER, PORT, PROTOCOL, GRE, GPE = range(1, 8)
"""What `_int_carrier` says of what follows INT: see `following`."""
CARRIER_MASK = 0xFF

BASELINE = (
    Part(0, (Field("node", 32, "Node id.", "node"),)),
    Part(1, (Field("ingress", 16, "Level 1 ingress interface.", "ingress_port"),
             Field("egress", 16, "Level 1 egress interface.", "port"))),
    Part(2, (Field("latency", 32, "Hop latency.", "latency"),)),
    Part(3, (Field("queue", 8, "Queue id.", "queue"),
             Field("occupancy", 24, "Queue occupancy.", "occupancy"))),
    Part(4, (Field("ingress_ts", 64, "Ingress timestamp, ns.", "ingress_ts"),)),
    Part(5, (Field("egress_ts", 64, "Egress timestamp, ns.", "ts"),)),
    Part(6, (Field("ingress2", 32, "Level 2 ingress interface.", "l2_ingress_port"),
             Field("egress2", 32, "Level 2 egress interface.", "l2_port"))),
    Part(7, (Field("tx_utilization", 32, "Egress port TX utilisation.", "tx_utilization"),)),
    Part(8, (Field("buffer", 8, "Buffer id.", "buffer"),
             Field("buffer_occupancy", 24, "Buffer occupancy.", "buffer_occupancy"))),
    *(Part(bit, (Field(f"reserved{bit}", 32, "Its length is kept."),)) for bit in range(9, 15)),
)  # fmt: skip
"""Baseline metadata in wire order (section 5.8); the checksum complement comes last of all."""
COMPLEMENT = Part(CHECKSUM_BIT, (Field("checksum_complement", 32, "Complement.", "complement"),))


def metadata(domain: Sequence[tuple[str, int]]) -> tuple[Part, ...]:
    """Parts of a hop's record in wire order; `domain` lists (column, bits) by its own bit."""
    own = tuple(
        Part(16 + bit, (Field(name, bits, "Domain-specific metadata.", name),))
        for bit, (name, bits) in enumerate(domain)
    )
    return (*BASELINE, *own, COMPLEMENT)


def source_only(settings: CollectorSettings) -> tuple[Field, ...]:
    """What only the source writes, below all hops; the first field is kept."""
    return tuple(
        Field(name, bits, "Source-only metadata.", None if at else "int_source_data")
        for at, (name, bits) in enumerate(settings.int_source)
    )


def hops(settings: CollectorSettings, *, with_shim: bool = False) -> Records:
    """The stack, by a length that counts the shim or does not."""
    head = HEAD_WORDS + SHIM_WORDS * with_shim
    return Records(
        bitmap=("_int_bitmap", "_int_domain_bitmap"),
        bits=BITMAP_BITS,
        parts=metadata(settings.int_domain),
        reason="int_bad_length",
        stride="_int_hop_words",
        total="_int_words",
        add=-4 * head,
        bottom=source_only(settings),
        mismatch="int_hop_words",
    )


MD_FIELDS = (
    Field("version", 4, "2.", "int_version"),
    Field("flags", 3, "D discard at sink, E hop limit exceeded, M MTU exceeded.", "int_flags"),
    Field("reserved", 12),
    Field("hop_ml", 5, "Words that each hop adds.", "_int_hop_words"),
    Field("remaining", 8, "Remaining hop count.", "int_remaining_hops"),
    Field("bitmap", 16, "Instruction bitmap, bit 0 first.", "_int_bitmap"),
    Field("domain", 16, "Domain-specific id.", "int_domain"),
    Field("domain_bitmap", 16, "Domain-specific instruction.", "_int_domain_bitmap"),
    Field("domain_flags", 16, "Domain-specific flags."),
)
MX_FIELDS = (
    Field("version", 4, "2.", "int_version"),
    Field("flags", 3, "D discard at sink, and two reserved bits.", "int_flags"),
    Field("reserved", 25),
    Field("bitmap", 16, "What every node exports."),
    Field("domain", 16, "Domain-specific id.", "int_domain"),
    Field("domain_bitmap", 16, "Domain-specific instruction."),
    Field("domain_flags", 16, "Domain-specific flags."),
)
VERSION_2 = Check("version", VERSION, VERSION, "int_unknown_version")
SOME_WORDS = Check("hop_ml", 1, 31, "int_bad_length")


def in_front(settings: CollectorSettings) -> bool:
    """Whether INT over TCP stands in front of the options."""
    announced = settings.int_dscp is not None or settings.int_marker is not None
    return settings.int_tcp_position == "before_options" and announced


def following(settings: CollectorSettings) -> tuple[Branch, ...]:
    """What stands behind INT, by what announced it and what the shim says."""
    rest: tuple[Branch, ...] = ()
    if in_front(settings):
        rest = (Branch("_int_tcp", 1, 1, to="int_tcp_rest"),)
    named = ((PORT, "dport", "udp_port"), (PROTOCOL, "_int_next", "ip_protocol"),
             (GRE, "_int_next", "ethertype"), (GPE, "_int_next", "gpe"))  # fmt: skip
    return (
        *rest,
        *(Branch("_int_carrier", CARRIER_MASK, carrier, select=select, space=space)
          for carrier, select, space in named),
        *(Branch("_int_carrier", CARRIER_MASK, carrier, to="int_resume")
          for carrier in (BY_DSCP, BY_MARKER)),
    )  # fmt: skip


RESUME = Header(
    "int_resume",
    SPECIFICATION,
    (),
    doc="What the UDP port announces goes on behind INT.",
    layer="int_shim",
    branches=(Branch("protocol", 0xFF, 17, select="dport", space="udp_port"),),
)


def stacks(settings: CollectorSettings) -> tuple[Header, ...]:
    """MD headers with their hops, by the length rules of the shim that the settings allow."""
    rule = settings.int_shim_length
    md = Header(
        "int_md",
        SPECIFICATION,
        MD_FIELDS,
        doc="INT-MD metadata header and the stack of hops behind it.",
        checks=(VERSION_2, SOME_WORDS),
        records=hops(settings, with_shim=rule == "with"),
        branches=following(settings),
        marks=() if rule == "without" else (("int_length_rule", int(rule == "with")),),
        layer="int_md",
    )
    if rule != "auto":
        return (md,)
    bottom = sum(field.bits for field in source_only(settings)) // 32
    fits = [
        (head + below, name)
        for head, name in (
            (HEAD_WORDS, "int_md"),
            (HEAD_WORDS + SHIM_WORDS, "int_md_with_shim"),
        )
        for below in sorted({0, bottom})
    ]
    choice = Header(
        "int_md_length",
        SPECIFICATION,
        MD_FIELDS[:5],
        doc="Looks which length rule makes whole hops.",
        peek=True,
        checks=(VERSION_2, SOME_WORDS),
        branches=tuple(
            Branch("_int_words", 0xFF, words, to=name, divides="_int_hop_words")
            for words, name in fits
        ),
        layer="int_md",
        to="int_md",
    )
    other = replace(
        md,
        name="int_md_with_shim",
        doc="The same behind a shim whose length counts itself.",
        records=hops(settings, with_shim=True),
        marks=(("int_length_rule", 1),),
    )
    return choice, md, other


def exported(settings: CollectorSettings) -> Header:
    """The MX header; what its source adds is as long as the shim says."""
    add = -4 if settings.int_shim_length == "with" else 0
    return Header(
        "int_mx",
        SPECIFICATION,
        MX_FIELDS,
        doc="INT-MX header: every node exports.",
        length=Length(column="_int_words", unit=4, add=add),
        checks=(VERSION_2,),
        branches=following(settings),
        layer="int_mx",
    )


def options_of_geneve(settings: CollectorSettings) -> tuple[Header, Header]:
    """Both headers behind the head of a Geneve option."""
    number = settings.int_geneve_class
    head = (
        Field("class", 16, "Option class."),
        Field("type", 8, "1 INT-MD, 3 INT-MX.", "int_type"),
        Field("option_reserved", 3),
        Field("length", 5, "Words of header and stack.", "_int_words"),
    )
    own = Check("class", number, number, None)
    md = Header(
        "int_geneve_md",
        SPECIFICATION,
        (*head, *MD_FIELDS),
        doc="INT-MD in a Geneve option.",
        checks=(own, VERSION_2, SOME_WORDS),
        records=hops(settings),
        layer="int_md",
    )
    mx = Header(
        "int_geneve_mx",
        SPECIFICATION,
        (*head, *MX_FIELDS),
        doc="INT-MX in a Geneve option.",
        checks=(own, VERSION_2),
        layer="int_mx",
    )
    return md, mx


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return (*stacks(settings), exported(settings), RESUME, *options_of_geneve(settings))


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Headers by the type that a shim tells."""
    md = "int_md_length" if settings.int_shim_length == "auto" else "int_md"
    return {"int_type": {MD: md, MX: "int_mx"}}


def options(_: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """Geneve option types, of which the class is checked as well."""
    return {"geneve_option": {(MD, 0): "int_geneve_md", (MX, 0): "int_geneve_mx"}}
