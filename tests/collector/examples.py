"""The worked examples of the documentation, and tables with one width or one place changed."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from generate import PROFILES

from collector import CollectorSettings, Header, headers
from collector.wire.place import Field

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples"
STEPS = (1, -1, 8, -8)


@dataclass(frozen=True)
class Example:
    """One header's own fields: octets, and what they say; `parts` likewise of its records."""

    octets: bytes
    fields: dict[str, int]
    settings: dict[str, Any] = field(default_factory=dict)
    parts: tuple[tuple[int, bytes, dict[str, int]], ...] = ()


@dataclass(frozen=True)
class Shown:
    """A whole frame, and the columns that it shows, row by row."""

    about: str
    octets: bytes
    settings: dict[str, Any]
    link: int
    rows: tuple[dict[str, Any], ...]
    reason: str


@cache
def documents() -> dict[str, dict[str, Any]]:
    """Every file of examples by its module."""
    return {path.stem: tomllib.loads(path.read_text()) for path in sorted(FOLDER.glob("*.toml"))}


@cache
def tables(settings: str = "{}") -> dict[str, Header]:
    """Headers by name under some settings, as JSON."""
    chosen = CollectorSettings.model_validate(json.loads(settings))
    return {header.name: header for header in headers(chosen)}


@cache
def every_table() -> dict[str, Header]:
    """Every header, each as the first profile has it that has it at all."""
    found: dict[str, Header] = {}
    for profile in PROFILES:
        chosen = CollectorSettings.model_validate(profile)
        found = {header.name: header for header in headers(chosen)} | found
    return found


def examples() -> dict[str, Example]:
    """The example of each header."""
    found = {}
    for document in documents().values():
        for name, told in document.items():
            if name != "frame":
                parts = tuple(
                    (part["bit"], bytes.fromhex(part["octets"]), part["fields"])
                    for part in told.get("part", ())
                )
                octets, settings = bytes.fromhex(told["octets"]), told.get("settings", {})
                found[name] = Example(octets, told["fields"], settings, parts)
    return found


def table(name: str, example: Example) -> Header:
    """The table that an example is about."""
    if example.settings:
        return tables(json.dumps(example.settings))[name]
    return tables().get(name) or every_table()[name]


def frames() -> dict[str, Shown]:
    """Every whole frame by what it is about."""
    found = {}
    for module, document in documents().items():
        for told in document.get("frame", ()):
            columns = told.get("columns", {})
            rows = tuple(columns) if isinstance(columns, list) else (columns,)
            found[f"{module}: {told['about']}"] = Shown(
                told["about"], bytes.fromhex(told["octets"]), told.get("settings", {}),
                told.get("link", 1), rows, told.get("reason", ""),
            )  # fmt: skip
    return found


def changed(fields: tuple[Field, ...]) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """The same fields with one width changed, with two that compensate, with two that swapped."""
    for at, own in enumerate(fields):
        for step in STEPS:
            if own.bits + step > 0:
                wider = replace(own, bits=own.bits + step)
                yield f"{own.name}{step:+}", (*fields[:at], wider, *fields[at + 1 :])
                if at + 1 < len(fields) and fields[at + 1].bits > step:
                    other = replace(fields[at + 1], bits=fields[at + 1].bits - step)
                    name = f"{own.name}{step:+}, {other.name}{-step:+}"
                    yield name, (*fields[:at], wider, other, *fields[at + 2 :])
        if at + 1 < len(fields):
            name = f"{own.name} and {fields[at + 1].name} swapped"
            yield name, (*fields[:at], fields[at + 1], own, *fields[at + 2 :])
