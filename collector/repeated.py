"""Columns that say the same in every row: made once, and shared by the batches that follow."""

from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

KEPT = 32
"""So many are remembered."""
WORD = 8
"""Octets of the widest value."""


Value = str | int | None
Type = pl.DataType | type[pl.DataType]


def repeated(name: str, value: Value, rows: int, dtype: Type = pl.String) -> pl.Series:
    """A value, or null, that is the same in every row; batches share it, for nothing changes it."""
    return _repeated(value, whole(rows), dtype).head(rows).alias(name)


def nothing(rows: int, kind: Any) -> NDArray[Any]:
    """Zeros of a type that nobody writes to; those of all types and batches are the same memory."""
    return _nothing(whole(rows))[: rows * np.dtype(kind).itemsize].view(kind)


def whole(rows: int) -> int:
    """At least so many rows: batches of about one size share a column."""
    return 1 << max(rows - 1, 0).bit_length()


@lru_cache(maxsize=KEPT)
def _repeated(value: Value, rows: int, dtype: Type) -> pl.Series:
    return pl.Series([value], dtype=dtype).new_from_index(0, rows)


@lru_cache(maxsize=KEPT // WORD)
def _nothing(rows: int) -> NDArray[np.uint8]:
    zeros = np.zeros(rows * WORD, np.uint8)
    zeros.flags.writeable = False
    return zeros
