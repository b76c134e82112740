"""Shims of in-band telemetry and what announces them (P4.org INT specification v2.1, section 5.6).

TCP, UDP  | Type 4 | NPT 2 | R 2 | Length 8 | NPT 0: R 8, original DSCP 6, R 2 |
          |                                 | NPT 1: original UDP destination port 16 |
          |                                 | NPT 2: R 8, IP protocol 8 |
GRE       | Type 4 | G 1 | R 3 | Length 8 | ethertype 16 |
VXLAN-GPE | Type 4 | R 4 | Length 8 | G 1 | R 7 | next protocol 8 |
marker    | 64 |

A UDP destination port, a DSCP or a marker behind the transport announces the shim; NPT has a
meaning for the port only. INT over TCP stands behind the options or, by a setting, in front of
them. A first nibble of 0 is the shim of version 1.0.
"""

from dataclasses import replace

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.inband import (
    BY_DSCP,
    BY_MARKER,
    BY_PORT,
    GPE,
    GRE,
    MD,
    MX,
    PORT,
    PROTOCOL,
    SPECIFICATION,
    in_front,
)
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length
from collector.wire.transport import TCP

UNSUPPORTED = -CODE["int_unsupported_type"]
SPACES = {"int_by_port": UNSUPPORTED, "int_by_dscp": UNSUPPORTED, "int_by_marker": UNSUPPORTED}
UDP_PROTOCOL, TCP_PROTOCOL = 17, 6
TCP_OCTETS = 20
FEWEST = Check("length", 3, 255, "int_bad_length")
_TYPE = Field("type", 4, "1 INT-MD, 2 destination, 3 INT-MX.", "int_type")
_NPT = (Field("npt", 2, "Next protocol type: what the last 16 bits mean."), Field("reserved", 2))
_LENGTH = Field("length", 8, "Words of header and stack, without the shim.", "_int_words")
_PORT = Field("next", 16, "Original UDP destination port.", "dport")
_DSCP = (Field("reserved2", 8), Field("original_dscp", 6, "Original DSCP.", "dscp"),
         Field("reserved3", 2))  # fmt: skip
_NEXT = Field("next", 8, "What follows.", "_int_next")


def shim(name: str, head: tuple[Field, ...], last: tuple[Field, ...], doc: str,
         carrier: int | None) -> Header:  # fmt: skip
    """A shim of version 2."""
    return Header(
        name,
        SPECIFICATION,
        (_TYPE, *head, _LENGTH, *last),
        doc=doc,
        checks=(FEWEST,),
        marks=() if carrier is None else (("_int_carrier", carrier),),
        next=("type", "int_type"),
        layer="int_shim",
    )


def shims(settings: CollectorSettings) -> tuple[Header, ...]:
    """Shims of version 2 on every carrier."""
    unused = Field("reserved2", 8)
    protocol = (unused, _NEXT) if settings.int_protocol_octet == "last" else (_NEXT, unused)
    ethertype = Field("next", 16, "Ethertype.", "_int_next")
    gre = (Field("gre", 1, "GRE was added by the source."), Field("reserved", 3))
    gpe = (Field("gre", 1, "The envelope was added by the source."), Field("reserved2", 7), _NEXT)
    over_gre = shim("int_shim_gre", gre, (ethertype,), "INT shim over GRE.", GRE)
    return (
        shim("int_shim", _NPT, (Field("next", 16, "By NPT."),), "INT shim over TCP or UDP.", None),
        shim("int_shim_port", _NPT, (_PORT,), "INT shim with the port that it took.", PORT),
        shim("int_shim_protocol", _NPT, protocol, "INT shim with an IP protocol.", PROTOCOL),
        shim("int_shim_gpe", (Field("reserved", 4),), gpe, "INT shim over VXLAN-GPE.", GPE),
        *(() if settings.int_gre_protocol is None else (over_gre,)),
    )


UNKNOWN = Header(
    "int_unsupported",
    SPECIFICATION,
    (Field("type", 4, "Neither INT-MD nor INT-MX."), Field("rest", 4)),
    doc="First octet of a shim of another type.",
    checks=(Check("type", MD, MD, "int_unsupported_type"),),
    layer="int_shim",
)


def seen(name: str, carrier: int) -> Header:
    """Looks at the first octet of what is announced: version 1.0 begins with a nibble of 0."""
    return Header(
        name,
        SPECIFICATION,
        (Field("kind", 6, "Type and NPT."), Field("reserved", 2)),
        doc="Tells the shims apart.",
        peek=True,
        marks=(("_int_carrier", carrier),),
        next=("kind", name),
        layer="int_shim",
    )


def marker(name: str, value: int, front: tuple[Field, ...], otherwise: str, to: str) -> Header:
    """The probe marker, behind `front` octets that are only looked at."""
    return Header(
        name,
        SPECIFICATION,
        (*front, Field("marker", 64, "Says that INT follows.")),
        doc="Probe marker.",
        peek=bool(front),
        checks=(Check("marker", value, value, None),),
        otherwise=otherwise,
        to=to,
        layer="int_shim",
    )


def by_dscp(settings: CollectorSettings, to: str) -> tuple[Branch, ...]:
    """The DSCP's branch, where it announces INT."""
    mask = settings.int_dscp_mask
    if settings.int_dscp is None:
        return ()
    return (Branch("dscp", mask, settings.int_dscp & mask, to=to),)


def before_options(settings: CollectorSettings) -> tuple[Header, ...]:
    """TCP in two pieces with INT between them."""
    value = settings.int_marker
    words = [Field("tcp", 64), Field("tcp2", 64), Field("tcp3", 32)]
    looked = () if value is None else (
        marker("int_tcp_marker", value, tuple(words), "tcp", "int_tcp"),)  # fmt: skip
    choice = Header(
        "int_tcp_choice",
        SPECIFICATION,
        (),
        doc="Looks whether INT stands in front of the TCP options.",
        peek=True,
        branches=by_dscp(settings, "int_tcp"),
        to="int_tcp_marker" if looked else "tcp",
    )
    fields = tuple(
        replace(field, column="_tcp_words") if field.name == "data_offset" else field
        for field in TCP.fields
    )
    first = replace(
        TCP,
        name="int_tcp",
        doc="TCP header whose options stand behind INT.",
        fields=fields,
        length=None,
        options=None,
        marks=(*TCP.marks, ("_int_tcp", 1)),
        branches=by_dscp(settings, "int_by_dscp"),
        to=None if value is None else "int_marker",
        layer="tcp",
    )
    rest = Header(
        "int_tcp_rest",
        "RFC 9293 §3.1",
        (),
        doc="TCP options behind INT.",
        length=Length(column="_tcp_words", unit=4, add=-TCP_OCTETS),
        options=TCP.options,
        layer="tcp",
    )
    return (*looked, choice, first, rest)


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    found = [UNKNOWN, *shims(settings), seen("int_by_port", BY_PORT)]
    if settings.int_dscp is not None:
        found += [seen("int_by_dscp", BY_DSCP),
                  shim("int_shim_dscp", _NPT, _DSCP, "INT shim by DSCP.", BY_DSCP)]  # fmt: skip
    if settings.int_marker is not None:
        found += [seen("int_by_marker", BY_MARKER),
                  marker("int_marker", settings.int_marker, (), "int_resume", "int_by_marker"),
                  ]  # fmt: skip
    if in_front(settings):
        found += before_options(settings)
    return tuple(found)


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Ports and protocols that announce INT, and shims by their first six bits."""
    nexts = {1: "int_shim_port", 2: "int_shim_protocol"}
    kinds = [kind << 2 | npt for kind in (MD, MX) for npt in range(4)]
    first = dict.fromkeys(range(64), "int_unsupported") | dict.fromkeys(range(4), "int_v1_shim")
    found: dict[str, dict[int, str]] = {
        "udp_port": dict.fromkeys(settings.int_udp_ports, "int_by_port"),
        "int_by_port": first | {kind: nexts.get(kind & 3, "int_shim") for kind in kinds},
        "int_by_dscp": first
        | dict.fromkeys(range(4), "int_v1_shim_dscp")
        | dict.fromkeys(kinds, "int_shim_dscp"),
        "int_by_marker": first | dict.fromkeys(kinds, "int_shim"),
        "gpe": {settings.int_gpe_protocol: "int_shim_gpe"},
    }
    if settings.int_dscp is None:
        del found["int_by_dscp"]
    if in_front(settings):
        found["ip_protocol"] = {TCP_PROTOCOL: "int_tcp_choice"}
    return found


def carried(settings: CollectorSettings) -> dict[str, tuple[Branch, ...]]:
    """Branches of the transports: a port first, then a DSCP, then what may be a marker."""
    announced = by_dscp(settings, "int_by_dscp")
    if settings.int_marker is not None:
        announced += (Branch("protocol", 0, 0, to="int_marker"),)
    found: dict[str, tuple[Branch, ...]] = {}
    if settings.int_gre_protocol is not None:
        found["gre"] = (
            Branch("_gre_protocol", 0xFFFF, settings.int_gre_protocol, to="int_shim_gre"),
        )
    if announced:
        ports = tuple(Branch("dport", 0xFFFF, port, to="int_by_port")
                      for port in settings.int_udp_ports)  # fmt: skip
        found["udp"] = (*ports, *announced)
        if not in_front(settings):
            found["tcp"] = announced
    return found
