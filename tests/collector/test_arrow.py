"""Columns as arrays: what is null, cut, in several pieces or no number is read as it is."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import arrow

KIND = pl.Enum(["low", "middle", "high"])
COLUMNS: dict[str, pl.Series] = {
    "numbers": pl.Series([3, 1, 2, 1, 3, 2, 2, 1, 3], dtype=pl.UInt32),
    "numbers, some null": pl.Series([3, None, 2, 1, None, 2, 2, None, 3], dtype=pl.Int64),
    "fractions, some null": pl.Series([0.5, None, 2.0, -1.0, 3.0, 2.5, None, 1.0, 3.0]),
    "truth": pl.Series([True, False, True, True, False, False, True, False, True]),
    "truth, some null": pl.Series([True, None, True, False, False, None, True, False, True]),
    "categories": pl.Series(["high", "low"] * 4 + ["middle"], dtype=KIND),
    "categories, some null": pl.Series(["high", None, "low"] * 3, dtype=KIND),
}


def plainly(column: pl.Series, absent: int) -> list[Any]:
    """What a column has, value by value."""
    told = column.to_physical() if column.dtype == KIND else column
    return [absent if each is None else each for each in told.to_list()]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("absent", [0, 7])
def test_values_are_those_of_the_column_however_it_is_cut(name: str, absent: int) -> None:
    whole = COLUMNS[name]
    pieces = pl.concat([whole[:4], whole[4:]], rechunk=False)
    assert pieces.n_chunks() > 1
    if whole.dtype == pl.Boolean:
        absent = 0
    for column in (whole, whole[1:], whole[3:8], whole[:0], pieces, pieces[2:7]):
        values = arrow.values(column, absent)
        assert values.tolist() == plainly(column, absent), name
        assert not values.flags.writeable
        assert arrow.nulls(column).tolist() == column.is_null().to_list()


@pytest.mark.parametrize("name", ["truth", "truth, some null"])
def test_rows_that_are_true_are_found(name: str) -> None:
    column = COLUMNS[name]
    for part in (column, column[2:], column[:0]):
        told = [row for row, each in enumerate(part.to_list()) if each]
        assert arrow.where(part).tolist() == told
    assert arrow.where(column).dtype == np.int64
