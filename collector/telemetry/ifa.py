"""IFA records in units."""

import polars as pl

from collector.observation import SCHEMA
from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw

GIGABIT, BILLION = 1_000_000_000, 1_000_000_000
HIGHEST = (1 << 64) - 1
SPEEDS = (10, 25, 40, 50, 100, 200, 400)
"""Gbit/s by code."""
FLAG_BITS = 5
PLAIN = (
    ("node", "node"), ("port", "port"), ("ingress_port", "ingress_port"), ("queue", "queue"),
    ("ttl", "ttl"), ("congestion", "congestion"), ("tx_bytes", "tx_bytes"),
    ("residence", "latency_ns"),
)  # fmt: skip
"""Raw column, column of the observation."""
CELLS = (("cells", "qlen_bytes"), ("pool_cells", "buffer_bytes"))


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of the header and its hops."""
    if not raw.has("ifa_version"):
        return {}
    told = {
        f"h{hop}_{column}": values
        for hop in range(raw.hops)
        for column, values in record(raw, f"h{hop}_ifa_", settings).items()
    }
    if raw.has("ifa_flags_reversed"):
        told["ifa_flags"] = restored(pl.col("ifa_flags_reversed"))
    return told


def record(raw: Raw, prefix: str, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of one hop; it receives a packet at a time and sends it on a residence later.

    What a name space of a setting makes wider than its column is null where it does not fit.
    """
    told = {
        column: pl.col(prefix + name).cast(SCHEMA[f"h0_{column}"], strict=False)
        for name, column in PLAIN
        if raw.has(prefix + name)
    }
    for name, column in CELLS:
        if raw.has(prefix + name):
            told[column] = times(pl.col(prefix + name).cast(pl.UInt64), settings.ifa_cell_bytes)
    if raw.has(prefix + "speed"):
        told["b_bps"] = speed(pl.col(prefix + "speed"))
    if raw.has(prefix + "seconds", prefix + "nanoseconds"):
        seconds, rest = (
            pl.col(prefix + name).cast(pl.UInt64) for name in ("seconds", "nanoseconds")
        )
        received = times(seconds, BILLION) + rest
        told |= {"ingress_ts_ns": received, "ts_ns": received}
        if "latency_ns" in told:
            told["ts_ns"] = received + told["latency_ns"].cast(pl.UInt64).fill_null(0)
    return told


def times(values: pl.Expr, unit: int) -> pl.Expr:
    """Values in a unit; null where the product does not fit."""
    fits = values <= pl.lit(HIGHEST // unit, pl.UInt64)
    return pl.when(fits).then(values * pl.lit(unit, pl.UInt64))


def speed(code: pl.Expr) -> pl.Expr:
    """Bit/s of a speed code; null where the draft has none."""
    rates = pl.lit(pl.Series([each * GIGABIT for each in SPEEDS], dtype=pl.UInt64))
    return rates.gather(pl.when(code < len(SPEEDS)).then(code).cast(pl.UInt32))


def restored(flags: pl.Expr) -> pl.Expr:
    """Flags in the draft's order, from the opposite one."""
    swapped = [int(f"{each:0{FLAG_BITS}b}"[::-1], 2) for each in range(1 << FLAG_BITS)]
    return pl.lit(pl.Series(swapped, dtype=pl.UInt8)).gather(flags.cast(pl.UInt32))
