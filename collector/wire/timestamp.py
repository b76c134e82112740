"""Timestamps that taps and aggregation switches put into frames.

tag      | subtype 1 16 | timescale 8 | format 4 | hardware 4 | timestamp | ethertype 16 |
format 1 | seconds 32 | nanoseconds 32 |
format 2 | seconds 16 | nanoseconds 32 |
trailer  | original FCS 32 | seconds 32 | nanoseconds 32 | R 6 | E 1 | V 1 | device 16 | port 8 |

The tag is Arista's, as tcpdump and tshark read it; timescale 0 is TAI, 1 is UTC. The trailer is
that of Metamako devices, as tshark reads it, at the end of every frame and without a check sequence
behind it; no octet announces it, so a setting does.
"""

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.table import Check, Header, Length, Part, Records

SPACES = {"timestamp_format": -CODE["unknown_ethertype"]}
TAG_SOURCE = "Arista, Overview of timestamps"
TRAILER_SOURCE = "Metamako trailer, as tshark reads it"

TAG = Header(
    "timestamp_tag",
    TAG_SOURCE,
    (
        Field("subtype", 16, "1: a timestamp."),
        Field("timescale", 8, "0 TAI, 1 UTC.", "timestamp_scale"),
        Field("format", 4, "1: 64 bits, 2: 48 bits."),
        Field("hardware", 4),
    ),
    doc="Timestamp tag, behind its ethertype.",
    checks=(Check("subtype", 1, 1, "unknown_ethertype"),),
    layer="timestamp",
    next=("format", "timestamp_format"),
)
LONG = Header(
    "timestamp_64",
    TAG_SOURCE,
    (
        Field("seconds", 32, "Seconds since 1970.", "timestamp_seconds"),
        Field("nanoseconds", 32, "Nanoseconds.", "timestamp_nanoseconds"),
        Field("ethertype", 16, "What follows."),
    ),
    doc="Timestamp of 64 bits.",
    layer="timestamp",
    next=("ethertype", "ethertype"),
)
SHORT = Header(
    "timestamp_48",
    TAG_SOURCE,
    (
        Field("seconds", 16, "Seconds since 1970, modulo 65,536."),
        Field("nanoseconds", 32, "Nanoseconds."),
        Field("ethertype", 16, "What follows."),
    ),
    doc="Timestamp of 48 bits; by itself it names no day.",
    layer="timestamp",
    next=("ethertype", "ethertype"),
)
TRAILER_FIELDS = (
    Field("fcs", 32, "Original check sequence."),
    Field("seconds", 32, "Seconds since 1970, UTC.", "trailer_seconds"),
    Field("nanoseconds", 32, "Nanoseconds.", "trailer_nanoseconds"),
    Field("reserved", 6),
    Field("extended", 1, "Extensions stand before the trailer."),
    Field("valid", 1, "The original check sequence is valid."),
    Field("device", 16, "Device that took the copy.", "mirror_session"),
    Field("port", 8, "Port that the copy was taken at.", "mirror_port"),
)
TRAILER_OCTETS = sum(field.bits for field in TRAILER_FIELDS) // 8
TRAILER = Header(
    "timestamp_trailer",
    TRAILER_SOURCE,
    (),
    doc="Looks at the end of the frame before its beginning is read.",
    peek=True,
    marks=(("_timestamp_trailer", 1),),
    records=Records(
        parts=(Part(0, TRAILER_FIELDS),),
        reason="bad_length",
        total="_timestamp_trailer",
        unit=TRAILER_OCTETS,
        tail=("_timestamp_trailer", 1),
        newest_first=False,
        per_hop=False,
    ),
    layer="timestamp",
    to="timestamp_cut",
)
CUT = Header(
    "timestamp_cut",
    TRAILER_SOURCE,
    (),
    doc="Leaves the trailer out of what is read next.",
    peek=True,
    trailer=Length(add=TRAILER_OCTETS),
    layer="timestamp",
    to="ethernet",
)


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Tags, and the trailer when it is asked for."""
    trailer = (TRAILER, CUT) if settings.timestamp_trailer != "none" else ()
    return (TAG, LONG, SHORT, *trailer)


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Ethertypes of the tag, and the formats behind it."""
    link = {1: "timestamp_trailer"} if settings.timestamp_trailer != "none" else {}
    return {
        "ethertype": dict.fromkeys(settings.timestamp_ethertypes, "timestamp_tag"),
        "timestamp_format": {1: "timestamp_64", 2: "timestamp_48"},
        "link_type": link,
    }
