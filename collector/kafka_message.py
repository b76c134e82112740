"""Batches as messages of a broker, and back.

A message is one Arrow IPC stream of at most 900 kB, because stock brokers refuse more than 1 MB.
Its headers say which rows it has: the version of the observation table, source, epoch, and the
first and the last frame that it covers in its partition, and a digest of the value: a reader of
Arrow takes many a damaged stream for a whole one. A message begins where the one before it in the
same partition ended, so that a reader sees what is missing.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import polars as pl

from collector.bus import Batch, BusError
from collector.loss import WORD, losses_of, text_of
from collector.observation import OBSERVATION, SCHEMA, SCHEMA_VERSION, beyond, together
from collector.unpacked import MOST_BYTES, unpacked_bytes

MESSAGE_BYTES = 900_000
"""Largest message."""
BEAT_NS = 500_000_000
"""Least time between two messages of a partition that say only how far a source has come."""
HEADERS = ("schema", "source", "epoch", "first", "last", "ended", "digest", "reached", "losses",
           "passed")  # fmt: skip
ALWAYS = frozenset(column.name for column in OBSERVATION if not column.nullable)
"""Columns that every row tells."""
EDGE_NS = 10**15
"""Times that are so near to the ends of what 64 bits hold leave no room for what is worked out."""
Compression = Literal["lz4", "zstd"]


class UnreadableError(ValueError):
    """A message that is no batch of this version; `reason` is one of `REASONS`."""

    def __init__(self, reason: str, sentence: str) -> None:
        """The sentence says what is wrong with it."""
        super().__init__(sentence)
        self.reason = reason


REASONS = {
    "unknown_schema": "the message has another version of the observation table, or names none",
    "bad_header": "a header is missing or is no number",
    "damaged": "the value is not the one that the digest was made of",
    "not_arrow": "the value is no Arrow IPC stream",
    "too_large": "the rows would fill more memory than a batch may",
    "bad_columns": "the rows lack a column or have one of another type",
    "bad_range": "the rows are not of the frames that the headers name",
}
"""Why messages become dead letters."""


Headers = Iterable[tuple[str, bytes | None]]
Message = tuple[int, bytes, list[tuple[str, bytes]]]
"""Partition, value and headers."""


class Contents(NamedTuple):
    """What a topic holds: observations, or what is `derived` from them, and who reads messages."""

    derived: str
    read: Callable[[bytes | None, Headers, int], Any]
    """What a message says, from value, headers and offset. Raises UnreadableError."""


def digest(value: bytes) -> str:
    """What damage is told by."""
    return blake2b(value, digest_size=8).hexdigest()


def headers(batch: Batch, value: bytes) -> list[tuple[str, bytes]]:
    """What a message says of itself beside its rows."""
    told = (
        SCHEMA_VERSION, batch.source, batch.epoch, batch.first, batch.last, batch.ended,
        digest(value), "" if batch.reached_ns is None else batch.reached_ns,
        text_of(batch.losses), "" if batch.passed_ns is None else batch.passed_ns,
    )  # fmt: skip
    return [(name, str(value).encode()) for name, value in zip(HEADERS, told, strict=True)]


class Placement:
    """Cuts batches by partition: a writer's memory of where each partition's messages ended."""

    def __init__(self) -> None:
        self.reached: dict[tuple[str, int, int], int] = {}
        self.beats: dict[tuple[str, int, int], int] = {}
        """How far each partition was told that a source has come, ns."""

    def placed(self, batch: Batch, partitions: int) -> Iterator[tuple[int, Batch]]:
        """The rows of `batch` by partition, each in the order of its frames.

        That a source begins or has ended is said in every partition, and how far it has come in
        those that were not told for a while: others do not see its frames. What it lost is said
        once.
        """
        losses = batch.losses
        for partition, part in self._placed(replace(batch, losses=()), partitions):
            yield partition, replace(part, losses=losses)
            losses = ()
        if losses:
            yield 0, without_rows(batch)

    def _placed(self, batch: Batch, partitions: int) -> Iterator[tuple[int, Batch]]:
        """The same of a batch that lost nothing."""
        if batch.ended or batch.begins:
            for partition in range(partitions):
                self.reached.pop((*batch.stream, partition), None)
                self.beats.pop((*batch.stream, partition), None)
            yield from ((partition, batch) for partition in range(partitions))
            return
        far_ns = far_of(batch)
        if far_ns is None:
            return
        for partition, rows in by_partition(batch.frame, partitions):
            stream = (*batch.stream, partition)
            first = self.reached.get(stream, 0) + 1
            last = self.reached[stream] = int(rows["frame"][-1])
            told = replace(batch, frame=rows, first=min(first, last), last=last)
            yield partition, told
            self.beats[stream] = far_ns
        yield from self.beating(batch, far_ns, partitions)

    def beating(self, batch: Batch, far_ns: int, partitions: int) -> Iterator[tuple[int, Batch]]:
        """What says how far a source has come, in partitions that were not told for a while."""
        passed_ns = far_ns if batch.reached_ns is None else None
        for partition in range(partitions):
            stream = (*batch.stream, partition)
            told = self.beats.get(stream)
            if told is not None and far_ns - told < BEAT_NS:
                continue
            self.beats[stream] = far_ns
            yield partition, replace(without_rows(batch), passed_ns=passed_ns)


def far_of(batch: Batch) -> int | None:
    """How far a source has come with a batch; None: it says nothing of that, and has no rows."""
    if batch.reached_ns is not None or batch.frame.is_empty():
        return batch.reached_ns
    return int(batch.frame["time_ns"].to_numpy().max())


def without_rows(batch: Batch) -> Batch:
    """What a live batch says besides its rows."""
    return replace(batch, frame=batch.frame.clear().select("time_ns", "source"), first=batch.last)


def by_partition(rows: pl.DataFrame, partitions: int) -> Iterator[tuple[int, pl.DataFrame]]:
    """Rows by the partition of their conversation; what has no rows need not have its column."""
    if rows.is_empty():
        return
    place = (pl.col("conversation") % partitions).alias("partition")
    for (number,), part in rows.group_by(place, maintain_order=True):
        yield int(str(number)), part


def messages(batch: Batch, compression: Compression = "lz4") -> Iterator[tuple[Batch, bytes]]:
    """`batch` in as many messages as its size needs; raises BusError when one frame is too large.

    A frame's rows stay together.
    """
    message = octets_of(batch.frame, compression)
    if len(message) <= MESSAGE_BYTES:
        yield batch, message
        return
    frames = batch.frame["frame"]
    at = int(frames.search_sorted(frames[len(frames) // 2], "left"))
    at = at or int(frames.search_sorted(frames[0], "right"))
    if at == len(frames):
        raise BusError(f"{batch.source}: frame {frames[0]} exceeds {MESSAGE_BYTES} octets")
    between = int(frames[at - 1])
    source, epoch = batch.source, batch.epoch
    before = Batch(batch.frame.head(at), source, epoch, batch.first, between, losses=batch.losses)
    # What has been reached is reached by the last of them.
    after = replace(batch, frame=batch.frame.tail(-at), first=between + 1, losses=())
    yield from messages(before, compression)
    yield from messages(after, compression)


def octets_of(frame: pl.DataFrame, compression: Compression = "lz4") -> bytes:
    """Rows as an Arrow IPC stream.

    They are written from a frame of its own: Polars holds the one that it writes and waits for the
    interpreter meanwhile, which another thread may have that waits to look at the same frame.
    """
    buffer = io.BytesIO()
    frame.clone().write_ipc_stream(buffer, compression=compression)
    return buffer.getvalue()


def rows_of(octets: bytes) -> pl.DataFrame:
    """The rows of an Arrow IPC stream. Raises UnreadableError."""
    unreadable = pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError
    try:
        needed = unpacked_bytes(octets)
        rows = pl.read_ipc_stream(io.BytesIO(octets)) if needed <= MOST_BYTES else None
    except unreadable as error:
        raise UnreadableError("not_arrow", str(error).partition("\n")[0]) from None
    if rows is None:
        said = f"{len(octets)} octets become {needed}, and at most {MOST_BYTES} are read"
        raise UnreadableError("too_large", said)
    return rows


def texts_of(given: Headers) -> dict[str, str]:
    """What headers say, by name."""
    return {name: (text or b"").decode(errors="replace") for name, text in given}


def read(value: bytes | None, given: Headers) -> Batch:
    """The batch of a message; UnreadableError says why there is none."""
    told = texts_of(given)
    if told.get("schema") != str(SCHEMA_VERSION):
        raise UnreadableError(
            "unknown_schema", f"schema {told.get('schema')!r}, and not {SCHEMA_VERSION}"
        )
    try:
        source = told["source"]
        epoch, first, last = (number_of(told, name) for name in ("epoch", "first", "last"))
        reached_ns = number_of(told, "reached") if told.get("reached") else None
        passed_ns = number_of(told, "passed") if told.get("passed") else None
        losses = losses_of(told.get("losses", ""))
    except (KeyError, ValueError) as error:
        raise UnreadableError("bad_header", f"{error}") from None
    if not source:
        raise UnreadableError("bad_header", "source is empty")
    octets = value or b""
    if told.get("digest") != digest(octets):
        raise UnreadableError("damaged", f"{len(octets)} octets that have another digest")
    frame = together(rows_of(octets))
    ended = told.get("ended") == str(True)
    batch = Batch(
        frame, source, epoch, first, last, ended, reached_ns, losses=losses, passed_ns=passed_ns
    )
    check(batch)
    return batch


def number_of(told: Mapping[str, str], name: str) -> int:
    """A header that is a whole number of 64 bits. ValueError when it is not."""
    number = int(told[name])
    if not -WORD <= number < WORD:
        raise ValueError(f"{name} is no number of 64 bits")
    return number


def check(batch: Batch) -> None:
    """Refuse rows that are no observations, or not those that the headers name."""
    if not 0 <= batch.first <= batch.last:
        raise UnreadableError("bad_range", f"{batch.first} to {batch.last} are no frames")
    frame = batch.frame
    for name, dtype in frame.schema.items():
        if name in SCHEMA and dtype not in {SCHEMA[name], pl.Null}:
            raise UnreadableError("bad_columns", f"{name} is {dtype}, and not {SCHEMA[name]}")
        if name in ALWAYS and frame[name].null_count():
            raise UnreadableError("bad_columns", f"{name} is not told of every row")
    if batch.ended or batch.quiet:
        return
    if said := beyond(frame):
        raise UnreadableError("bad_columns", said)
    if lacking := [name for name in SCHEMA if name in ALWAYS and name not in frame.columns]:
        raise UnreadableError("bad_columns", f"there is no column {', '.join(lacking)}")
    number = pl.col("frame")
    inside = (number.min() >= batch.first) & (number.max() <= batch.last)
    if not frame.select(inside).item():  # of no rows nothing is told either
        raise UnreadableError("bad_range", f"the rows are not of {batch.first} to {batch.last}")
    times = frame["time_ns"].to_numpy()
    if times.min() < EDGE_NS - WORD or times.max() >= WORD - EDGE_NS:
        raise UnreadableError("bad_range", "time_ns lies at an end of what 64 bits hold")


def observations(value: bytes | None, given: Headers, offset: int) -> Batch:
    """The batch of a message, which knows its offset."""
    return replace(read(value, given), offset=offset)


OBSERVATIONS = Contents("", observations)
