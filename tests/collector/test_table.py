"""A wire table is one truth: what is changed in it changes what is packed, unpacked and walked."""

import random
from dataclasses import replace

import numpy as np
import pytest
from generate import PROFILES

from collector import CollectorSettings, Header, headers
from collector.carriers import edges, option_edges
from collector.wire.table import Field, Length, pack

TABLES = (*headers(CollectorSettings()), *headers(CollectorSettings(csig_layout="uec")))
ROWS = 50
WRITTEN = {
    "ipv4": ("version", 4, "ihl", 4, "dscp", 6, "ecn", 2, "total_length", 16, "id", 16, "flags", 3,
             "fragment_offset", 13, "ttl", 8, "protocol", 8, "checksum", 16, "source", 32,
             "destination", 32),
    "tcp": ("source_port", 16, "destination_port", 16, "seq", 32, "ack", 32, "data_offset", 4,
            "reserved", 3, "flags", 9, "window", 16, "checksum", 16, "urgent", 16),
    "csig_compact": ("t", 3, "r", 1, "s", 5, "lm", 7, "ethertype", 16),
    "csig_expanded": ("lm", 16, "t", 4, "s", 20, "r", 8, "ethertype", 16),
    "int_shim": ("type", 4, "npt", 2, "reserved", 2, "length", 8, "next", 16),
    "int_md": ("version", 4, "flags", 3, "reserved", 12, "hop_ml", 5, "remaining", 8, "bitmap", 16,
               "domain", 16, "domain_bitmap", 16, "domain_flags", 16),
    "aecn": ("option_type", 8, "option_length", 8, "flags", 8, "type", 24),
}  # fmt: skip
"""The documents' pictures once more, as names and widths."""


def table(name: str) -> Header:
    """The table of this name in the default settings."""
    return next(header for header in TABLES if header.name == name)


def by_hand(name: str, values: dict[str, int]) -> bytes:
    """Octets of a header by `WRITTEN`, as one string of bits."""
    picture = WRITTEN[name]
    bits = "".join(f"{values[str(picture[at])]:0{picture[at + 1]}b}"
                   for at in range(0, len(picture), 2))  # fmt: skip
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


@pytest.mark.parametrize("header", TABLES, ids=lambda header: header.name)
def test_rows_of_random_values_come_back(header: Header) -> None:
    draw = random.Random(header.name)
    values = {
        field.name: np.array([draw.getrandbits(field.bits) for _ in range(ROWS)], np.uint64)
        for field in header.fields
    }
    octets = header.pack(ROWS, values)
    assert octets.shape == (ROWS, header.octets)
    for row in range(ROWS):
        back = header.unpack(octets[row].tobytes())
        assert back == {name: int(column[row]) for name, column in values.items()}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_table_is_the_picture_of_its_document(name: str) -> None:
    draw = random.Random(name)
    values = {field.name: draw.getrandbits(field.bits) for field in table(name).fields}
    assert table(name).pack(1, values).tobytes() == by_hand(name, values)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_wrong_width_anywhere_is_noticed(name: str) -> None:
    """One bit moved from a field to its neighbour: refused, or other octets."""
    header = table(name)
    draw = random.Random(name)
    for at in range(len(header.fields) - 1):
        fields = list(header.fields)
        wide, narrow = fields[at], fields[at + 1]
        fields[at] = replace(wide, bits=wide.bits + 1)
        fields[at + 1] = replace(narrow, bits=narrow.bits - 1)
        values = {field.name: draw.getrandbits(field.bits) for field in fields}
        values[wide.name] |= 1
        values[narrow.name] = 0
        mutant = pack(name, tuple(fields), 1, values).tobytes()
        assert header.unpack(mutant) != values


@pytest.mark.parametrize("name", WRITTEN)
def test_a_table_that_does_not_fill_octets_is_refused(name: str) -> None:
    header = table(name)
    for at, field in enumerate(header.fields):
        fields = list(header.fields)
        fields[at] = replace(field, bits=field.bits + 1)
        with pytest.raises(ValueError, match="do not fill whole octets"):
            replace(header, fields=tuple(fields))


def test_a_field_that_no_word_holds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"odd\.b: spans more than 8 octets"):
        Header("odd", "nowhere", (Field("a", 4), Field("b", 64), Field("c", 4)))


def test_values_that_name_no_field_or_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="udp: no field sport"):
        table("udp").pack(1, {"sport": 1})
    with pytest.raises(ValueError, match=r"tcp\.flags: value does not fit 9 bits"):
        table("tcp").pack(2, {"flags": np.array([511, 512])})


def announced(settings: CollectorSettings) -> dict[str, set[str]]:
    """Headers that each header can announce; those of link types under an empty name."""
    spaces = {name: set(numbers.values()) for name, numbers in edges(settings).items()}
    options = {name: set(claims.values()) for name, claims in option_edges(settings).items()}
    found = {"": spaces["link_type"]}
    for header in headers(settings):
        to = {header.to, header.otherwise, header.again} | {each.to for each in header.branches}
        asked = {header.next[1] if header.next else "", *(str(b.space) for b in header.branches)}
        listed = options[header.options[0]] if header.options else set()
        found[header.name] = listed.union(
            (name for name in to if name), *(spaces.get(space, set()) for space in asked)
        )
    return found


def test_every_header_can_be_reached_and_every_announced_one_exists() -> None:
    missed: set[str] = set()
    met: set[str] = set()
    for profile in PROFILES:
        leads = announced(CollectorSettings.model_validate(profile))
        reached, ahead = set[str](), {""}
        while ahead:
            reached |= ahead
            ahead = set[str]().union(*(leads[name] for name in ahead)) - reached
        missed |= set(leads) - reached
        met |= reached
    assert missed - met == set()


@pytest.mark.parametrize("profile", range(len(PROFILES)))
def test_every_rule_names_a_field_or_a_column_that_is_written(profile: int) -> None:
    tables = headers(CollectorSettings.model_validate(PROFILES[profile]))
    names = [header.name for header in tables]
    assert len(set(names)) == len(names)
    columns = {field.column for header in tables for field in header.fields}
    columns |= {name for header in tables for name, _ in header.marks}
    for header in tables:
        fields = {field.name for field in header.fields}
        lengths = (header.length, header.extent, header.trailer, header.options_at)
        rules = [rule for rule in lengths if isinstance(rule, Length)]
        asked = {rule.field for rule in rules} | {check.field for check in header.checks}
        asked |= {header.next[0]} if header.next else set()
        assert asked - {""} <= fields, header.name
        steering = {rule.column for rule in rules} | {each.column for each in header.branches}
        steering |= {each.select or "" for each in header.branches}
        if (stack := header.records) is not None:
            steering |= {*stack.bitmap, stack.stride or "", stack.total or "", stack.count or "",
                         stack.skip or "", stack.tail[0] if stack.tail else ""}  # fmt: skip
        assert steering - {""} <= columns, header.name
