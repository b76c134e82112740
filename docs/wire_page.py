"""The reference pages of the wire formats: one a module of tables, and a list of them."""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType

from markdown_text import code, shortened, table, title
from wire_carrier import leading
from wire_example import FRAMES, document, frame_example, header_example
from wire_rule import recorded, rules

from collector import telemetry
from collector.carriers import FORMATS, headers
from collector.settings import CollectorSettings
from collector.status import STATUS
from collector.wire.table import Field, Header, Records, offsets

SETTINGS = CollectorSettings()


def wire_pages() -> dict[str, Callable[[], Iterator[str]]]:
    """Pages by name."""
    pages: dict[str, Callable[[], Iterator[str]]] = {"wire/index": index}
    for form in FORMATS:
        pages[f"wire/{module_name(form)}"] = lambda form=form: page(form)
    return pages


def module_name(form: ModuleType) -> str:
    """Last part of a module's name."""
    return form.__name__.rpartition(".")[2]


def heading(form: ModuleType) -> tuple[str, str]:
    """First sentence of a module's docstring, and the rest with its picture."""
    first, _, rest = (inspect.getdoc(form) or "").partition("\n")
    return first.rstrip("."), rest.strip("\n")


def index() -> Iterator[str]:
    """Every format with its page."""
    yield title(
        "Wire formats",
        "Every header that is read, a page a format, as its table says it under default settings. "
        "The walk, the plain reader, the Wireshark dissectors and these pages read one table.",
    )
    yield table(
        ("format", "page", "headers"),
        (
            (
                heading(form)[0],
                f"[{module_name(form)}]({module_name(form)}.md)",
                ", ".join(map(code, tables(form))),
            )
            for form in FORMATS
        ),
    )


def page(form: ModuleType) -> Iterator[str]:
    """One format: picture, headers, what leads to them, settings, examples."""
    name, rest = heading(form)
    yield title(
        name, f"Tables: `collector/wire/{module_name(form)}.py`. Offsets and widths are in bits."
    )
    yield f"```\n{rest}\n```\n"
    examples = document(module_name(form))
    for header in tables(form).values():
        yield from header_section(header)
        if header.name in examples:
            yield from header_example(header, examples[header.name])
    yield from recognised(form)
    yield from settings_of(form)
    frames = examples.get(FRAMES, ())
    if frames:
        yield "## Whole frames\n"
    for told in frames:
        yield from frame_example(told)


@cache
def known() -> dict[str, Header]:
    """Every header under default settings, linked as the walk has them."""
    return {header.name: header for header in headers(SETTINGS)}


@cache
def tables(form: ModuleType) -> dict[str, Header]:
    """Headers of a format under default settings, and those that an example's settings bring."""
    found = {header.name: known()[header.name] for header in form.headers(SETTINGS)}
    for name, told in document(module_name(form)).items():
        if name != FRAMES and name not in found:
            chosen = CollectorSettings.model_validate(told.get("settings", {}))
            found |= {each.name: each for each in form.headers(chosen) if each.name == name}
    return found


def header_section(header: Header) -> Iterator[str]:
    """One header: sentence, source, fields, rules, and the records behind it."""
    yield f"## {header.name}\n"
    yield f"{header.doc} Source: {header.source}.\n".lstrip()
    if header.fields:
        yield field_table(header.fields)
    lines = [f"- {sentence}" for sentence in rules(header)]
    if lines:
        yield "\n".join(lines) + "\n"
    if header.records:
        yield from record_section(header.records)


def record_section(records: Records) -> Iterator[str]:
    """The records behind a header."""
    yield "Records behind it: " + " ".join(recorded(records)) + "\n"
    yield table(
        ("part", "field", "width", "meaning", "column"),
        (
            (part.bit, code(each.name), each.bits, each.doc, code(each.column))
            for part in records.parts
            for each in part.fields
        ),
    )


def field_table(fields: tuple[Field, ...]) -> str:
    """Fields with their offsets."""
    return table(
        ("offset", "width", "field", "meaning", "column"),
        (
            (offset, field.bits, code(field.name), field.doc, code(field.column))
            for field, offset in offsets(fields)
        ),
    )


def recognised(form: ModuleType) -> Iterator[str]:
    """Which numbers lead here, and what numbers that are not listed mean."""
    yield "## Where it is recognised\n"
    ways = [*leading(tables(form), known().values(), SETTINGS)]
    if ways:
        yield table(("in", "number or condition", "header"), ways)
    else:
        yield "Only where a setting says so, see below.\n"
    spaces: dict[str, int] = getattr(form, "SPACES", {})
    if spaces:
        yield "Numbers that no format lists:\n"
        yield table(
            ("space", "mean"),
            (
                (code(name), f"the frame ends with {code(STATUS[-end][0])}" if end else "payload")
                for name, end in spaces.items()
            ),
        )


def settings_of(form: ModuleType) -> Iterator[str]:
    """Settings that the format's tables or its units ask for."""
    meaning = getattr(telemetry, module_name(form), None)
    text = inspect.getsource(form) + (inspect.getsource(meaning) if meaning else "")
    asked = set(re.findall(r"settings\.([a-z_0-9]+)", text))
    fields = CollectorSettings.model_fields
    names = [name for name in fields if name in asked]
    if names:
        yield "## Settings\n"
        yield table(
            ("setting", "default", "meaning"),
            (
                (
                    code(f"collector.{name}"),
                    code(shortened(getattr(SETTINGS, name))),
                    fields[name].description,
                )
                for name in names
            ),
        )
