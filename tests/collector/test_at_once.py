"""A query of several steps says what its steps say one by one, and is asked as data frames ask."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector import at_once
from collector.at_once import AS_FRAMES_ASK


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1 << 32), st.integers(0, 300))
def test_it_gives_what_the_steps_give_one_by_one(seed: int, rows: int) -> None:
    chance = np.random.default_rng(seed)
    told = pl.DataFrame(
        {"key": chance.integers(0, 9, rows), "value": chance.random(rows)},
        schema={"key": pl.Int64, "value": pl.Float64},
    ).with_columns(pl.when(pl.col("value") > 0.1).then("value"))
    names = pl.DataFrame({"key": [1, 2, 3, 4], "name": ["a", "b", "c", "d"]})
    mean = (pl.col("value").sum() / pl.col("value").count()).alias("mean")
    fits = pl.col("mean").is_not_null() & (pl.col("key") > 1)
    groups = told.group_by("key", maintain_order=True).agg(mean)
    step_by_step = groups.join(names, on="key", how="left", maintain_order="left").filter(fits)
    query = told.lazy().group_by("key", maintain_order=True).agg(mean)
    query = query.join(names.lazy(), on="key", how="left", maintain_order="left").filter(fits)
    assert at_once(query).equals(step_by_step, null_equal=True)


def test_what_a_step_raises_is_raised() -> None:
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        at_once(pl.LazyFrame({"a": [1]}).select("b").with_columns(c=1))


def test_a_query_is_asked_as_data_frames_ask() -> None:
    # No verb of Polars says so; without it a query takes three times as long, and is right.
    assert AS_FRAMES_ASK._pyoptflags.eager
