"""Wire formats as data: a header is a table of fields, read by every reader of the house.

Offsets are never written down, they follow from the widths; a header that does not fill whole
octets is refused when it is imported. The same table is read by the compiled walk (production), by
`collector.scalar` (one frame, plainly), by `pack` (test and demo traffic), by the Wireshark
dissectors and by the reference page.

A column whose name begins with an underscore steers the walk and is kept in no observation.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collector.wire.place import OCTET, WORD_LIMIT, Field, Place, places


@dataclass(frozen=True, slots=True)
class Length:
    """Octets: `value * unit + add`; with `flags`, `popcount(value & flags) * unit + add`.

    The value is that of the header's own `field`, or of a `column` that an earlier header wrote. An
    extent whose value is `open` says nothing: offloads leave zero for the network card to fill in.
    """

    field: str = ""
    unit: int = 1
    add: int = 0
    flags: int = 0
    column: str = ""
    open: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """`low <= field <= high`, else the frame ends with `reason`.

    Without a reason the header is not what it seemed: `Header.otherwise` is tried in its place, and
    if there is none, what lies here is payload (or an option to skip).
    """

    field: str
    low: int
    high: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Branch:
    """When `column & mask == value`, `to` follows, or what `space` has for the column `select`.

    With `divides`, a column, it has to be at least `value`, and what is over a multiple of that.
    """

    column: str
    mask: int
    value: int
    to: str | None = None
    select: str | None = None
    space: str | None = None
    divides: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Fields of a record: those of one instruction bit, or those of records of one key.

    Bit 0 is the most significant. A part whose octets are not fixed takes `words` more, a field of
    its own that counts four octets each (the opaque state snapshot of IOAM).
    """

    bit: int
    fields: tuple[Field, ...]
    words: str = ""

    def __post_init__(self) -> None:
        """Refuse a part that no reader could find the end of."""
        if sum(field.bits for field in self.fields) % OCTET:
            raise ValueError(f"part {self.bit}: fields do not fill whole octets")

    @property
    def octets(self) -> int:
        """Octets that this part takes in a record, without those that `words` counts."""
        return sum(field.bits for field in self.fields) // OCTET


@dataclass(frozen=True, slots=True)
class Records:
    """A stack of records behind a header (`start` None) or from octet `start` of the header on.

    - `bitmap`: columns, `bits` in all, whose set bits name the parts of every record, in the order
      of `parts`; with `key` instead, a field at the start of each record says which part it is;
      with
      neither, every record has all parts;
    - `stride`: column with the words (four octets) of a record, without those that `Part.words`
      counts; None: the sum of its parts. A stride shorter than the parts ends with `reason`;
    - the stack takes `total` (a column) times `unit` plus `add` octets, less `skip` (a column)
      words
      of free space that lie in front; or it has `count` (a column) records; or exactly one;
    - `slots`: records lie in a ring of so many, the oldest behind the newest once it is full;
    - `bottom`: fields behind the oldest record that belong to none;
    - `tail`: (column, mask): when it is set, the stack ends where the frame ends;
    - `newest_first` stacks are turned round, so that hop 0 is nearest the sender;
    - `per_hop`: each record is a hop; else the record's columns are the frame's own;
    - `exact`: a stride longer than the parts ends with `reason` as well;
    - `mismatch`: column that takes the stride where it is not the sum of the parts;
    - `whole`: where the lengths contradict each other, the records that were found before are kept.
    """

    parts: tuple[Part, ...]
    reason: str
    bitmap: tuple[str, ...] = ()
    bits: int = 0
    key: Field | None = None
    stride: str | None = None
    total: str | None = None
    unit: int = 4
    add: int = 0
    skip: str | None = None
    count: str | None = None
    slots: int = 0
    start: int | None = None
    bottom: tuple[Field, ...] = ()
    tail: tuple[str, int] | None = None
    newest_first: bool = True
    per_hop: bool = True
    whole: bool = False
    exact: bool = False
    mismatch: str | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """A header: its picture is the module docstring, its fields the table, its rules the rest.

    - `length`: octets when they are not fixed; `extent`: octets of the header and all it carries;
      `trailer`: octets at the end of what it carries that are no payload;
    - `peek`: the fields are looked at, and what follows starts at the same octet;
    - `next`: (field, number space) that names what follows; `to` follows when no branch and no
      space says more; `otherwise` is tried in this header's place when a check without reason
      fails;
    - `short`: how a frame ends that was sent too short for the fields, however much was captured;
    - `options`: (number space, style) of the type-length-value list between the fields, or octet
      `options_at`, and the end of `length`; styles are those of `collector.wire.style`;
    - `again`: another header of that name starts where this one's extent ends, in a row of its own,
      to which the columns of `inherited` headers are handed on; no extent reaches beyond what holds
      them all;
    - `remainder`: columns for the octets of an option behind its fields and records: the first
      eight
      as a number (not written when there are none), and how many there are;
    - `marks`: constants for columns; `envelope`: "mirror" forgets all that was read before, "flow"
      starts a flow's own layers (addresses) anew;
    - `layer`: its bit in the column `layers`; by default the one of its name, if that has one.
    """

    name: str
    source: str
    fields: tuple[Field, ...]
    doc: str = ""
    length: Length | None = None
    extent: Length | None = None
    trailer: Length | None = None
    checks: tuple[Check, ...] = ()
    peek: bool = False
    next: tuple[str, str] | None = None
    to: str | None = None
    otherwise: str | None = None
    branches: tuple[Branch, ...] = ()
    short: str = "truncated"
    options: tuple[str, str] | None = None
    options_at: Length | None = None
    records: Records | None = None
    again: str | None = None
    inherited: bool = False
    remainder: tuple[str, str] | None = None
    marks: tuple[tuple[str, int], ...] = ()
    envelope: str | None = None
    layer: str = ""

    def __post_init__(self) -> None:
        """Refuse a table that no reader could read."""
        if sum(field.bits for field in self.fields) % OCTET:
            raise ValueError(f"{self.name}: fields do not fill whole octets")
        for place in places(self.name, self.fields):
            if place.octets > WORD_LIMIT:
                raise ValueError(
                    f"{self.name}.{place.field.name}: spans more than {WORD_LIMIT} octets"
                )

    @property
    def octets(self) -> int:
        """Octets of the fixed fields."""
        return sum(field.bits for field in self.fields) // OCTET

    def places(self) -> list[Place]:
        """Where each field lies."""
        return places(self.name, self.fields)

    def pack(self, rows: int, values: Mapping[str, object]) -> NDArray[np.uint8]:
        """Octets of `rows` headers, shape [rows, octets]; a value is a number or an array."""
        return pack(self.name, self.fields, rows, values)

    def unpack(self, octets: bytes) -> dict[str, int]:
        """Fields of one header, read plainly; the oracle of the compiled walk."""
        return {place.field.name: place.read(octets) for place in self.places()}


def offsets(fields: tuple[Field, ...]) -> list[tuple[Field, int]]:
    """Fields with the bit offset at which each starts, in the order of the table."""
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
    for place in places(name, fields):
        field = place.field
        value = np.asarray(values.get(field.name, 0)).astype(np.uint64)
        if field.bits < OCTET * WORD_LIMIT and (value >> np.uint64(field.bits)).any():
            raise ValueError(f"{name}.{field.name}: value does not fit {field.bits} bits")
        value = value << np.uint64(place.low)
        for position in place.rising():
            octets[:, position] |= (value & np.uint64(0xFF)).astype(np.uint8)
            value = value >> np.uint64(OCTET)
    return octets
