"""What a hop of a stack told, as expressions over its columns."""

import polars as pl

from pipeline.unit import BITS, SECOND


def value(rows: pl.DataFrame, name: str) -> pl.Expr:
    """A value of a hop as a float, which holds every id and any capacity; null when left out."""
    told = pl.col(name) if name in rows.columns else pl.lit(None)
    return told.cast(pl.Float64)


def drained_ns(queue: pl.Expr, capacity: pl.Expr) -> pl.Expr:
    """How long a queue of bytes takes at line rate; null where no capacity is told."""
    return queue * (BITS * SECOND) / pl.when(capacity > 0).then(capacity)
