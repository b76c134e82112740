"""Runs: rows one after the other that are alike in a key."""

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray


def begun(rows: pl.DataFrame, key: Iterable[str]) -> NDArray[np.bool_]:
    """Whether each row is the first of its run."""
    new = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in key)
    first = rows.select(new.fill_null(value=True)).to_series().to_numpy(writable=True)
    first[:1] = True
    return np.asarray(first)


def first_of(rows: pl.DataFrame, key: Iterable[str]) -> pl.DataFrame:
    """The first row of each run."""
    return rows.filter(pl.Series(begun(rows, key)))
