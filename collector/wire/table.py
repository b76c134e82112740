"""Wire formats as data: a header is a table of fields, read by every reader of the house.

Offsets are never written down, they follow from the widths; a header that does not fill whole
octets is refused when it is imported. The same table is read by the compiled walk (production), by
`unpack` (the plain oracle of the tests), by `pack` (test and demo traffic) and by the reference
page.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OCTET = 8
WORD_LIMIT = 8
"""A field may span at most this many octets, so that it is read into one 64-bit word."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field, most significant bit first.

    `column` names the column of the walk that keeps the value (None: not kept); `plus` is added to
    it, as when an IPv4 address becomes an IPv4-mapped one.
    """

    name: str
    bits: int
    doc: str = ""
    column: str | None = None
    plus: int = 0


@dataclass(frozen=True, slots=True)
class Length:
    """Octets: `value * unit + add`; with `flags`, `popcount(value & flags) * unit + add`."""

    field: str
    unit: int
    add: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """`low <= field <= high`, else the frame ends with `reason` (None: this header is skipped)."""

    field: str
    low: int
    high: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Branch:
    """When `column & mask == value`, `to` follows, or what `space` has for `select`."""

    column: str
    mask: int
    value: int
    to: str | None = None
    select: str | None = None
    space: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What one bit of an instruction bitmap adds to a record; bit 0 is the most significant."""

    bit: int
    fields: tuple[Field, ...]

    @property
    def octets(self) -> int:
        """Octets that this part takes in a record."""
        return sum(field.bits for field in self.fields) // OCTET


@dataclass(frozen=True, slots=True)
class Records:
    """A stack of equal records behind a header, each made of the parts that a bitmap names.

    The bitmap is `bitmap[0] << width | bitmap[1]...` over `bits` bits. A record takes `stride`
    (column) times four octets, or the sum of its parts when `stride` is None. The stack takes
    `total` (column) times `unit` plus `add` octets; None means exactly one record. `newest_first`
    stacks are turned round, so that hop 0 is nearest the sender.
    """

    bitmap: tuple[str, ...]
    bits: int
    parts: tuple[Part, ...]
    reason: str
    stride: str | None = None
    total: str | None = None
    unit: int = 4
    add: int = 0
    newest_first: bool = True
    per_hop: bool = True


@dataclass(frozen=True, slots=True)
class Header:
    """A header: its picture is the module docstring, its fields the table, its rules the rest.

    - `length`: octets when they are not fixed; `extent`: octets of the header and all it carries;
    - `next`: (field, number space) that names what follows; the field "" is the first nibble behind
      the header; `to` is what follows when no space or branch says more;
    - `options`: (number space, style) of the type-length-value list between the fields and
      `length`;
    - `marks`: constants for columns; `envelope`: "mirror" forgets all that was read before, "flow"
      starts a flow's own layers (addresses) anew.
    """

    name: str
    source: str
    fields: tuple[Field, ...]
    doc: str = ""
    length: Length | None = None
    extent: Length | None = None
    checks: tuple[Check, ...] = ()
    next: tuple[str, str] | None = None
    to: str | None = None
    branches: tuple[Branch, ...] = ()
    options: tuple[str, str] | None = None
    records: Records | None = None
    marks: tuple[tuple[str, int], ...] = ()
    envelope: str | None = None

    def __post_init__(self) -> None:
        """Refuse a table that no reader could read."""
        if sum(field.bits for field in self.fields) % OCTET:
            raise ValueError(f"{self.name}: fields do not fill whole octets")
        for field, offset in self.offsets():
            if (offset % OCTET + field.bits + OCTET - 1) // OCTET > WORD_LIMIT:
                raise ValueError(f"{self.name}.{field.name}: spans more than {WORD_LIMIT} octets")

    @property
    def octets(self) -> int:
        """Octets of the fixed fields."""
        return sum(field.bits for field in self.fields) // OCTET

    def offsets(self) -> list[tuple[Field, int]]:
        """Fields with the bit offset at which each starts."""
        return offsets(self.fields)

    def pack(self, rows: int, values: Mapping[str, object]) -> NDArray[np.uint8]:
        """Octets of `rows` headers, shape [rows, octets]; a value is a number or an array."""
        return pack(self.name, self.fields, rows, values)

    def unpack(self, octets: bytes) -> dict[str, int]:
        """Fields of one header, read plainly; the oracle of the compiled walk."""
        whole = int.from_bytes(octets[: self.octets], "big")
        total = self.octets * OCTET
        return {
            field.name: whole >> (total - offset - field.bits) & ((1 << field.bits) - 1)
            for field, offset in self.offsets()
        }


def offsets(fields: tuple[Field, ...]) -> list[tuple[Field, int]]:
    """Fields with the bit offset at which each starts."""
    starts = np.cumsum([0, *(field.bits for field in fields)])
    return [(field, int(start)) for field, start in zip(fields, starts, strict=False)]


def pack(
    name: str, fields: tuple[Field, ...], rows: int, values: Mapping[str, object]
) -> NDArray[np.uint8]:
    """Octets of `rows` field lists, shape [rows, octets]. Unnamed fields are zero.

    Raises ValueError when a value names no field or does not fit its width.
    """
    unknown = set(values) - {field.name for field in fields}
    if unknown:
        raise ValueError(f"{name}: no field {min(unknown)}")
    octets = np.zeros((rows, sum(field.bits for field in fields) // OCTET), np.uint8)
    for field, offset in offsets(fields):
        value = np.asarray(values.get(field.name, 0)).astype(np.uint64)
        if field.bits < OCTET * WORD_LIMIT and (value >> np.uint64(field.bits)).any():
            raise ValueError(f"{name}.{field.name}: value does not fit {field.bits} bits")
        first, last = offset // OCTET, (offset + field.bits - 1) // OCTET
        value = value << np.uint64((last + 1) * OCTET - offset - field.bits)
        for position in range(last, first - 1, -1):
            octets[:, position] |= (value & np.uint64(0xFF)).astype(np.uint8)
            value = value >> np.uint64(OCTET)
    return octets
