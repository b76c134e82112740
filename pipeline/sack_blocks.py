"""SACK blocks of a batch, of the few rows that have some."""

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

FIRST = "sack0_left"
EDGE = re.compile(r"sack\d_(left|right)")


def numbered(frame: pl.DataFrame) -> NDArray[np.int32]:
    """The number of each row among those with SACK blocks, or -1."""
    if FIRST not in frame.columns or frame[FIRST].null_count() == frame.height:
        return np.full(frame.height, -1, np.int32)
    has = frame[FIRST].is_not_null().to_numpy()
    return np.where(has, np.cumsum(has) - 1, -1).astype(np.int32)


def sacks_of(frame: pl.DataFrame) -> NDArray[np.int64]:
    """SACK blocks as (row, edge): left, right, left and so on, -1 for none."""
    names = sorted(name for name in frame.columns if EDGE.fullmatch(name))
    if FIRST not in names:
        return np.zeros((0, 2), np.int64)
    rows = frame.filter(pl.col(FIRST).is_not_null()).select(names)
    return np.ascontiguousarray(rows.cast(pl.Int64).fill_null(-1).to_numpy())
