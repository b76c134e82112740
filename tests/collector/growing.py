"""A frame that is not whole yet, and how a field is written into it."""

from dataclasses import dataclass, field

from collector import Header
from collector.wire.place import Place


def put(octets: bytearray, at: int, place: Place, value: int) -> None:
    """Write one field, as `Place.read` reads it."""
    start = at + place.octet
    word = int.from_bytes(octets[start : start + place.octets], place.order)  # type: ignore[arg-type]  # big or little
    word = word & ~(place.mask << place.low) | (value & place.mask) << place.low
    octets[start : start + place.octets] = word.to_bytes(place.octets, place.order)  # type: ignore[arg-type]  # the same


@dataclass
class Growing:
    """A frame that is not whole yet.

    `written` says where each steering column stands, `pending` what must be done when the frame
    ends: (octet, header) whose extent is to be written, or octets to put behind. `starts` and
    `names` are its headers, `points` octets with their bits that lead a reader.
    """

    octets: bytearray = field(default_factory=bytearray)
    steering: dict[str, int] = field(default_factory=dict)
    written: dict[str, tuple[int, Place]] = field(default_factory=dict)
    pending: list[tuple[int, Header] | bytes] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    points: list[tuple[int, int]] = field(default_factory=list)
    tailed: bool = False
    link: int = 1

    def write(self, at: int, place: Place, value: int) -> None:
        """Put a field's value where it stands, and where it steers."""
        put(self.octets, at, place, value)
        if place.field.column:
            self.steering[place.field.column] = value & place.mask | place.field.plus

    def correct(self, column: str | None, value: int) -> None:
        """Change a column where it was written, if an octet holds it."""
        if column in self.written:
            self.write(*self.written[column], value)
