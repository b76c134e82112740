"""Columns of a frame that a table keeps as one array: so many rows have none of them.

A column that is null in every row costs an insert, and each merge after it, as much as one that is
told: the engine writes every column of a table. One array takes the place of twelve.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from collector import arrow


@dataclass(frozen=True, slots=True)
class Gathered:
    """A column of arrays: element n is column `of[n]` of a frame, one beyond the end is null."""

    name: str
    of: tuple[str, ...]
    dtype: pl.DataType
    """Type of each of them."""


def gathered(frame: pl.DataFrame, into: Sequence[Gathered]) -> pl.DataFrame:
    """The frame with arrays in the place of the columns that they are made of.

    Arrays of rows in which all these columns are null are empty.
    """
    left = [name for name in frame.columns if not any(name in each.of for each in into)]
    made = [array for each in into for array in _array(frame, each)]
    return pl.DataFrame([*frame.select(left).get_columns(), *made])


def _array(frame: pl.DataFrame, into: Gathered) -> Iterator[pl.Series]:
    """The column of arrays; none where the frame has none of its columns."""
    known = [place for place, name in enumerate(into.of) if name in frame.columns]
    if not known:
        return
    width = known[-1] + 1
    columns = {place: frame[into.of[place]] for place in known}
    whole = len(known) == width and not any(each.null_count() for each in columns.values())
    told = np.ones((frame.height, width), np.bool_)
    if not whole:
        for place, name in enumerate(into.of[:width]):
            told[:, place] = columns[place].is_not_null() if name in frame.columns else False
    rows: Any = slice(None) if whole else told.any(axis=1)
    lengths = np.full(frame.height, width) if whole else np.where(rows, width, 0)
    told = told[rows]
    values = np.zeros(told.shape, columns[known[0]].head(0).to_numpy().dtype)
    for place, column in columns.items():
        values[:, place] = column.fill_null(0).to_numpy()[rows]
    there = None if whole or told.all() else arrow.bitmap(told.ravel())
    offsets = arrow.array(np.concatenate([[0], np.cumsum(lengths)]))
    flat = arrow.array(values.ravel(), there)
    yield pl.Series(into.name, pa.LargeListArray.from_arrays(offsets, flat))


def spread(frame: pl.DataFrame, out_of: Sequence[Gathered]) -> pl.DataFrame:
    """The opposite of `gathered`, with as many columns as the longest array needs."""
    columns = []
    for each in out_of:
        if each.name in frame.columns:
            longest: Any = frame[each.name].list.len().max()
            columns += [
                pl.col(each.name).list.get(place, null_on_oob=True).alias(name)
                for place, name in enumerate(each.of[: int(longest or 0)])
            ]
    arrays = [each.name for each in out_of if each.name in frame.columns]
    return frame.with_columns(columns).drop(arrays)
