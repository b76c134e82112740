"""Advanced ECN congestion information (draft-shi-ccwg-advanced-ecn, section 3).

It stands in an option of an IPv6 Hop-by-Hop or Destination Options header, or in a TLV of a Segment
Routing Header, which look alike.

| type 8 | length 8 | flags 8 | congestion info type 24 | an octet a set bit, ascending |

Bit 7 of the flags says that type and data are customised. A set bit that is not defined has data of
unknown length: what lies from there on is kept as it is.
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Check, Header, Part, Records

DRAFT = "draft-shi-ccwg-advanced-ecn §3"
INFOS = (
    ("inflight_ratio", "Inflight ratio, the largest on the path."),
    ("dre", "Discounting rate estimator, the largest on the path."),
    ("queue_utilization", "Queue utilisation ratio, the largest on the path."),
    ("queue_delay", "Queue delay, the sum over the path."),
    ("congested_hops", "Number of congested hops."),
    ("available_bandwidth", "Available bandwidth, the smallest on the path (successor draft)."),
)
"""Congestion information by type bit; each takes one octet."""
SUCCESSOR = 5
"""Type bit that only the successor draft defines."""
TYPE_BITS = 24
REMAINDER = ("aecn_rest", "aecn_rest_bytes")
BITMAP, CUSTOMISED = 1, 2
"""Forms: values of the column `aecn_form`."""

_HEAD = (
    Field("option_type", 8, "Type of the option or TLV."),
    Field("option_length", 8, "Octets that follow."),
)
_REST = "The other flags; the successor's first one: routers shall update the data."


def defined(settings: CollectorSettings) -> tuple[tuple[str, str], ...]:
    """Congestion information that is read, by type bit."""
    return INFOS if settings.aecn_available_bandwidth else INFOS[:SUCCESSOR]


def bitmap(settings: CollectorSettings) -> Header:
    """The form whose type bits name the data."""
    msb = settings.aecn_numbering == "msb"
    parts = tuple(
        Part(bit if msb else TYPE_BITS - 1 - bit, (Field(name, 8, doc, f"aecn_{name}"),))
        for bit, (name, doc) in enumerate(defined(settings))
    )
    return Header(
        "aecn",
        DRAFT,
        (
            *_HEAD,
            Field("flags", 8, "Bit 7 is clear.", "aecn_flags"),
            Field("type", TYPE_BITS, "Bitmap of the information that follows.", "aecn_type"),
        ),
        doc="Advanced ECN information, named by a bitmap.",
        records=Records(
            bitmap=("aecn_type",),
            bits=TYPE_BITS,
            parts=parts,
            reason="aecn_bad_length",
            per_hop=False,
        ),
        marks=(("aecn_form", BITMAP),),
        remainder=REMAINDER,
    )


def customised(settings: CollectorSettings) -> Header:
    """The form whose type and data only its own domain can read; tried first."""
    own = Field("customised", 1, "Bit 7 of the flags.")
    rest = Field("flags", 7, _REST, "aecn_other_flags")
    last = (settings.aecn_flags_numbering or settings.aecn_numbering) == "msb"
    return Header(
        "aecn_customised",
        DRAFT,
        (
            *_HEAD,
            *((rest, own) if last else (own, rest)),
            Field("type", TYPE_BITS, "As its domain defines it.", "aecn_type"),
        ),
        doc="Advanced ECN information in a form of its own.",
        checks=(Check("customised", 1, 1, None),),
        otherwise="aecn",
        layer="aecn",
        marks=(("aecn_form", CUSTOMISED),),
        remainder=REMAINDER,
    )


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return bitmap(settings), customised(settings)


def options(settings: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """Types of IPv6 options and of segment routing TLVs that carry AECN, at any length."""
    return {
        "ipv6_option": dict.fromkeys(
            ((n, 0) for n in settings.aecn_option_types), "aecn_customised"
        ),
        "srh_tlv": dict.fromkeys(((n, 0) for n in settings.aecn_srh_types), "aecn_customised"),
    }
