"""Rows with all columns that every observation has, for tests that need few of them."""

import polars as pl

from collector import SCHEMA
from collector.kafka_message import ALWAYS


def whole(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows; what is not told is 0, or an empty text."""
    return rows.with_columns(
        pl.lit(0 if SCHEMA[name].is_numeric() else "").cast(SCHEMA[name]).alias(name)
        for name in SCHEMA
        if name in ALWAYS and name not in rows.columns
    )
