"""Reflections of congestion signals (draft-ravi-ippm-csig-00, section 6).

The receiver sends back the data fields, which are all of a tag but its TPID: 2 octets of a compact
and 6 of an expanded one. No kind, port or offset is assigned, so that settings name them.

TCP   | kind 8 | length 8 | data fields |
      | kind 253 or 254 | length 8 | ExID 16 | data fields |
UDP   | octets up to a set offset | flags 8 | data fields |
"""

from dataclasses import replace

from collector.settings import CollectorSettings
from collector.wire.csig import COMPACT, EXPANDED, compact, expanded
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length

REFLECTION = "draft-ravi-ippm-csig-00 §6"
EXPERIMENTS = (253, 254)
"""TCP option kinds with an experiment identifier (RFC 6994)."""
COMPACT_OCTETS, EXPANDED_OCTETS = 2, 6
"""Octets of the data fields."""
MOST_OPTION_OCTETS = 40
"""Octets that a TCP header has for all its options (RFC 9293 §3.1)."""
SEEN = (("csig_echo_seen", 1),)
"""A reflection is here, be there a signal in it or not."""


def signals(layout: str, place: str, head: tuple[Field, ...]) -> tuple[Header, Header]:
    """Both reflected signals behind the fields of `head`."""
    return (
        Header(
            f"csig_echo{place}_compact",
            REFLECTION,
            (*head, *compact("csig_echo", layout)),
            doc="Reflection of a compact tag.",
            layer="csig_echo",
            marks=(("csig_echo_variant", COMPACT), *SEEN),
        ),
        Header(
            f"csig_echo{place}_expanded",
            REFLECTION,
            (*head, *expanded("csig_echo", layout)),
            doc="Reflection of an expanded tag.",
            layer="csig_echo",
            marks=(("csig_echo_variant", EXPANDED), *SEEN),
        ),
    )


def option_head(settings: CollectorSettings) -> tuple[Field, ...]:
    """Fields of a TCP option before the data fields."""
    head: tuple[Field, ...] = (Field("kind", 8), Field("length", 8))
    if identified(settings):
        head = (*head, Field("exid", 16, "Experiment identifier (RFC 6994)."))
    return head


def identified(settings: CollectorSettings) -> bool:
    """Whether the option has an experiment identifier."""
    return settings.csig_echo_exid is not None and settings.csig_echo_kind in EXPERIMENTS


def reflections(settings: CollectorSettings) -> tuple[Header, ...]:
    """TCP options that carry a tag's data fields, or none that can be read."""
    head = option_head(settings)
    checks: tuple[Check, ...] = ()
    if identified(settings):
        exid = settings.csig_echo_exid or 0
        checks = (Check("exid", exid, exid, None),)
    empty = Header(
        "csig_echo_empty",
        REFLECTION,
        head,
        doc="Reflection that holds neither tag's data fields.",
        layer="csig_echo",
        marks=SEEN,
    )
    whole = (*signals(settings.csig_layout, "", head), empty)
    return tuple(replace(header, checks=checks) for header in whole)


def datagrams(settings: CollectorSettings) -> tuple[Header, ...]:
    """What stands in a UDP payload: octets to pass over, flags, data fields."""
    variant = f"csig_echo_udp_{settings.csig_echo_udp_variant}"
    valid = settings.csig_echo_udp_valid
    return (
        Header(
            "csig_echo_udp",
            REFLECTION,
            (),
            doc="Octets of a UDP payload before the reflection.",
            length=Length(add=settings.csig_echo_udp_offset),
            to="csig_echo_udp_flags",
        ),
        Header(
            "csig_echo_udp_flags",
            REFLECTION,
            (Field("flags", 8, "One of them, by a setting: valid.", "csig_echo_flags"),),
            doc="Flags of a reflection; data fields follow when they are valid.",
            branches=(Branch("csig_echo_flags", valid, valid, to=variant),),
            layer="csig_echo",
            marks=SEEN,
        ),
        *signals(settings.csig_layout, "_udp", ()),
    )


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return (*reflections(settings), *datagrams(settings))


def options(settings: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """The TCP option that reflects, by the octets that it takes."""
    kind, head = settings.csig_echo_kind, 4 if identified(settings) else 2
    found = {(kind, octets): "csig_echo_empty" for octets in range(head, MOST_OPTION_OCTETS + 1)}
    found[kind, head + COMPACT_OCTETS] = "csig_echo_compact"
    found[kind, head + EXPANDED_OCTETS] = "csig_echo_expanded"
    return {"tcp_option": found}


def option_extra(settings: CollectorSettings) -> dict[str, dict[int, int]]:
    """Octets that a length in the draft's own words leaves out: all but the data fields."""
    if settings.csig_echo_length == "tcp":
        return {}
    return {"tcp_option": {settings.csig_echo_kind: 4 if identified(settings) else 2}}


def carried(settings: CollectorSettings) -> dict[str, tuple[Branch, ...]]:
    """UDP ports of reflections, at either end."""
    ports = settings.csig_echo_udp_ports
    ends = [Branch(end, 0xFFFF, port, to="csig_echo_udp")
            for port in ports for end in ("dport", "sport")]  # fmt: skip
    return {"udp": tuple(ends)} if ends else {}
