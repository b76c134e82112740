"""The documentation's examples say what the tables say, and notice every width that changes."""

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cache

import pytest
from examples import Example, Shown, changed, every_table, examples, frames, table
from growing import put
from octets import frames_of

from collector import CollectorSettings, Decoder, Header
from collector.scalar import Scalar
from collector.wire.place import Field, places
from collector.wire.table import Records

EXAMPLES = examples()
FRAMES = frames()
GROWN_BY_SETTINGS = ("gre_key_", "gre_mirror_", "vxlan_vni_", "vxlan_gpe_vni_", "geneve_vni_")
"""Headers that a setting's numbers name: one of each kind is enough."""


def kind(name: str) -> str:
    """A header's name without the number that a setting gave it."""
    return next((start for start in GROWN_BY_SETTINGS if name.startswith(start)), name)


def test_every_header_has_an_example() -> None:
    shown = {kind(name) for name in EXAMPLES}
    bare = {
        name for name, header in every_table().items()
        if header.fields and kind(name) not in shown
    }  # fmt: skip
    assert bare == set()
    assert set(EXAMPLES) <= set(every_table())


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_unpacked_and_packed(name: str) -> None:
    example = EXAMPLES[name]
    header = table(name, example)
    assert header.unpack(example.octets) == example.fields
    assert header.pack(1, example.fields).tobytes() == example.octets
    for bit, octets, fields in example.parts:
        assert read(records_of(header), bit, octets) == fields


@pytest.mark.parametrize("about", FRAMES)
def test_a_frame_shows_its_columns(about: str) -> None:
    shown = FRAMES[about]
    decoder = Decoder(CollectorSettings.model_validate(shown.settings))
    rows = decoder.decode(frames_of([shown.octets], shown.link), ["tap"], "docs").to_dicts()
    assert decoder.accounting.reasons == ({shown.reason: 1} if shown.reason else {})
    assert len(rows) >= len([row for row in shown.rows if row])
    for row, columns in zip(rows, shown.rows, strict=False):
        found = {name: row.get(name) for name in columns}
        assert found == {name: loose(value) for name, value in columns.items()}


def loose(value: object) -> object:
    """Whole numbers and texts as they are; others nearly."""
    return pytest.approx(value) if isinstance(value, float) else value


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_notices_every_change_of_a_width(name: str) -> None:
    example = EXAMPLES[name]
    header = table(name, example)
    unseen = [
        change for change, fields in changed(header.fields)
        if not noticed(header, fields, example)
    ]  # fmt: skip
    assert unseen == []


def noticed(header: Header, fields: tuple[Field, ...], example: Example) -> bool:
    """Whether the example tells a changed table from the right one."""
    try:
        other = replace(header, fields=fields)
    except ValueError:
        return True
    return len(example.octets) != other.octets or any(
        other.unpack(octets) != values for octets, values in turned(header, example)
    )


def turned(header: Header, example: Example) -> Iterator[tuple[bytes, dict[str, int]]]:
    """The example; then with each field turned over that a check pins to one value."""
    yield example.octets, example.fields
    pinned = {check.field for check in header.checks if check.low == check.high}
    for place in header.places():
        name = place.field.name
        if name in pinned:
            value = example.fields[name] ^ place.mask
            octets = bytearray(example.octets)
            put(octets, 0, place, value)
            yield bytes(octets), {**example.fields, name: value}


def records_of(header: Header) -> Records:
    """The records of a header that has some."""
    assert header.records is not None
    return header.records


def read(rule: Records, bit: int, octets: bytes) -> dict[str, int] | None:
    """The fields of one part of a record; none when the octets are not its own."""
    found = [part for part in rule.parts if part.bit == bit]
    if not found or found[0].octets != len(octets):
        return None
    told = places("part", found[0].fields)
    return {place.field.name: place.read(octets) for place in told}


def recast(rule: Records) -> Iterator[tuple[str, Records]]:
    """The same records with one change of a width, in a part, behind the records or in the key."""
    for at, part in enumerate(rule.parts):
        for change, fields in changed(part.fields):
            with suppress(ValueError):
                other = replace(part, fields=fields)
                parts = (*rule.parts[:at], other, *rule.parts[at + 1 :])
                yield f"{part.bit}: {change}", replace(rule, parts=parts)
    for change, fields in changed(rule.bottom):
        yield f"bottom: {change}", replace(rule, bottom=fields)
    for change, fields in changed((rule.key,) if rule.key else ()):
        yield f"key: {change}", replace(rule, key=fields[0])


@cache
def scalar(settings: str) -> Scalar:
    """A plain reader under some settings, as JSON."""
    return Scalar(CollectorSettings.model_validate(json.loads(settings)))


def reading(reader: Scalar, shown: Shown) -> list[tuple[int, dict[str, int]]] | str:
    """All that a frame says; a table that no reader could read is a text."""
    try:
        return [(row.status, row.row()) for row in reader.read(shown.octets, shown.link)]
    except ValueError as refused:
        return str(refused)


def meeting(name: str) -> list[tuple[Scalar, Shown]]:
    """Frames whose reader comes by a header."""
    found = []
    for shown in FRAMES.values():
        reader = scalar(json.dumps(shown.settings))
        rows = reader.read(shown.octets, shown.link)
        if any(name == each for row in rows for each, _ in row.headers):
            found.append((reader, shown))
    return found


def with_records(reader: Scalar, name: str, rule: Records) -> Scalar:
    """The same reader with other records in one table."""
    other = copy(reader)
    other.tables = {**reader.tables, name: replace(reader.tables[name], records=rule)}
    return other


RECORDS = sorted(name for name, header in every_table().items() if header.records)


@pytest.mark.parametrize("name", RECORDS)
def test_examples_notice_every_change_of_a_width_in_records(name: str) -> None:
    example = EXAMPLES.get(name, Example(b"", {}))
    unseen = {
        change for change, rule in recast(records_of(table(name, example)))
        if all(read(rule, bit, octets) == fields for bit, octets, fields in example.parts)
    }  # fmt: skip
    for reader, shown in meeting(name):
        whole = reading(reader, shown)
        unseen -= {
            change for change, rule in recast(records_of(reader.tables[name]))
            if change in unseen and reading(with_records(reader, name, rule), shown) != whole
        }  # fmt: skip
    assert sorted(unseen) == []
