"""Rows with all columns that every observation has, for tests that need few of them."""

import polars as pl

from collector import SCHEMA
from collector.observation import OBSERVATION


def whole(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows; what is not told is 0, or an empty text."""
    lacking = [each.name for each in OBSERVATION if not each.nullable]
    return rows.with_columns(
        pl.lit(0 if SCHEMA[name].is_numeric() else "").cast(SCHEMA[name]).alias(name)
        for name in lacking
        if name not in rows.columns
    )
