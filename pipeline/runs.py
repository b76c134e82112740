"""Runs: rows one after the other that are alike in a key."""

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow
from pipeline.groups import numbers


def begun(rows: pl.DataFrame, key: Iterable[str]) -> NDArray[np.bool_]:
    """Whether each row is the first of its run."""
    first = np.zeros(rows.height, np.bool_)
    first[:1] = True
    for name in key:
        column = rows[name]
        told = [numbers(column), *[arrow.nulls(column)] * (column.null_count() > 0)]
        for each in told:
            first[1:] |= each[1:] != each[:-1]
    return first


def first_of(rows: pl.DataFrame, key: Iterable[str]) -> pl.DataFrame:
    """The first row of each run."""
    return rows[np.flatnonzero(begun(rows, key))]
