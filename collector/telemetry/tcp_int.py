"""TCP-INT in units."""

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw

GIGABIT = 1_000_000_000
SPEEDS = (None, 10, 25, 40, 50, 100, 200, 400, *(None,) * 8)
"""Gbit/s by code."""
FULL = 0x7F
"""A value's bits; as utilisation, all of the link."""
QUEUE = 0x80
"""From this value on, a queue's depth."""
QUEUE_SHIFT, LATENCY_SHIFT, LONG_SHIFT = 13, 8, 16
LONG = 0x8000
"""Marks an echoed latency in the longer unit."""
INITIAL_TTL = 64


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of the option."""
    if not raw.has("tcp_int_value"):
        return {}
    value = pl.col("tcp_int_value").cast(pl.UInt32)
    shares = [each / FULL if each < QUEUE else None for each in range(256)]
    number = pl.col("tcp_int_hop_id").cast(pl.Int64)
    echoed = pl.col("tcp_int_echo_number")
    return {
        "tcp_int_utilization": pl.lit(pl.Series(shares, dtype=pl.Float64)).gather(value),
        "tcp_int_qlen_bytes": pl.when(value >= QUEUE).then((value & FULL) * (1 << QUEUE_SHIFT)),
        "tcp_int_b_bps": speed("tcp_int_speed"),
        "tcp_int_hop": pl.when(number < INITIAL_TTL).then(INITIAL_TTL - number),
        "tcp_int_latency_ns": pl.col("tcp_int_latency").cast(pl.UInt64) * (1 << LATENCY_SHIFT),
        "tcp_int_echo_b_bps": speed("tcp_int_echo_speed"),
        "tcp_int_echo_hop": pl.when(echoed > 0).then(echoed),
        "tcp_int_echo_latency_ns": echo_latency(settings),
    }


def speed(name: str) -> pl.Expr:
    """Bit/s of a speed code."""
    rates = [each and each * GIGABIT for each in SPEEDS]
    return pl.lit(pl.Series(rates, dtype=pl.UInt64)).gather(pl.col(name).cast(pl.UInt32))


def echo_latency(settings: CollectorSettings) -> pl.Expr:
    """Echoed latency: the top bit tells its unit, and is shifted too unless a setting masks it."""
    value = pl.col("tcp_int_echo_latency").cast(pl.UInt64)
    long = value & LONG - 1 if settings.tcp_int_echo_scale == "masked" else value
    return (
        pl.when(value & LONG != 0)
        .then(long * (1 << LONG_SHIFT))
        .otherwise(value * (1 << LATENCY_SHIFT))
    )
