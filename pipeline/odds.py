"""Probabilities near a threshold."""

import polars as pl


def odds(value: pl.Expr) -> pl.Expr:
    """The logistic function."""
    return 1 / (1 + (-value.clip(-50.0, 50.0)).exp())
