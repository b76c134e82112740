"""The reference page of the wire formats."""

import inspect
from collections.abc import Iterator
from types import ModuleType

from markdown_text import code, table, title

from collector.carriers import edges, headers, option_edges
from collector.settings import CollectorSettings
from collector.wire import aecn, csig, inband, ip, link, transport, tunnel
from collector.wire.table import Field, Header, offsets


def wire_formats() -> Iterator[str]:
    """Every header that is read, with the picture of its document."""
    settings = CollectorSettings()
    chapters: dict[ModuleType, tuple[Header, ...]] = {
        link: link.HEADERS,
        ip: ip.HEADERS,
        transport: transport.HEADERS,
        tunnel: tunnel.HEADERS,
        csig: csig.tags("draft") + csig.reflections("draft", settings.csig_echo_exid),
        inband: inband.headers(settings.int_domain),
        aecn: (aecn.option(settings.aecn_numbering),),
    }
    shown = {header.name for chapter in chapters.values() for header in chapter}
    assert shown == {header.name for header in headers(settings)}, "a header has no chapter"
    yield title(
        "Wire formats",
        "Every header that the walk reads, as its table says it, under default settings. Offsets "
        "and widths are in bits. A field with a column is kept.",
    )
    for module, chapter in chapters.items():
        heading, _, picture = (inspect.getdoc(module) or "").partition("\n")
        yield f"## {heading.rstrip('.')}\n"
        yield f"```\n{picture.strip(chr(10))}\n```\n"
        for header in chapter:
            yield from header_section(header)
    yield "## Which header follows which\n"
    yield "A number that is not listed is payload, or ends the frame by a named reason.\n"
    yield table(("space", "number", "header"), follows(settings))


def follows(settings: CollectorSettings) -> Iterator[tuple[str, str, str]]:
    """The edges between headers: number space, number, header."""
    for space, numbers in edges(settings).items():
        for number, name in sorted(numbers.items()):
            shown = f"0x{number:04x}" if space == "ethertype" else str(number)
            yield code(space), shown, code(name)
    for space, kinds in option_edges(settings).items():
        for (kind, octets), name in sorted(kinds.items()):
            yield code(space), f"{kind}, {octets or 'any'} octets", code(name)


def header_section(header: Header) -> Iterator[str]:
    """One header: sentence, source, fields, and the records behind it."""
    yield f"### {header.name}\n"
    yield f"{header.doc} Source: {header.source}.\n"
    yield field_table(header.fields)
    if header.records:
        yield "Behind it, for each hop, what the instruction bits name:\n"
        yield table(
            ("bit", "field", "width", "meaning", "column"),
            (
                (part.bit, code(each.name), each.bits, each.doc, code(each.column))
                for part in header.records.parts
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
