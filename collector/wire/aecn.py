"""Advanced ECN congestion information (draft-shi-ccwg-advanced-ecn, section 3) in an IPv6 option.

| option type 8 | length 8 | Flags 8 | Congestion Info Type 24 | an octet a set bit, ascending |
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Header, Part, Records

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


def option(numbering: str) -> Header:
    """The option's table; `numbering` says where bit 0 of the type is: `msb` (IETF) or `lsb`."""
    bits = range(len(INFOS))
    parts = tuple(
        Part(bit if numbering == "msb" else 23 - bit, (Field(name, 8, doc, f"aecn_{name}"),))
        for bit, (name, doc) in zip(bits, INFOS, strict=True)
    )
    return Header(
        "aecn",
        DRAFT,
        (
            Field("option_type", 8, "IPv6 option type."),
            Field("option_length", 8, "Octets that follow."),
            Field("flags", 8, "Bit 7 set: customised, data cannot be read.", "aecn_flags"),
            Field("type", 24, "Bitmap of the information that follows.", "aecn_type"),
        ),
        doc="Advanced ECN information in a Hop-by-Hop or Destination option.",
        records=Records(
            bitmap=("aecn_type",), bits=24, parts=parts, reason="aecn_bad_length", per_hop=False
        ),
    )


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return (option(settings.aecn_numbering),)


def options(settings: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """IPv6 option types that carry AECN, at any length."""
    return {"ipv6_option": {(number, 0): "aecn" for number in settings.aecn_option_types}}
