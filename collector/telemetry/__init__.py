"""What telemetry says in the units of observations: expressions over the raw columns of the walk.

One module a format. Where two formats tell the same column (a hop's node, say), a frame has the one
that it carries.
"""

from collections.abc import Callable

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry import (
    aecn,
    csig,
    hpcc_int,
    ifa,
    inband,
    ioam,
    mirror,
    report,
    roce,
    tcp_int,
)
from collector.telemetry.raw import Raw

Reading = Callable[[Raw, CollectorSettings], dict[str, pl.Expr]]
READINGS: tuple[Reading, ...] = (
    csig.columns, aecn.columns, inband.columns,
    ioam.columns, ifa.columns, tcp_int.columns, hpcc_int.columns,
    roce.columns, mirror.columns, report.columns,
)  # fmt: skip
"""One function a format: expressions by the column of the observation that they give."""


def telemetry(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Expressions by column, of all formats that the batch has."""
    told: dict[str, list[pl.Expr]] = {}
    for reading in READINGS:
        for name, values in reading(raw, settings).items():
            told.setdefault(name, []).append(values)
    return {
        name: values[0] if len(values) == 1 else pl.coalesce(values)
        for name, values in told.items()
    }
