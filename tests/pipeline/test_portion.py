"""Portions add up to one, and are the same in whatever order groups come."""

import numpy as np
import polars as pl
import pytest

from pipeline.portion import portions
from pipeline.runs import first_of


def test_portions_are_of_the_rows_that_have_a_weight() -> None:
    rows = pl.DataFrame(
        {"at": [1, 2, 1, 1], "flow": ["a", "a", "a", "b"], "w": [1.0, 5.0, 3.0, None]}
    )
    told = portions(rows, ["at", "flow"], pl.col("w"))
    assert told.to_list() == [0.25, 1.0, 0.75, None]
    assert portions(rows.clear(), ["at", "flow"], pl.col("w")).is_empty()


def test_portions_are_added_up_in_the_order_of_the_rows() -> None:
    chance = np.random.default_rng(3)
    rows = pl.DataFrame({"key": chance.integers(0, 9, 400), "w": chance.random(400)})
    told = portions(rows, ["key"], pl.col("w"))
    for key in range(9):
        own = rows["key"] == key
        whole = 0.0
        for weight in rows["w"].filter(own):
            whole += weight
        assert told.filter(own).to_list() == [each / whole for each in rows["w"].filter(own)]
        assert told.filter(own).sum() == pytest.approx(1.0)


def test_the_first_row_of_each_run_is_found() -> None:
    rows = pl.DataFrame({"a": [None, None, 1, 1, None], "b": [1, 1, 1, 2, 2], "n": range(5)})
    assert first_of(rows, ["a", "b"])["n"].to_list() == [0, 2, 3, 4]
    assert first_of(rows.clear(), ["a"]).is_empty()
