"""In-band Network Telemetry version 1.0 (P4.org INT specification v1.0, section 4).

shim      | Type 8 | R 8 | Length 8 | DSCP 6 | R 2 |         the length counts the shim
GPE shim  | Type 8 | R 8 | Length 8 | next protocol 8 |
MD header | Ver 4 | Rep 2 | C E M 3 | R 10 | HopML 5 | RemHop 8 | bitmap 16 | R 16 |
stack     | newest hop first, HopML words each |

Rep says how the packet was replicated: 0 not, 1 to links of a port, 2 to next hops, 3 both; C marks
the copy. Timestamps have 32 bits and level 2 interfaces 32 each; GEANT's deployment has 64 and 16.
"""

from dataclasses import replace
from functools import cache

from collector.settings import CollectorSettings
from collector.wire.inband import BASELINE, COMPLEMENT, GPE, following
from collector.wire.place import Field
from collector.wire.table import Check, Header, Part, Records

SPACES = {"int_v1_words": 0}
SPECIFICATION = "P4.org INT v1.0 §4"
SPECIFIED, GEANT = 0, 1
"""Width profiles."""
HEAD_OCTETS = 12
BITMAP_BITS = 16
MOST_WORDS = 31
SHORT = (
    Part(4, (Field("ingress_ts", 32, "Ingress timestamp, ns.", "int1_ingress_ts"),)),
    Part(5, (Field("egress_ts", 32, "Egress timestamp, ns.", "int1_ts"),)),
)
NARROW = (
    Part(6, (Field("ingress2", 16, "Level 2 ingress interface.", "int1_l2_ingress_port"),
             Field("egress2", 16, "Level 2 egress interface.", "int1_l2_port"))),
)  # fmt: skip
UNDEFINED = tuple(Part(bit, (Field(f"reserved{bit}", 32),)) for bit in range(8, 15))
HOPS = {
    SPECIFIED: (*BASELINE[:4], *SHORT, *BASELINE[6:8], *UNDEFINED, COMPLEMENT),
    GEANT: (*BASELINE[:6], *NARROW, BASELINE[7], *UNDEFINED, COMPLEMENT),
}
"""Parts of a hop's record by width profile."""
FIELDS = (
    Field("version", 4, "1.", "int_version"),
    Field("replication", 2, "0 none, 1 links, 2 next hops, 3 both.", "int_replication"),
    Field("flags", 3, "C copy, E hop limit exceeded, M MTU exceeded.", "int_flags"),
    Field("reserved", 10),
    Field("hop_ml", 5, "Words that each hop adds.", "_int_hop_words"),
    Field("remaining", 8, "Remaining hop count.", "int_remaining_hops"),
    Field("bitmap", 16, "Instruction bitmap, bit 0 first.", "_int_bitmap"),
    Field("reserved2", 16, "GEANT: a sequence number."),
)
CHECKS = (
    Check("version", 1, 1, "int_unknown_version"),
    Check("hop_ml", 1, MOST_WORDS, "int_bad_length"),
)


def shim(name: str, last: tuple[Field, ...], first: str, carrier: int | None = None) -> Header:
    """A shim; its type is that of hop-by-hop metadata."""
    return Header(
        name,
        SPECIFICATION,
        (
            Field("type", 8, "1 INT-MD.", "int_type"),
            Field("reserved", 8),
            Field("length", 8, "Words of shim, header and stack.", "_int_words"),
            *last,
        ),
        doc="INT shim of version 1.0.",
        checks=(
            Check("type", 1, 1, "int_unsupported_type"),
            Check("length", 3, 255, "int_bad_length"),
        ),
        marks=() if carrier is None else (("_int_carrier", carrier),),
        layer="int_shim",
        to=first,
    )


def stack(settings: CollectorSettings, name: str, profile: int) -> Header:
    """The MD header with hops of one width profile."""
    return Header(
        name,
        SPECIFICATION,
        FIELDS,
        doc="INT-MD header of version 1.0 and the stack behind it.",
        checks=CHECKS,
        records=Records(
            bitmap=("_int_bitmap",),
            bits=BITMAP_BITS,
            parts=HOPS[profile],
            reason="int_bad_length",
            stride="_int_hop_words",
            total="_int_words",
            add=-HEAD_OCTETS,
            mismatch="int_hop_words",
        ),
        branches=following(settings),
        marks=(("int_profile", profile),),
        layer="int_md",
    )


@cache
def words() -> tuple[int, ...]:
    """Words of a hop's record by its bitmap, as the specification has it."""
    octets = [0]
    for bit in reversed(range(BITMAP_BITS)):  # from the last, which is the lowest
        more = sum(part.octets for part in HOPS[SPECIFIED] if part.bit == bit)
        octets += [each + more for each in octets]
    return tuple(each // 4 for each in octets)


def choices() -> tuple[Header, ...]:
    """Looks which profile's widths make HopML: the specification's, else GEANT's."""
    bitmap = Header(
        "int_v1_choice",
        SPECIFICATION,
        FIELDS,
        doc="Looks for the width profile.",
        peek=True,
        checks=CHECKS,
        next=("bitmap", "int_v1_words"),
        layer="int_md",
        to="int_v1_md",
    )
    return (
        bitmap,
        *(
            replace(
                bitmap,
                name=f"int_v1_words{number}",
                checks=(Check("hop_ml", number, number, None),),
                next=None,
                otherwise="int_v1_md_geant",
            )
            for number in range(1, max(words()) + 1)
        ),
    )


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    profile = settings.int_v1_profile
    first = "int_v1_choice" if profile == "auto" else "int_v1_md"
    dscp = Field("original_dscp", 6, "Original DSCP."), Field("reserved2", 2)
    restored = replace(dscp[0], column="dscp"), dscp[1]
    following_gpe = (Field("next", 8, "What follows.", "_int_next"),)
    found = [
        shim("int_v1_shim", dscp, first),
        shim("int_v1_shim_gpe", following_gpe, first, GPE),
        stack(settings, "int_v1_md", GEANT if profile == "geant" else SPECIFIED),
    ]
    if settings.int_dscp is not None:
        found.append(shim("int_v1_shim_dscp", restored, first))
    if profile == "auto":
        found += [*choices(), stack(settings, "int_v1_md_geant", GEANT)]
    return tuple(found)


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """The next protocol of VXLAN-GPE, and words of a record by bitmap."""
    found = {"gpe": {settings.int_v1_gpe_protocol: "int_v1_shim_gpe"}}
    if settings.int_v1_profile == "auto":
        names = [f"int_v1_words{number}" for number in range(max(words()) + 1)]
        found["int_v1_words"] = {
            bitmap: names[number] for bitmap, number in enumerate(words()) if bitmap
        }
    return found
