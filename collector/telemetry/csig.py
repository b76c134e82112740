"""CSIG values in units: a bucket or a quantum is a half-open range."""

import numpy as np
import polars as pl

from collector.observation.formats import LM_PARTS
from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw
from collector.wire.csig import COMPACT, EXPANDED, SIGNALS

SIGNAL_TYPES, BUCKETS = 16, 32
PREFIXES = ("csig", "csig_echo")
VARIANTS = {"compact": COMPACT, "expanded": EXPANDED}


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Both ends of each signal, in bit/s, as a ratio, or in ns, and the parts of its locator."""
    told: dict[str, pl.Expr] = {}
    for prefix in PREFIXES:
        if raw.has(f"{prefix}_s"):
            told |= signal(prefix, settings) | locator(prefix, settings)
    if raw.has("csig_echo_seen"):
        told["csig_echo_valid"] = valid(raw)
    return told


def signal(prefix: str, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Both ends of one signal, and whether its type is a defined one."""
    kind, value = pl.col(f"{prefix}_t"), pl.col(f"{prefix}_s")
    compact = pl.col(f"{prefix}_variant") == COMPACT
    bucket = (value & settings.csig_bucket_mask).cast(pl.UInt32)
    place = kind.cast(pl.UInt32) * BUCKETS + bucket
    low, high = (pl.lit(ends).gather(place) for ends in buckets(settings))
    quantum, base = (pl.lit(each).gather(kind) for each in quanta(settings))
    steps = value.cast(pl.Float64)
    defined = len(SIGNALS) - (settings.csig_layout == "draft")
    return {
        f"{prefix}_low": pl.when(compact).then(low).otherwise(base + steps * quantum),
        f"{prefix}_high": pl.when(compact).then(high).otherwise(base + (steps + 1) * quantum),
        f"{prefix}_known": kind < defined,
    }


def quanta(settings: CollectorSettings) -> tuple[pl.Series, pl.Series]:
    """Quantum and base of expanded signals by type; no quantum where no setting says."""
    quantum = [settings.csig_quanta.get(kind) for kind in range(SIGNAL_TYPES)]
    base = [settings.csig_bases.get(kind, 0.0) for kind in range(SIGNAL_TYPES)]
    return pl.Series("quantum", quantum, pl.Float64), pl.Series("base", base, pl.Float64)


def buckets(settings: CollectorSettings) -> tuple[pl.Series, pl.Series]:
    """Low and high ends of compact values by type and bucket, null where no setting says.

    The last edge of a table begins an open bucket, unless it bounds the one before.
    """
    ends = np.full((2, SIGNAL_TYPES, BUCKETS), np.nan)
    for kind, edges in settings.csig_buckets.items():
        bounded = kind in settings.csig_bounded or len(edges) > BUCKETS
        count = len(edges) - bounded
        ends[0, kind, :count] = edges[:count]
        ends[1, kind, : len(edges) - 1] = edges[1:]
    low, high = (pl.Series(name, end.ravel(), nan_to_null=True)
                 for name, end in zip(("low", "high"), ends, strict=True))  # fmt: skip
    return low, high


def locator(prefix: str, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """The named parts of the locator metadata, null where its type and variant have no such."""
    told: dict[str, list[pl.Expr]] = {}
    for variant, kinds in settings.csig_lm_fields.items():
        for kind, parts in kinds.items():
            here = (pl.col(f"{prefix}_variant") == VARIANTS[variant]) & (
                pl.col(f"{prefix}_t") == kind
            )
            low = sum(bits for _, bits in parts)
            for name, bits in parts:
                low -= bits
                value = pl.col(f"{prefix}_lm").cast(pl.UInt32) // (1 << low) % (1 << bits)
                told.setdefault(name, []).append(pl.when(here).then(value))
    return {f"{prefix}_lm_{part}": pl.coalesce(told[part]) for part in LM_PARTS if part in told}


def valid(raw: Raw) -> pl.Expr:
    """Whether a reflection holds a signal; null where there is no reflection."""
    held = pl.col("csig_echo_variant").is_not_null() if raw.has("csig_echo_variant") else False
    return pl.when(pl.col("csig_echo_seen").is_not_null()).then(held)
