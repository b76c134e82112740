"""Verdicts and counts of feedback out of rows of table `flow_told`, each of which is a text. Pure.

What the engine takes for a statement grows with the columns that it reads, 0.2 to 0.3 ms each, and
a statement takes 4 ms by itself. So it keeps in one column of one table what an answer tells.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl
from pydantic_core import from_json

from pipeline.hop import Row
from pipeline.tables.column import Column
from pipeline.tables.verdicts import TOLD

Counted = tuple[int, str, Sequence[int]]
"""Length of the interval, point, and its counts (`flow_told.COUNTS`)."""


class Unread(NamedTuple):
    """A verdict as it is kept: its interval, and three texts of JSON."""

    time_ns: int
    interval_ns: int
    told: str
    candidates: str
    evidence: str


def _as_it_was(value: Any) -> Any:
    return value


def reader_of(column: Column) -> Callable[[Any], Any]:
    """What reads a value out of JSON: there 1.0 is 1, and some engines quote numbers."""
    if column.kind.dtype.is_float():
        return float
    return int if column.kind.dtype.is_integer() else _as_it_was


NAMES = tuple(column.name for column in TOLD)
READERS = tuple(
    (column.name, reader_of(column))
    for column in TOLD
    if column.kind.dtype in {pl.Float64, pl.Int64, pl.UInt64}
)
"""Numbers that are written in another way than they are: whole ones of 32 bits never are."""


def parted(found: pl.DataFrame) -> tuple[list[Unread], list[Counted]]:
    """Verdicts, which are not read yet as an answer tells few of them, and counts of feedback."""
    verdicts: list[Unread] = []
    counts: list[Counted] = []
    for time_ns, interval_ns, text in found.iter_rows():
        told, *more = text.split("\n", 2)
        if more:
            candidates, evidence = more
            verdicts.append(Unread(time_ns, interval_ns, told, candidates, evidence))
        else:
            *numbers, point = values_of(told)
            counts.append((interval_ns, point, [*map(int, numbers)]))
    return verdicts, counts


def verdict_row(unread: Unread) -> Row:
    """A verdict with the columns that answers tell."""
    # Rows from before a column was added lack it at their end.
    row: dict[str, Any] = dict(zip(NAMES, values_of(unread.told), strict=False))
    for name, read in READERS:
        value = row.get(name)
        if value is not None:
            row[name] = read(value)
    row["time_ns"], row["interval_ns"] = unread.time_ns, unread.interval_ns
    row["candidates"], row["evidence"] = unread.candidates, unread.evidence
    return row


def values_of(text: str) -> Iterable[Any]:
    """Values of a JSON array; engines that name the fields of a tuple make an object of it."""
    told = from_json(text)
    return told.values() if isinstance(told, dict) else told
