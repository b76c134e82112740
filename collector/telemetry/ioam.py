"""IOAM traces in units: all bits one mean that the node could not tell."""

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw

BILLION = 1_000_000_000
MICROSECOND_NS = 1000
NTP_BITS = 32
HIGHEST = 0xFF
"""Of a hop limit."""
PLAIN = (
    ("ingress", "ingress_port", 16),
    ("egress", "port", 16),
    ("transit", "latency_ns", 32),
    ("data", "namespace_data", 32),
    ("queue", "qlen_bytes", 32),
    ("complement", "complement", 32),
    ("node_wide", "node_wide", 56),
    ("ingress_wide", "ingress_port_wide", 32),
    ("egress_wide", "port_wide", 32),
    ("data_wide", "namespace_data_wide", 64),
    ("buffer", "buffer_bytes", 32),
    ("snapshot_schema", "snapshot_schema", 24),
    ("node", "node", 24),
)
"""Raw column, column of the observation, bits."""
WIDE = (
    ("node", "node_wide", 56),
    ("port", "egress_wide", 32),
    ("ingress_port", "ingress_wide", 32),
)
"""Column that a wide form fills when the short one is missing: its raw column, bits."""
TTL = (("ttl", "node", 24), ("ttl_wide", "node_wide", 56))
"""Hop limits, each with the node id in whose word it lies."""


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of the traces' nodes."""
    if not raw.has("ioam_type"):
        return {}
    return {
        f"h{hop}_{column}": values
        for hop in range(raw.hops)
        for column, values in node(raw, f"h{hop}_ioam_", settings).items()
    }


def node(raw: Raw, prefix: str, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of one node of the trace."""
    scales = {"queue": settings.ioam_queue_bytes, "buffer": settings.ioam_buffer_bytes}
    told = {
        column: scaled(raw.available(prefix + name, bits), scales.get(name, 1))
        for name, column, bits in PLAIN
        if raw.has(prefix + name)
    }
    for column, name, bits in WIDE:
        if raw.has(prefix + name):
            wide = raw.available(prefix + name, bits).cast(pl.UInt64)
            fits = pl.when(wide < pl.lit(1 << 32, pl.UInt64)).then(wide)
            told[column] = pl.coalesce(told[column], fits) if column in told else fits
    limits = [hop_limit(prefix, *each) for each in TTL if raw.has(prefix + each[0])]
    if limits:
        told["ttl"] = pl.coalesce(limits)
    if raw.has(prefix + "snapshot_words"):
        told["snapshot_words"] = pl.col(prefix + "snapshot_words")
    return told | times(raw, prefix, told.get("latency_ns"), settings)


def scaled(values: pl.Expr, scale: int) -> pl.Expr:
    """Values times their unit."""
    return values if scale == 1 else values.cast(pl.UInt64) * pl.lit(scale, pl.UInt64)


def hop_limit(prefix: str, name: str, beside: str, bits: int) -> pl.Expr:
    """A hop limit; 255 is one, unless the node id beside it is all ones too."""
    limit = pl.col(prefix + name)
    ones = (pl.col(prefix + beside) == (1 << bits) - 1) & (limit == HIGHEST)
    return pl.when(~ones).then(limit)


def times(
    raw: Raw, prefix: str, latency: pl.Expr | None, settings: CollectorSettings
) -> dict[str, pl.Expr]:
    """Time of receipt, and time of leaving: later by the transit delay where that is known."""
    names = [prefix + "seconds", prefix + "fraction"]
    if not raw.has(*names):
        return {}
    seconds, fraction = (raw.available(name, 32).cast(pl.UInt64) for name in names)
    if settings.ioam_fraction == "microseconds":
        fraction = fraction * pl.lit(MICROSECOND_NS, pl.UInt64)
    elif settings.ioam_fraction == "ntp":
        fraction = fraction * pl.lit(BILLION, pl.UInt64) // pl.lit(1 << NTP_BITS, pl.UInt64)
    received = seconds * pl.lit(BILLION, pl.UInt64) + fraction
    left = received if latency is None else received + latency.cast(pl.UInt64).fill_null(0)
    return {"ingress_ts_ns": received, "ts_ns": left}
