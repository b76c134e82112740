"""Fields, and where each lies: which octets, which bits of them, in which byte order."""

from collections.abc import Iterator
from dataclasses import dataclass

OCTET = 8
WORD_LIMIT = 8
"""A field may span at most this many octets, so that it is read into one 64-bit word."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field, most significant bit first.

    `column` names the column of the walk that keeps the value (None: not kept); `plus` is added to
    it, as when an IPv4 address becomes an IPv4-mapped one. With `little`, the field lies in a
    little-endian word of so many octets, whose fields are listed from the least significant bit.
    """

    name: str
    bits: int
    doc: str = ""
    column: str | None = None
    plus: int = 0
    little: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field lies: in `octets` octets from `octet` on, `low` bits above the lowest one."""

    field: Field
    octet: int
    octets: int
    low: int

    @property
    def mask(self) -> int:
        """The field's bits, at the bottom of a word."""
        return (1 << self.field.bits) - 1

    @property
    def order(self) -> str:
        """Byte order, as `int.from_bytes` takes it."""
        return "little" if self.field.little else "big"

    def rising(self) -> Iterator[int]:
        """Octets from the one with the lowest bits to the one with the highest."""
        positions = range(self.octet, self.octet + self.octets)
        return iter(positions if self.field.little else reversed(positions))

    def read(self, octets: bytes, at: int = 0) -> int:
        """Value of the field of a table that starts at octet `at`."""
        start = at + self.octet
        word = int.from_bytes(
            octets[start : start + self.octets], "little" if self.field.little else "big"
        )
        return word >> self.low & self.mask


def places(name: str, fields: tuple[Field, ...]) -> list[Place]:
    """Where each field of a table lies.

    Raises ValueError when the fields of a little-endian word do not fill it.
    """
    found: list[Place] = []
    bit, word, filled = 0, 0, 0
    for field in fields:
        if filled and field.little != word:
            raise ValueError(f"{name}.{field.name}: a little-endian word before it is not full")
        if field.little:
            start = (bit - filled) // OCTET
            if (bit - filled) % OCTET or filled + field.bits > field.little * OCTET:
                raise ValueError(f"{name}.{field.name}: leaves its little-endian word")
            found.append(Place(field, start, field.little, filled))
            word, filled = field.little, filled + field.bits
            if filled == word * OCTET:
                word = filled = 0
        else:
            first, last = bit // OCTET, (bit + field.bits + OCTET - 1) // OCTET
            found.append(Place(field, first, last - first, last * OCTET - bit - field.bits))
        bit += field.bits
    if filled:
        raise ValueError(f"{name}: its last little-endian word is not full")
    return found
