"""CSIG values in units: a bucket or a quantum is a half-open range."""

import numpy as np
import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw
from collector.wire.csig import COMPACT

SIGNAL_TYPES, BUCKETS = 16, 32
PREFIXES = ("csig", "csig_echo")


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Both ends of each signal, in bit/s, as a ratio, or in ns."""
    told: dict[str, pl.Expr] = {}
    for prefix in PREFIXES:
        if raw.has(f"{prefix}_s"):
            told |= signal(prefix, settings)
    return told


def signal(prefix: str, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Both ends of one signal."""
    kind, value = pl.col(f"{prefix}_t"), pl.col(f"{prefix}_s")
    compact = pl.col(f"{prefix}_variant") == COMPACT
    quantum = pl.lit(quanta(settings)).gather(kind)
    place = kind.cast(pl.UInt32) * BUCKETS + value % BUCKETS
    low, high = (pl.lit(ends).gather(place) for ends in buckets(settings))
    value = value.cast(pl.Float64)
    return {
        f"{prefix}_low": pl.when(compact).then(low).otherwise(value * quantum),
        f"{prefix}_high": pl.when(compact).then(high).otherwise((value + 1) * quantum),
    }


def quanta(settings: CollectorSettings) -> pl.Series:
    """Quantum of expanded signals by type, null where no setting says."""
    by_type = [settings.csig_quanta.get(kind) for kind in range(SIGNAL_TYPES)]
    return pl.Series("quantum", by_type, pl.Float64)


def buckets(settings: CollectorSettings) -> tuple[pl.Series, pl.Series]:
    """Low and high ends of compact values by type and bucket, null where no setting says."""
    ends = np.full((2, SIGNAL_TYPES, BUCKETS), np.nan)
    for kind, edges in settings.csig_buckets.items():
        ends[0, kind, : len(edges)] = edges[:BUCKETS]
        ends[1, kind, : len(edges) - 1] = edges[1 : BUCKETS + 1]
    low, high = (pl.Series(name, end.ravel(), nan_to_null=True)
                 for name, end in zip(("low", "high"), ends, strict=True))  # fmt: skip
    return low, high
