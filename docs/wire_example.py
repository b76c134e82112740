"""The worked examples of a format, printed field by field; a test decodes each of them."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markdown_text import code, table

from collector.wire.place import Field
from collector.wire.table import Header, offsets

FOLDER = Path(__file__).resolve().parent / "examples"
LINE = 16
GROUP = 2
FRAMES = "frame"


def document(module: str) -> dict[str, Any]:
    """Examples of a module of wire tables; none where its file is missing."""
    path = FOLDER / f"{module}.toml"
    return tomllib.loads(path.read_text()) if path.exists() else {}


def header_example(header: Header, told: Mapping[str, Any]) -> Iterator[str]:
    """One header's octets, and the value of every field."""
    octets = bytes.fromhex(told["octets"])
    if octets:
        yield f"Example: {code(words(octets))}{under(told)}\n"
        yield _valued(header.fields, told["fields"])
    for part in told.get("part", ()):
        fields = next(each.fields for each in header.records.parts if each.bit == part["bit"])  # type: ignore[union-attr] # examples of parts are of headers with records
        yield f"Part {part['bit']}: {code(words(bytes.fromhex(part['octets'])))}\n"
        yield _valued(fields, part["fields"])


def _valued(fields: tuple[Field, ...], values: Mapping[str, int]) -> str:
    """Fields with their values in an example."""
    rows = (
        (offset, field.bits, code(field.name), values[field.name], f"0x{values[field.name]:x}")
        for field, offset in offsets(fields)
        if field.name in values
    )
    return table(("offset", "width", "field", "value", "in hexadecimal"), rows)


def frame_example(told: Mapping[str, Any]) -> Iterator[str]:
    """A whole frame, and what an observation holds of it."""
    octets = bytes.fromhex(told["octets"])
    yield f"{told['about']}{under(told)}\n"
    lines = (octets[at : at + LINE] for at in range(0, len(octets), LINE))
    dump = "\n".join(f"{number * LINE:04x}  {words(line)}" for number, line in enumerate(lines))
    yield f"```\n{dump}\n```\n"
    columns = told.get("columns", {})
    for row in columns if isinstance(columns, list) else [columns]:
        if row:
            yield table(("column", "value"), ((code(name), value) for name, value in row.items()))
    if told.get("reason"):
        yield f"It ends with {code(told['reason'])}.\n"


def under(told: Mapping[str, Any]) -> str:
    """Settings and link type of an example, where they are not the default."""
    given = [f"{name} = {value}" for name, value in told.get("settings", {}).items()]
    if "link" in told:
        given.append(f"link type {told['link']}")
    return f" (with {', '.join(map(code, given))})" if given else ""


def words(octets: bytes) -> str:
    """Octets in groups."""
    return octets.hex(" ", GROUP) if len(octets) % GROUP == 0 else octets.hex(" ", -GROUP)
