"""Heaps of rows add up to what Polars' group_by says of the same rows."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.heaps import Heaps

KEY = ["flow", "point"]


@settings(deadline=None)
@given(st.integers(0, 1 << 32), st.integers(1, 200))
def test_heaps_say_what_a_group_by_says(seed: int, rows: int) -> None:
    told = drawn(seed, rows)
    heaps, value = Heaps(told, KEY), told["value"]
    named = told["named"].to_numpy()
    found = told[heaps.first].select(KEY)
    found = found.with_columns(
        heaps.count().alias("rows"),
        heaps.count(named).alias("named"),
        heaps.total(value).alias("total"),
        heaps.most(value).alias("most"),
        heaps.least(value).alias("least"),
        heaps.bits(told["bits"].to_numpy(), named).alias("bits"),
        told["place"][heaps.last].alias("last"),
    ).hstack(heaps.told(told, [pl.col("value").n_unique().alias("kinds")]))
    own = pl.col("value")
    plain = told.group_by(KEY, maintain_order=True).agg(
        pl.len().cast(pl.UInt64).alias("rows"),
        pl.col("named").sum().cast(pl.UInt64),
        pl.when(own.count() > 0).then(own.sum()).alias("total"),
        own.max().alias("most"),
        own.min().alias("least"),
        pl.col("bits").filter("named").bitwise_or().fill_null(0),
        pl.col("place").last().alias("last"),
        own.n_unique().alias("kinds"),
    )
    assert found.equals(plain)


def drawn(seed: int, rows: int) -> pl.DataFrame:
    """Rows of a few flows at a few points."""
    chance = np.random.default_rng(seed)
    values = pl.Series(chance.integers(-1 << 40, 1 << 40, rows))
    return pl.DataFrame(
        {
            "flow": chance.integers(0, 5, rows).astype(np.uint64),
            "point": chance.choice(["one", "other"], rows),
            "value": values.set(pl.Series(chance.random(rows) < 0.5), None),
            "named": chance.random(rows) < 0.5,
            "bits": chance.integers(0, 1 << 32, rows).astype(np.uint32),
            "place": np.arange(rows),
        }
    )
