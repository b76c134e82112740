"""Congestion Signaling tags (draft-ravi-ippm-csig-00, sections 4 and 6).

The tag stands right before the frame's real ethertype; its TPID is the ethertype of what precedes
it.

    compact   | TPID 16 | T 3 | R 1 | S 5 | LM 7 |              UEC/SAI: LM 6 | D 1
    expanded  | TPID 16 | LM 16 | T 4 | S 20 | R 8 |            UEC/SAI: LM 15 | D 1
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Check, Header

DRAFT = "draft-ravi-ippm-csig-00 §4"
UEC = "OCP SAI CSIG specification"
REFLECTION = "draft-ravi-ippm-csig-00 §6"
SIGNALS = ("min(ABW)", "min(ABW/C)", "max(PD)")
"""Signal types by number; higher numbers are reserved, kept and shown as numbers."""
EXPERIMENTS = (253, 254)
"""TCP option kinds with an experiment identifier (RFC 6994)."""
COMPACT, EXPANDED = 1, 2
"""Values of the column `csig_variant`: 4-octet and 8-octet tags."""

_TYPE = Field("ethertype", 16, "Ethertype of what follows the tag.")


def _compact(prefix: str, *, uec: bool) -> tuple[Field, ...]:
    """Data fields of the compact tag, kept in columns that start with `prefix`."""
    lm = Field("lm", 6 if uec else 7, "Locator metadata.", f"{prefix}_lm")
    return (
        Field("t", 3, "Signal type.", f"{prefix}_t"),
        Field("r", 1, "Reserved."),
        Field("s", 5, "Signal value: index of a bucket.", f"{prefix}_s"),
        *((lm, Field("d", 1, "Do not update.", f"{prefix}_d")) if uec else (lm,)),
    )


def _expanded(prefix: str, *, uec: bool) -> tuple[Field, ...]:
    """Data fields of the expanded tag, kept in columns that start with `prefix`."""
    lm = Field("lm", 15 if uec else 16, "Locator metadata.", f"{prefix}_lm")
    return (
        *((lm, Field("d", 1, "Do not update.", f"{prefix}_d")) if uec else (lm,)),
        Field("t", 4, "Signal type.", f"{prefix}_t"),
        Field("s", 20, "Signal value: multiples of the quantum.", f"{prefix}_s"),
        Field("r", 8, "Reserved."),
    )


def tags(layout: str) -> tuple[Header, Header]:
    """The two tags in the `draft` or the `uec` layout."""
    uec = layout == "uec"
    source = UEC if uec else DRAFT
    return (
        Header(
            "csig_compact",
            source,
            (*_compact("csig", uec=uec), _TYPE),
            doc="Compact congestion signaling tag, 4 octets with its TPID.",
            next=("ethertype", "ethertype"),
            layer="csig",
            marks=(("csig_variant", COMPACT),),
        ),
        Header(
            "csig_expanded",
            source,
            (*_expanded("csig", uec=uec), _TYPE),
            doc="Expanded congestion signaling tag, 8 octets with its TPID.",
            next=("ethertype", "ethertype"),
            layer="csig",
            marks=(("csig_variant", EXPANDED),),
        ),
    )


def reflections(layout: str, exid: int | None) -> tuple[Header, Header]:
    """TCP options that carry a tag's data fields back; with an ExID for kinds 253 and 254."""
    uec = layout == "uec"
    head: tuple[Field, ...] = (Field("kind", 8), Field("length", 8))
    checks: tuple[Check, ...] = ()
    if exid is not None:
        head = (*head, Field("exid", 16, "Experiment identifier (RFC 6994)."))
        checks = (Check("exid", exid, exid, None),)
    return (
        Header(
            "csig_echo_compact",
            REFLECTION,
            (*head, *_compact("csig_echo", uec=uec)),
            doc="Reflection of a compact tag in a TCP option.",
            checks=checks,
            layer="csig_echo",
            marks=(("csig_echo_variant", COMPACT),),
        ),
        Header(
            "csig_echo_expanded",
            REFLECTION,
            (*head, *_expanded("csig_echo", uec=uec)),
            doc="Reflection of an expanded tag in a TCP option.",
            checks=checks,
            layer="csig_echo",
            marks=(("csig_echo_variant", EXPANDED),),
        ),
    )


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Tags and reflections as these settings lay them out."""
    exid = settings.csig_echo_exid if settings.csig_echo_kind in EXPERIMENTS else None
    return (*tags(settings.csig_layout), *reflections(settings.csig_layout, exid))


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """TPIDs of the tags."""
    compact = dict.fromkeys(settings.csig_compact_tpids, "csig_compact")
    return {"ethertype": compact | dict.fromkeys(settings.csig_expanded_tpids, "csig_expanded")}


def options(settings: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """The TCP option that reflects."""
    kind = settings.csig_echo_kind
    head = 4 if settings.csig_echo_exid is not None and kind in EXPERIMENTS else 2
    found = {(kind, head + 2): "csig_echo_compact", (kind, head + 6): "csig_echo_expanded"}
    return {"tcp_option": found}
