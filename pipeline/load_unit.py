"""Hop load as an integer: sums of integers are the same in any order."""

import polars as pl

NANO = 1e-9
"""The unit in which hop loads are summed."""
PER_UNIT = round(1 / NANO)
MOST_LOAD = 10_000.0
"""No port is loaded more; what telemetry says beyond is cut, so that sums of it cannot overflow."""


def nano(load: pl.Expr) -> pl.Expr:
    """A hop load as an integer of 1e-9; what is not finite is null."""
    finite = pl.when(load.is_finite()).then(load.clip(-MOST_LOAD, MOST_LOAD))
    return (finite * PER_UNIT).round().cast(pl.Int64)
