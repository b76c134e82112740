"""The tables as plain values: what settings give, in the shape that the Lua engine reads.

A header that Wireshark reads itself is only named; a packet is handed to Wireshark's own dissector
there, and taken back where one of ours follows.
"""

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from collector.carriers import edges, headers, option_edges, option_extra
from collector.settings import CollectorSettings
from collector.wire.place import Field, places
from collector.wire.style import STYLES
from collector.wire.table import Branch, Header, Records

NATIVE = frozenset((
    "ethernet", "vlan", "snap", "macsec", "macsec_channel", "macsec_type", "mpls", "ppp", "pppoe",
    "cisco_hdlc", "hdlc", "sll", "sll2", "null", "raw_ip", "ipv4", "ipv6", "hop_by_hop",
    "destination_options", "routing", "srh", "extension", "fragment_header", "authentication",
    "esp", "esp_udp", "nat_keepalive", "tcp", "udp", "tcp_options", "accecn",
    "roce", "quic", "gre", "gre_metadata", "erspan", "vxlan", "vxlan_gpe", "geneve", "nsh", "sflow",
    "ioam", "timestamp",
))  # fmt: skip
"""Headers, or layers of headers, that Wireshark 4 reads by itself.

A header of such a layer that leads to one of ours bridges: it is read here, and with what follows
ours given to Wireshark once more (the TCP header that IFA puts its stack behind)."""
TABLES = {
    "ethertype": ("ethertype", "gre.proto"), "udp_port": ("udp.port",), "tcp_port": ("tcp.port",),
    "ip_protocol": ("ip.proto",), "ppp": ("ppp.protocol",), "gpe": ("vxlan.next_proto",),
    "nsh": ("nsh.next_proto",),
}  # fmt: skip
"""Number spaces that are Wireshark's dissector tables; what follows is looked up in the first."""
REMAINDER = ((64, "First octets that no table explains."), (8, "Octets that no table explains."))

Plain = dict[str, Any]


def native(header: Header) -> bool:
    """Whether Wireshark reads this header itself."""
    return header.name in NATIVE or header.layer in NATIVE


def exported(settings: CollectorSettings) -> Plain:
    """Every table that is not Wireshark's own, and what leads to it."""
    tables = {header.name: header for header in headers(settings)}
    ours = {name for name, header in tables.items() if not native(header)}
    bridges = {name for name, header in tables.items() if name not in ours | NATIVE
               and ours & {header.to, *(branch.to for branch in header.branches)}}  # fmt: skip
    ours |= bridges

    def claim(name: str | None) -> str | None:
        """The first header of ours among those that claim the same place."""
        while name and name not in ours:
            name = tables[name].otherwise
        return name

    numbers = edges(settings)
    return {
        "headers": {
            name: _header(replace(tables[name], otherwise=claim(tables[name].otherwise)))
            | ({"layer": name, "bridge": tables[name].layer} if name in bridges else {})
            for name in sorted(ours)
        },
        "edges": {
            space: [[number, name] for number, name in named.items() if name != "snap"]
            for space, named in numbers.items()
            if space in TABLES or space in _spaces(tables[name] for name in ours)
        },
        "options": {
            space: [
                [kind, octets, own]
                for (kind, octets), name in named.items()
                if (own := claim(name))
            ]
            for space, named in option_edges(settings).items()
        },
        "extra": {
            space: [[kind, octets] for kind, octets in kinds.items()]
            for space, kinds in option_extra(settings).items()
        },
        "lists": {
            name: _header(replace(header, branches=(), to=None, next=None))
            for name, header in tables.items()
            if name not in ours and header.options
        },
        "carried": [
            [name, *branch]
            for name, header in tables.items()
            if name not in ours
            for branch in _carried(header, ours)
        ],
    }


def _spaces(tables: Iterable[Header]) -> set[str]:
    """Number spaces in which headers look up what follows."""
    ours = tuple(tables)
    found = {branch.space for header in ours for branch in header.branches if branch.space}
    return found | {header.next[1] for header in ours if header.next}


def _carried(header: Header, ours: set[str]) -> list[list[Any]]:
    """Branches of Wireshark's own header that lead to one of ours; the last one always does."""
    found: list[list[Any]] = [
        [branch.column, branch.mask, branch.value, branch.to]
        for branch in header.branches
        if branch.to in ours
    ]
    return [*found, *([["", 0, 0, header.to]] if header.to in ours else [])]


def _field(name: str, fields: tuple[Field, ...]) -> list[Plain]:
    """Fields with their places."""
    return [
        _without(
            {
                "name": place.field.name,
                "doc": place.field.doc,
                "bits": place.field.bits,
                "octet": place.octet,
                "octets": place.octets,
                "low": place.low,
                "little": bool(place.field.little),
                "column": place.field.column,
            }
        )
        for place in places(name, fields)
    ]


@cache
def _header(header: Header) -> Plain:
    """One header."""
    told: Plain = {
        "name": header.name,
        "layer": header.layer or header.name,
        "doc": header.doc.rstrip("."),
        "octets": header.octets,
        "fields": _field(header.name, header.fields),
        "checks": [_without(asdict(check)) for check in header.checks],
        "branches": [_branch(branch) for branch in header.branches],
        "marks": [list(mark) for mark in header.marks],
        "records": _records(header.name, header.records) if header.records else None,
        "remainder": _remainder(header),
    }
    for name in ("length", "extent", "trailer", "options_at"):
        rule = getattr(header, name)
        told[name] = None if rule is None else _without(asdict(rule)) | {"unit": rule.unit}
    for name in ("next", "options"):
        told[name] = list(getattr(header, name) or ())
    for name in ("peek", "to", "otherwise", "again"):
        told[name] = getattr(header, name)
    if header.short != "truncated":
        told["short"] = header.short
    return _without(told) | {"octets": header.octets}


def _branch(branch: Branch) -> Plain:
    """A branch; its value is told even when it is 0."""
    return _without(asdict(branch)) | {"value": branch.value, "mask": branch.mask}


def _remainder(header: Header) -> list[Plain]:
    """Fields for the octets that no table explains: the first of them, and how many they are."""
    told = zip(header.remainder or (), REMAINDER, strict=False)
    prefix = f"{header.layer or header.name}_"
    return [
        {"name": column.removeprefix(prefix), "column": column, "bits": bits, "doc": doc}
        for column, (bits, doc) in told
    ]


def _records(name: str, rule: Records) -> Plain:
    """A stack of records."""
    told = {
        key: value
        for key, value in asdict(rule).items()
        if key not in {"parts", "key", "bottom", "start", "tail"} and value
    }
    told["start"] = -1 if rule.start is None else rule.start
    if rule.tail:
        told["tail"] = list(rule.tail)
    if rule.bottom:
        told["bottom"] = _field(name, rule.bottom)
    if rule.key:
        spare = Field("rest", -rule.key.bits % 8)
        told["key"] = _field(name, (rule.key, spare))[0]
    told["parts"] = [
        {"bit": part.bit, "octets": part.octets, "fields": _field(name, part.fields)}
        | ({"words": part.words} if part.words else {})
        for part in rule.parts
    ]
    return told


def _without(told: Plain) -> Plain:
    """Leave out what is nothing."""
    return {name: value for name, value in told.items() if value not in (None, "", [], (), False)}


def styles() -> Plain:
    """Styles of type-length-value lists."""
    return {style.name: asdict(style) for style in STYLES}
