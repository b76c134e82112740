"""Columns that say the same in every row are made once."""

import numpy as np
import polars as pl
import pytest

from collector import nothing, repeated


def test_a_value_stands_in_every_row_under_the_name_that_is_asked_for() -> None:
    points, sources = repeated("point", "tap", 5), repeated("source", "tap", 3)
    assert (points.name, points.to_list()) == ("point", ["tap"] * 5)
    assert (sources.name, sources.to_list()) == ("source", ["tap"] * 3)
    rates = repeated("bps", 7, 4, pl.Int64)
    assert (rates.dtype, rates.to_list()) == (pl.Int64(), [7] * 4)
    assert repeated("point", "tap", 0).is_empty()


def test_null_has_the_type_that_is_asked_for() -> None:
    kinds = pl.Enum(["a", "b"])
    assert repeated("kind", None, 2, kinds).to_list() == [None, None]
    assert repeated("kind", None, 2, kinds).dtype == kinds
    assert repeated("kind", None, 2, pl.Float64).dtype == pl.Float64()
    assert repeated("kind", "b", 2, kinds).to_list() == ["b", "b"]


def test_batches_of_about_one_size_share_the_memory() -> None:
    first, second = repeated("a", 1, 900, pl.Int64), repeated("b", 1, 1000, pl.Int64)
    assert first.to_numpy().ctypes.data == second.to_numpy().ctypes.data


@pytest.mark.parametrize("kind", [np.int64, np.uint16, np.bool_])
def test_zeros_of_any_type_are_one_memory_that_nobody_writes_to(kind: type) -> None:
    zeros = nothing(100, kind)
    assert (zeros.dtype, zeros.tolist()) == (np.dtype(kind), [0] * 100)
    assert zeros.ctypes.data == nothing(101, np.uint8).ctypes.data
    with pytest.raises(ValueError, match="read-only"):
        zeros[0] = 1
