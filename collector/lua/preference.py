"""Settings as preferences: which of them change the tables, and how, is found by trying.

A setting that lists numbers (TPIDs, ports, option types) becomes a range; one of few values a
choice, each with what it changes; a number is put where the tables have it. A setting that changes
the tables in another way keeps the value that it had when the script was written.
"""

from collections.abc import Mapping
from functools import partial
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError

from collector.lua.exported import Plain, exported
from collector.settings import CollectorSettings

PROBES = (251, 61, 62, 7, 51, 0x9A9A, 0xBEEF)
"""Numbers to try; the first two that a setting accepts and does not have are taken."""
FEW = 3
"""Values of a number after which it is plain that it changes nothing."""
MOST_CLASSES = 2
"""Kinds of tables that one number's values may lead to."""

Path = list[str | int]


def preferences(settings: CollectorSettings) -> list[Plain]:
    """Every setting that a preference can change, with what it changes."""
    base = exported(settings)
    found = (_preference(settings, base, name) for name in type(settings).model_fields)
    return [each for each in found if each]


def _preference(settings: CollectorSettings, base: Plain, name: str) -> Plain | None:
    """One setting as a preference; None when it changes nothing that can be told so."""
    info = type(settings).model_fields[name]
    value, told = getattr(settings, name), None
    origin, options = get_origin(info.annotation), get_args(info.annotation)
    if origin is Literal or info.annotation is bool:
        told = _choice(settings, base, name, list(options) or [False, True])
    elif isinstance(value, tuple) and all(isinstance(each, int) for each in value):
        told = _range(settings, base, name)
    elif info.annotation is int or (origin is UnionType and int in options):
        told = _number(settings, base, name)
    return told and {"name": name, "doc": info.description or ""} | told


def _tried(settings: CollectorSettings, name: str, value: Any) -> Plain | None:
    """The tables under another value; None when the setting does not accept it."""
    try:
        changed = type(settings).model_validate(settings.model_dump() | {name: value})
    except ValidationError:
        return None
    return exported(changed)


def _choice(settings: CollectorSettings, base: Plain, name: str, values: list[Any]) -> Plain | None:
    """A setting of few values: what each changes in the tables."""
    tables = [_tried(settings, name, value) or base for value in values]
    patches = [_patch(base, table) for table in tables]
    if not any(patches):
        return None
    texts = [str(value).lower() for value in values]
    chosen = values.index(getattr(settings, name)) + 1
    return {"kind": "choice", "values": texts, "default": chosen, "patches": patches}


def _range(settings: CollectorSettings, base: Plain, name: str) -> Plain | None:
    """A setting that lists numbers: in which spaces they announce which header."""
    numbers = getattr(settings, name)
    for probe in PROBES:
        table = None if probe in numbers else _tried(settings, name, (probe,))
        if table is None:
            continue
        places = [
            [part, space, *entry[1:]]
            for part in ("edges", "options")
            for space, entries in table[part].items()
            for entry in entries
            if entry[0] == probe
            and entry[-1] in table["headers"]
            and entry not in base[part].get(space, [])
        ]
        if places:
            fresh = {"headers": _patch(base, table).get("headers", {})}
            return {"kind": "range", "default": list(numbers), "places": places, "patch": fresh}
    return None


def _number(settings: CollectorSettings, base: Plain, name: str) -> Plain | None:
    """A number: where the tables have it, for each kind of tables that its values lead to."""
    least, greatest = _bounds(settings, name)
    value = getattr(settings, name)
    tables: dict[int, Plain] = {}
    for tried in dict.fromkeys((value, least, least + 1, greatest - 1, greatest, *PROBES)):
        if tried is not None and least <= tried <= greatest:
            table = _tried(settings, name, tried)
            tables |= {} if table is None else {tried: table}
            if len(tables) > FEW and all(each == base for each in tables.values()):
                return None
    classes = _classes(base, tables)
    if not any(each["paths"] for each in classes):
        return None
    classes[-1]["when"] = [least, greatest]
    told = {"kind": "number", "default": -1 if value is None else value, "classes": classes}
    absent = _tried(settings, name, None)
    return told | ({} if absent is None else {"absent": _patch(base, absent)})


def _classes(base: Plain, tables: Mapping[int, Plain]) -> list[Plain]:
    """Values that lead to tables of one kind, the largest class last: it stands for all others."""
    left, found = list(tables), []
    while len(left) > 1:
        members, paths = _class(left, tables)
        left = [value for value in left if value not in members]
        if len(members) > 1:
            patch = _patch(base, tables[members[0]])
            found.append({"when": members, "patch": patch, "paths": paths})
    return sorted(found, key=lambda each: len(each["when"]))[-MOST_CLASSES:]


def _bounds(settings: CollectorSettings, name: str) -> tuple[int, int]:
    """Least and greatest value that a setting's constraints name."""
    least, greatest = 0, 0xFFFF
    for each in type(settings).model_fields[name].metadata:
        least = getattr(each, "ge", least)
        greatest = getattr(each, "le", greatest)
    return least, greatest


def _class(left: list[int], tables: Mapping[int, Plain]) -> tuple[list[int], list[Path]]:
    """Values whose tables differ from those of the first only where its number stands."""
    first = left[0]
    for other in left[1:]:
        paths = _places(tables[first], tables[other], first, other)
        if paths is not None:
            alike = [
                value
                for value in left[1:]
                if _places(tables[first], tables[value], first, value) == paths
            ]
            return [first, *alike], paths
    return [first], []


def _places(one: Any, two: Any, first: int, second: int) -> list[Path] | None:
    """Paths at which two trees have their own number; None when they differ in another way."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        pairs = [(key, one[key], two[key]) for key in one]
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = [(at + 1, one[at], two[at]) for at in range(len(one))]
    elif one == two:
        return []
    else:
        return [[]] if one == first and two == second else None
    found: list[Path] = []
    for key, left, right in pairs:
        inner = [] if left == right else _places(left, right, first, second)
        if inner is None:
            return None
        found += [[key, *path] for path in inner]
    return found


def _patch(base: Plain, table: Plain) -> Plain:
    """Entries of the tables that differ from the base: part → name → what stands there instead.

    What only leads to Wireshark's own headers is left to Wireshark's own preferences.
    """
    found: Plain = {}
    ours = base["headers"].keys() | table["headers"].keys()
    for part, entries in table.items():
        told = partial(_ours, ours=ours if part == "edges" else None)
        if isinstance(entries, dict):
            changed = {
                name: each
                for name, each in entries.items()
                if told(base[part].get(name)) != told(each)
            }
            if changed and part != "lists":
                found[part] = changed
        elif entries != base[part]:
            found[part] = entries
    return found


def _ours(entries: Any, ours: set[str] | None) -> Any:
    """Edges that lead to a header of ours; all else as it is."""
    return entries if ours is None else [each for each in entries or () if each[-1] in ours]
