"""The script that Wireshark loads: the tables as these settings have them, and the engine."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from collector.lua.exported import TABLES, Plain, exported, styles
from collector.lua.literal import literal
from collector.lua.preference import preferences
from collector.observation import HOPS
from collector.settings import CollectorSettings
from collector.status import STATUS

MARK = "-- Written by hopsight"
"""How the script begins; a file that begins otherwise is somebody else's."""
ENGINE = ("engine.lua", "options.lua", "records.lua", "register.lua")
SIZES = (8, 16, 24, 32, 64)
"""Bits of the numbers that Wireshark shows."""
DISSECTORS = {
    "ethernet": "eth_withoutfcs", "ipv4": "ip", "ipv6": "ipv6", "raw_ip": "ip", "mpls": "mpls",
    "tcp": "tcp", "udp": "udp", "gre": "gre", "vxlan": "vxlan", "nsh": "nsh", "geneve": "geneve",
    "snap": "llc", "ppp": "ppp", "esp": "esp", "authentication": "ah", "sflow": "sflow",
    "hop_by_hop": "ipv6.hopopts", "destination_options": "ipv6.dstopts", "routing": "ipv6.routing",
}  # fmt: skip
"""Wireshark's dissectors of headers that it reads itself, where no number names what follows."""
OUTSIDE = {
    "dscp": ("ip.dsfield.dscp", "ipv6.tclass.dscp"),
    "sport": ("udp.srcport", "tcp.srcport"),
    "dport": ("udp.dstport", "tcp.dstport"),
    "protocol": ("ip.proto", "ipv6.nxt"),
    "payload_length": ("tcp.len",),
}
"""Columns of Wireshark's own headers on which ours may depend, by its filter names."""
MISMATCH = "Words of a record that its parts do not come to"
LISTS = {
    "hop_by_hop": "ipv6.hopopts", "destination_options": "ipv6.dstopts", "routing": "ipv6.routing",
    "srh": "ipv6.routing", "geneve": "geneve", "tcp": "tcp",
}  # fmt: skip
"""Filter names of Wireshark's own headers that hold options."""
STATES = ("HEADERS", "LISTS", "CARRIED", "EDGES", "OPTIONS", "EXTRA")


def dissectors(settings: CollectorSettings, version: str, *, adjustable: bool = True) -> str:
    """The whole script in Lua; with `adjustable`, settings are Wireshark preferences."""
    base = exported(settings)
    chosen = preferences(settings) if adjustable else []
    return "\n".join((
        f"{MARK} {version}: do not change, `hopsight wireshark install` writes it anew.",
        "-- SPDX-License-Identifier: Apache-2.0",
        "",
        *(f"local {name} = {literal(value)}" for name, value in _facts(base, chosen)),
        *(f"local {name} = {_extractors(fields)}" for name, fields in _fields()),
        f"local {', '.join(STATES)}",
        "local PROTOS, FIELDS, EXPERTS = {}, {}, {}",
        "",
        *(files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ENGINE),
    ))  # fmt: skip


def _facts(base: Plain, chosen: list[Plain]) -> Iterator[tuple[str, Any]]:
    """Everything that the engine is told."""
    variants = [base, *_patches(chosen)]
    tables = [header for each in variants for header in each.get("headers", {}).values()]
    names, ours = _names(tables), {header["name"] for header in tables}
    yield "BASE", base
    yield "PREFERENCES", chosen
    yield "STYLES", styles()
    yield "TABLES", TABLES
    yield "DISSECTORS", DISSECTORS
    rules = (header.get("records", {}) for header in tables)
    told = {rule["mismatch"]: MISMATCH for rule in rules if "mismatch" in rule}
    yield "REASONS", {name: sentence.rstrip(".") for name, sentence in STATUS[1:]} | told
    yield "HOPS", HOPS
    yield "LAYERS", sorted({header["layer"] for header in tables})
    yield "NAMES", [[name, *about] for name, about in sorted(names.items())]
    entries = [entry[1] for each in variants for edges in each.get("edges", {}).values()
               for entry in edges]  # fmt: skip
    entries += [place[-1] for each in chosen for place in each.get("places", ())]
    yield "ENTRIES", sorted(ours.intersection(entries))
    yield "ANNOUNCED", sorted({
        (each[0], each[4]) for tables in variants for each in tables.get("carried", [])
        if each[0] in {"tcp", "udp"}
    })  # fmt: skip


def _patches(chosen: list[Plain]) -> Iterator[Plain]:
    """Every change that a preference can make."""
    for each in chosen:
        yield from each.get("patches", [])
        yield from (kind["patch"] for kind in each.get("classes", []))
        yield each.get("absent", {})
        yield each.get("patch", {})


def _names(tables: list[Plain]) -> dict[str, list[Any]]:
    """Filter names with label, meaning, and bits of the widest field of that name."""
    found: dict[str, list[Any]] = {}
    for header in tables:
        layer, rule = header["layer"], header.get("records", {})
        told = [(f"{layer}.", field) for field in header.get("fields", [])]
        inside = f"{layer}.hop." if rule.get("per_hop") else f"{layer}."
        told += [(inside, field) for part in rule.get("parts", []) for field in part["fields"]]
        behind = (*rule.get("bottom", []), *header.get("remainder", []))
        told += [(f"{layer}.", field) for field in behind]
        if rule.get("per_hop"):
            told.append((f"{layer}.", {"name": "hops", "doc": "Hops of the stack.", "bits": 8}))
        for prefix, field in told:
            size = next(size for size in SIZES if field["bits"] <= size)
            label = field["name"].replace("_", " ").capitalize()
            known = found.setdefault(prefix + field["name"], [label, field.get("doc", ""), size])
            known[2] = max(known[2], size)
    return found


def _fields() -> Iterator[tuple[str, dict[str, tuple[str, ...]]]]:
    """Extractors of Wireshark's own fields."""
    yield "OUTSIDE", OUTSIDE
    yield "LIST_FIELDS", {name: (field,) for name, field in LISTS.items()}


def _extractors(fields: dict[str, tuple[str, ...]]) -> str:
    """A Lua table of extractors."""
    lines = (
        f"  {name} = {{ {', '.join(f'Field.new({literal(each)})' for each in filters)} }},"
        for name, filters in fields.items()
    )
    return "\n".join(("{", *lines, "}"))
