"""What partitions hand on as messages of a topic of its own, and back.

The topic has one partition, so all who hand something on are heard by one judge. What belongs to a
cut of one partition's messages goes as one or more pieces of at most 900 kB; each says of which
partition it is and of which offsets. A cut is worked on anew by whoever takes its partition over,
and gives the same pieces: what was heard before is dropped (`Pieces`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from collector import (
    MESSAGE_BYTES,
    Contents,
    Message,
    UnreadableError,
    digest,
    number_of,
    octets_of,
    rows_of,
    texts_of,
)
from pipeline.covered import Covered
from pipeline.handed import Handed
from pipeline.handed_check import ENDS, check
from pipeline.health.watched import COLUMNS as WATCHED
from pipeline.health.watched import Watched, shaped
from pipeline.intervals import FLOW_KEY, HOP_KEY
from pipeline.known_flows import no_flows
from pipeline.sums import Sums
from pipeline.tables import TABLES

VERSION = 4
"""Of what messages hold; it is part of the topic's name, and goes up with columns and headers."""
NEEDED: Mapping[str, Iterable[str]] = {
    "flows": ("flow", "last_ns", "unseen", *ENDS), "flow_intervals": FLOW_KEY,
    "hop_intervals": HOP_KEY, **WATCHED,
}  # fmt: skip
"""The tables, and the columns without which their rows say nothing."""
PLACE = ("partition", "partitions", "first", "last", "idle", "piece", "pieces")
NUMBERS = (*PLACE, "closed", "captured_from", "captured_to", *NEEDED)
"""Headers that are numbers; those of the tables tell their octets, one behind the other."""
MOST_PIECES = 10_000


class Piece(NamedTuple):
    """A part of what a partition, one of so many, hands on of the messages `first` to `last`.

    `idle` is 1 of what silence behind the last of them gave, without further messages.
    """

    partition: int
    partitions: int
    first: int
    last: int
    idle: int
    piece: int
    pieces: int
    handed: Handed

    @property
    def cut(self) -> tuple[int, ...]:
        """What all pieces of a cut have in common."""
        return self.partitions, self.first, self.last, self.idle, self.pieces


def messages(
    handed: Handed, partition: int, partitions: int, first: int, last: int, *, idle: bool = False
) -> list[Message]:
    """What is handed on of the messages `first` to `last` of a partition."""
    values = list(parts(handed))
    made: list[Message] = []
    for piece, tables in enumerate(values):
        value = b"".join(tables)
        told = (partition, partitions, first, last, int(idle), piece, len(values), handed.closed_ns,
                *handed.covered, *map(len, tables), digest(value))  # fmt: skip
        named = zip((*NUMBERS, "digest"), told, strict=True)
        made.append((0, value, [(name, str(each).encode()) for name, each in named]))
    return made


def parts(handed: Handed) -> Iterator[list[bytes]]:
    """The tables as octets, in as many parts as their size needs."""
    frames = frames_of(handed)
    made = [octets_of(frame) if frame.height else b"" for frame in frames]
    most = max(frame.height for frame in frames)
    if sum(map(len, made)) <= MESSAGE_BYTES or most <= 1:
        yield made
        return
    middle = [frame.height // 2 for frame in frames]
    for half in (
        [frame.head(at) for frame, at in zip(frames, middle, strict=True)],
        [frame.slice(at) for frame, at in zip(frames, middle, strict=True)],
    ):
        yield from parts(handed_of(half, handed.closed_ns, handed.covered))


def frames_of(handed: Handed) -> tuple[pl.DataFrame, ...]:
    """Its tables, in the order of `NEEDED`."""
    return (handed.flows, *handed.sums, *handed.watched)


def handed_of(frames: Sequence[pl.DataFrame], closed_ns: int, covered: Covered) -> Handed:
    """What has these tables."""
    flows, *rest = frames
    sums = len(Sums._fields)
    return Handed(flows, Sums(*rest[:sums]), closed_ns, Watched(*rest[sums:]), covered)


def read(value: bytes | None, given: Iterable[tuple[str, bytes | None]], _offset: int) -> Piece:
    """The piece of a message; UnreadableError says why there is none."""
    told = texts_of(given)
    try:
        numbers = {name: number_of(told, name) for name in NUMBERS}
    except (KeyError, ValueError) as error:
        raise UnreadableError("bad_header", f"{error}") from None
    place = [numbers[name] for name in PLACE]
    partition, partitions, first, last, idle, piece, pieces = place
    known = 0 <= partition < partitions and idle in {0, 1} and 0 <= first <= last + idle
    if not (known and 0 <= piece < pieces <= MOST_PIECES):
        raise UnreadableError("bad_header", f"no piece has partition, messages and number {place}")
    sizes = [numbers[name] for name in NEEDED]
    held = value or b""
    if told.get("digest") != digest(held) or sum(sizes) != len(held) or min(sizes) < 0:
        raise UnreadableError("damaged", f"{len(held)} octets that have another digest")
    frames, at = [], 0
    for name, size in zip(NEEDED, sizes, strict=True):
        frames.append(frame_of(name, held[at : at + size]))
        at += size
    covered = Covered(numbers["captured_from"], numbers["captured_to"])
    handed = handed_of(frames, numbers["closed"], covered)
    return Piece(partition, partitions, first, last, idle, piece, pieces, handed)


def frame_of(name: str, held: bytes) -> pl.DataFrame:
    """A table of a message, with the types of the store's; one without rows takes no octets."""
    known = schema_of(name)
    if not held:
        return pl.DataFrame(schema=known)
    frame = rows_of(held)
    for column, dtype in frame.schema.items():
        if dtype not in {known.get(column), pl.Null}:
            raise UnreadableError("bad_columns", f"{name}.{column} is {dtype}")
    if lacking := [column for column in NEEDED[name] if column not in frame.columns]:
        raise UnreadableError("bad_columns", f"{name} has no column {', '.join(lacking)}")
    check(name, frame)
    return frame if name not in WATCHED else shaped(name, frame)


def schema_of(name: str) -> dict[str, Any]:
    """The columns of a table, with their types."""
    if name in WATCHED:
        return dict(WATCHED[name])
    return dict((no_flows() if name == "flows" else TABLES[name].blank).schema)


CONTENTS = Contents(f"intervals.v{VERSION}", read)
"""The topic, which is derived from that of the observations."""


class Pieces:
    """Puts pieces together, and drops those that were heard before."""

    def __init__(self) -> None:
        self.heard: dict[int, tuple[int, int]] = {}
        """The last offset of each partition of which all was heard, and whether silence was."""
        self.held: dict[int, dict[int, Piece]] = {}
        """Pieces of a cut that is not there whole, by partition and number."""

    def knows(self, piece: Piece) -> bool:
        """Whether what it is a piece of was heard before."""
        return (piece.last, piece.idle) <= self.heard.get(piece.partition, (-1, 0))

    def whole(self, piece: Piece) -> Handed | None:
        """What was handed on, with the last piece of it."""
        held = self.held.setdefault(piece.partition, {})
        if any(other.cut != piece.cut for other in held.values()):
            held.clear()  # what was begun before is said anew
        held[piece.piece] = piece
        if len(held) < piece.pieces:
            return None
        del self.held[piece.partition]
        self.heard[piece.partition] = piece.last, piece.idle
        return Handed.of(held[number].handed for number in sorted(held))
