"""Verdicts and counts of feedback out of rows of table `flow_told`, each of which is a text. Pure.

What the engine takes for a statement grows with the columns that it reads, 0.2 to 0.3 ms each, and
a statement takes 4 ms by itself. So it keeps in one column of one table what an answer tells.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl
from pydantic_core import from_json

from pipeline.hop import Row
from pipeline.tables.column import Column
from pipeline.tables.verdicts import TOLD

Counted = tuple[int, str, Sequence[int]]
"""Length of the interval, point, and its counts (`flow_told.COUNTS`)."""


def _as_it_was(value: Any) -> Any:
    return value


def reader_of(column: Column) -> Callable[[Any], Any]:
    """What reads a value out of JSON: there 1.0 is 1, and some engines quote numbers."""
    if column.kind.dtype.is_float():
        return float
    return int if column.kind.dtype.is_integer() else _as_it_was


READERS = tuple((column.name, reader_of(column)) for column in TOLD)


def told_rows(found: pl.DataFrame) -> tuple[list[Row], list[Counted]]:
    """Verdicts with the columns that answers tell, and counts of feedback."""
    rows: list[Row] = []
    counts: list[Counted] = []
    for time_ns, interval_ns, text in found.iter_rows():
        told, *more = text.split("\n", 2)
        values = values_of(told)
        if more:
            candidates, evidence = more
            row = {"time_ns": time_ns, "interval_ns": interval_ns, "candidates": candidates,
                   "evidence": evidence}  # fmt: skip
            # Rows from before a column was added lack it at their end.
            for (name, read), value in zip(READERS, values, strict=False):
                row[name] = None if value is None else read(value)
            rows.append(row)
        else:
            *numbers, point = values
            counts.append((interval_ns, point, [*map(int, numbers)]))
    return rows, counts


def values_of(text: str) -> Iterable[Any]:
    """Values of a JSON array; engines that name the fields of a tuple make an object of it."""
    told = from_json(text)
    return told.values() if isinstance(told, dict) else told
