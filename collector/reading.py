"""A reading: what one frame, or one report inside it, says to the plain reader."""

from dataclasses import dataclass, field

from collector.status import STATUS

MOST_ROWS = 256
"""Rows that one frame can give, by headers that occur again."""


@dataclass
class Reading:
    """What one frame (or one report inside it) says, raw.

    `columns` by the names of the tables, `hops` likewise (hop 0 nearest the sender), `layers` the
    names of the headers with their first octets, `rest` where another row begins: (octet, header,
    octet where what holds it ends); `inherited` is handed on to that row, `handed` was to this one,
    which `inherits` it unless its own headers say the like; `more`: something begins behind that is
    not read.
    """

    columns: dict[str, int] = field(default_factory=dict)
    hops: list[dict[str, int]] = field(default_factory=list)
    headers: list[tuple[str, int]] = field(default_factory=list)
    layers: int = 0
    status: int = 0
    payload_bytes: int = 0
    rest: tuple[int, str, int] | None = None
    owners: dict[str, str] = field(default_factory=dict)
    inherited: dict[str, int] = field(default_factory=dict)
    handed: dict[str, int] = field(default_factory=dict)
    inherits: bool = True
    more: bool = False
    steering: dict[str, int] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Name of the status."""
        return STATUS[self.status][0]

    def end_with(self, status: int) -> None:
        """How the frame ends, unless something inside a header is noted already."""
        self.status = self.status or status

    def row(self) -> dict[str, int]:
        """The columns of a row of the walk, hops as `h0_...`."""
        row = ((self.inherited or self.handed) if self.inherits else {}) | self.columns
        for at, hop in enumerate(self.hops):
            row |= {f"h{at}_{name}": value for name, value in hop.items()}
        kept = {"payload_bytes": self.payload_bytes, "layers": self.layers}
        return row | kept | {"hop_count": len(self.hops)}
