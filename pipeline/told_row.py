"""Verdicts out of the rows of query `flow_bottleneck`, most of each of which is one text. Pure.

What the engine takes for a statement grows with the columns that it reads, 0.2 to 0.3 ms each. So
it keeps what an answer tells of a verdict as one JSON array beside the columns (`told`).
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from pipeline.hop import Row
from pipeline.tables.column import Column
from pipeline.tables.verdicts import TOLD


def _as_it_was(value: Any) -> Any:
    return value


def _reader(column: Column) -> Callable[[Any], Any]:
    """What reads a value out of JSON: there 1.0 is 1, and some engines quote numbers."""
    if column.kind.dtype.is_float():
        return float
    return int if column.kind.dtype.is_integer() else _as_it_was


READERS = tuple((column.name, _reader(column)) for column in TOLD)


def verdict_rows(found: pl.DataFrame) -> list[Row]:
    """Rows with the columns of a verdict that answers tell."""
    return [*map(_whole, found.iter_rows(named=True))]


def _whole(row: dict[str, Any]) -> Row:
    told: Iterable[Any] = json.loads(row.pop("told"))
    # Engines that name the fields of a tuple make an object of it.
    values = told.values() if isinstance(told, dict) else told
    # Rows from before a column was added lack it at their end.
    for (name, read), value in zip(READERS, values, strict=False):
        row[name] = None if value is None else read(value)
    return row
