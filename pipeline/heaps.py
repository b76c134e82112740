"""Heaps: rows that are alike in all columns of a key, and what the rows of each add up to.

Heaps are in the order of their first rows, as groups of a group_by that keeps the order. Rows are
numbered once (`groups`), and NumPy adds up by number whatever is asked for: of a batch that is a
fraction of what a group_by takes over the columns of the key.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow
from pipeline.groups import Word, numbered, words

HEAP = "heap"
"""The column of the numbers."""


class Heaps:
    """Heaps of rows by what tells them apart: `first` and `last` are the rows at the ends of each.

    Where values are null these are left out, and a heap that has none is null.
    """

    def __init__(self, rows: pl.DataFrame, key: Iterable[str | Word]) -> None:
        self.group, self.first = numbered(words(rows, key))

    @property
    def last(self) -> NDArray[np.int64]:
        """The last row of each."""
        rows = np.empty(len(self.first), np.int64)
        rows[self.group] = np.arange(len(self.group))
        return rows

    def first_of(self, where: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The first row of each that is named, or -1."""
        rows = np.flatnonzero(where)[::-1]
        found = np.full(len(self.first), -1)
        found[self.group[rows]] = rows
        return found

    def count(self, where: NDArray[np.bool_] | None = None) -> pl.Series:
        """How many rows each has, or how many of those that are named."""
        group = self.group if where is None else self.group[where]
        return pl.Series(np.bincount(group, minlength=len(self.first)).astype(np.uint64))

    def total(self, values: pl.Series) -> pl.Series:
        """Sums of integers."""
        return self._joined(np.add, values, 0)

    def most(self, values: pl.Series) -> pl.Series:
        """The largest of integers."""
        return self._joined(np.maximum, values, np.iinfo(arrow.values(values[:0]).dtype).min)

    def least(self, values: pl.Series) -> pl.Series:
        """The smallest of integers."""
        return self._joined(np.minimum, values, np.iinfo(arrow.values(values[:0]).dtype).max)

    def bits(self, values: NDArray[np.uint32], where: NDArray[np.bool_]) -> pl.Series:
        """All bits that rows have that are named."""
        made = np.zeros(len(self.first), np.uint32)
        np.bitwise_or.at(made, self.group[where], values[where])
        return pl.Series(made)

    def told(self, rows: pl.DataFrame, totals: Iterable[pl.Expr]) -> pl.DataFrame:
        """What expressions over the rows of each heap say."""
        numbers = pl.Series(HEAP, self.group.astype(np.uint32))
        heaped = rows.with_columns(numbers).group_by(HEAP, maintain_order=True)
        return heaped.agg(totals).drop(HEAP)

    def _joined(self, join: np.ufunc, values: pl.Series, start: int) -> pl.Series:
        """Values of each heap as one, from the value on that changes nothing."""
        told, group = arrow.values(values), self.group
        known: Any = None
        if values.null_count():
            there = ~arrow.nulls(values)
            told, group = told[there], group[there]
            known = np.zeros(len(self.first), np.bool_)
            known[group] = True
        made = np.full(len(self.first), start, told.dtype)
        join.at(made, group, told)
        found = pl.Series(values.name, made)
        return found if known is None else found.set(pl.Series(~known), None)
