"""Arrays as columns of a data frame, without a copy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray


def array(values: NDArray[Any], validity: pa.Buffer | None = None) -> pa.Array:
    """An Arrow array over contiguous integers that nobody changes any more."""
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype), len(values), [validity, pa.py_buffer(values)]
    )


def table(columns: Mapping[str, pa.Array]) -> pl.DataFrame:
    """Columns of equal length as a data frame, which takes their buffers as they are."""
    return pl.DataFrame(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)))


def values(column: pl.Series) -> NDArray[Any]:
    """A column of integers as an array that nobody writes to, 0 where it is null."""
    return fixed((column.fill_null(0) if column.null_count() else column).to_numpy(allow_copy=True))


def fixed(values: NDArray[Any]) -> NDArray[Any]:
    """The array as one that nobody writes to: kernels are compiled anew for each kind of array."""
    values = np.ascontiguousarray(values)
    values.flags.writeable = False
    return values
