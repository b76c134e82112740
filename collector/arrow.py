"""Arrays as columns of a data frame, without a copy."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray


def array(values: NDArray[Any], validity: pa.Buffer | None = None) -> pa.Array:
    """An Arrow array over numbers that nobody changes any more.

    `pa.array` would ask pandas what they are, and load it for that.
    """
    told = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else values
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(told))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def bitmap(rows: NDArray[np.bool_]) -> pa.Buffer:
    """The validity of values: which of them there are."""
    return pa.py_buffer(np.packbits(rows, bitorder="little"))


def table(columns: Mapping[str, pa.Array]) -> pl.DataFrame:
    """Columns of equal length as a data frame, which takes their buffers as they are."""
    return pl.DataFrame(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)))


def values(column: pl.Series, absent: int = 0) -> NDArray[Any]:
    """A column of numbers as an array that nobody writes to, `absent` where it is null.

    Of truth values it is whether they are true, of categories numbers that stand for them here: of
    an Enum always the same, otherwise others for another column.
    """
    if column.dtype.is_numeric() and not column.null_count():
        return fixed(column.to_numpy(allow_copy=True))
    array = column.to_arrow()  # this takes a tenth of the time of a query of Polars
    told = _told(array)
    there = _there(array) if array.null_count else None
    return fixed(told if there is None else np.where(there, told, told.dtype.type(absent)))


def where(column: pl.Series) -> NDArray[np.int64]:
    """The rows for which a column of truth values is true, which null is not."""
    return np.flatnonzero(values(column))


def in_one_piece(rows: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """The frame with these of its columns in one piece each, so that no reader joins them anew."""
    several = [rows[name] for name in names if name in rows.columns]
    joined = [column.rechunk() for column in several if column.n_chunks() > 1]
    return rows.with_columns(joined) if joined else rows


def nulls(column: pl.Series) -> NDArray[np.bool_]:
    """Which values of a column are null."""
    array = column.to_arrow()
    if array.null_count in (0, len(array)):
        return np.full(len(array), array.null_count > 0)
    return ~_there(array)


def _told(array: pa.Array) -> NDArray[Any]:
    """What an array has, and anything where it has nothing."""
    if pa.types.is_dictionary(array.type):
        array = array.indices
    if pa.types.is_boolean(array.type):
        return _bits(array, 1)
    told = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    return told[array.offset : array.offset + len(array)]


def _there(array: pa.Array) -> NDArray[np.bool_]:
    """Which values of an array there are."""
    if array.buffers()[0] is None:
        return np.ones(len(array), np.bool_)
    return _bits(array, 0)


def _bits(array: pa.Array, place: int) -> NDArray[np.bool_]:
    """A buffer of bits of an array."""
    bits = np.unpackbits(np.frombuffer(array.buffers()[place], np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].view(np.bool_)


def fixed(values: NDArray[Any]) -> NDArray[Any]:
    """The array as one that nobody writes to: kernels are compiled anew for each kind of array."""
    values = np.ascontiguousarray(values)
    values.flags.writeable = False
    return values
