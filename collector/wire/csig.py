"""Congestion Signaling tags (draft-ravi-ippm-csig-00, section 4).

The tag stands right before the frame's real ethertype, behind all VLAN tags and a security tag; its
TPID is the ethertype of what precedes it.

compact   | TPID 16 | T 3 | R 1 | S 5 | LM 7 |              UEC/SAI: LM 6 | D 1
expanded  | TPID 16 | LM 16 | T 4 | S 20 | R 8 |            UEC/SAI: LM 15 | D 1
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Header

DRAFT = "draft-ravi-ippm-csig-00 §4"
UEC = "OCP SAI CSIG specification"
SIGNALS = ("min(ABW)", "min(ABW/C)", "max(PD)", "max(queue depth)")
"""Signal types by number; the last one is of the UEC/SAI layout. Higher numbers are reserved."""
COMPACT, EXPANDED = 1, 2
"""Values of the column `csig_variant`: 4-octet and 8-octet tags."""

_TYPE = Field("ethertype", 16, "Ethertype of what follows the tag.")


def compact(prefix: str, layout: str) -> tuple[Field, ...]:
    """Data fields of the compact tag, kept in columns that start with `prefix`."""
    return (
        Field("t", 3, "Signal type.", f"{prefix}_t"),
        Field("r", 1, "Reserved."),
        Field("s", 5, "Signal value: index of a bucket.", f"{prefix}_s"),
        *_locator(prefix, 7, layout),
    )


def expanded(prefix: str, layout: str) -> tuple[Field, ...]:
    """Data fields of the expanded tag, kept in columns that start with `prefix`."""
    return (
        *_locator(prefix, 16, layout),
        Field("t", 4, "Signal type.", f"{prefix}_t"),
        Field("s", 20, "Signal value: multiples of the quantum.", f"{prefix}_s"),
        Field("r", 8, "Reserved."),
    )


def _locator(prefix: str, bits: int, layout: str) -> tuple[Field, ...]:
    """Locator metadata, whose last bit the UEC/SAI layout uses for itself."""
    lm = Field("lm", bits - (layout == "uec"), "Locator metadata.", f"{prefix}_lm")
    return (lm, Field("d", 1, "Do not update.", f"{prefix}_d")) if layout == "uec" else (lm,)


def tags(layout: str) -> tuple[Header, Header]:
    """The two tags in the `draft` or the `uec` layout."""
    source = UEC if layout == "uec" else DRAFT
    return (
        Header(
            "csig_compact",
            source,
            (*compact("csig", layout), _TYPE),
            doc="Compact congestion signaling tag, 4 octets with its TPID.",
            next=("ethertype", "ethertype"),
            layer="csig",
            marks=(("csig_variant", COMPACT),),
        ),
        Header(
            "csig_expanded",
            source,
            (*expanded("csig", layout), _TYPE),
            doc="Expanded congestion signaling tag, 8 octets with its TPID.",
            next=("ethertype", "ethertype"),
            layer="csig",
            marks=(("csig_variant", EXPANDED),),
        ),
    )


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Tags as these settings lay them out."""
    return tags(settings.csig_layout)


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """TPIDs of the tags."""
    found = dict.fromkeys(settings.csig_compact_tpids, "csig_compact")
    return {"ethertype": found | dict.fromkeys(settings.csig_expanded_tpids, "csig_expanded")}
