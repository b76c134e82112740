"""CSIG values in units: a bucket or a quantum is a half-open range."""

from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.arrow import values
from collector.observation.formats import CSIG_SIGNALS, LM_PARTS
from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw
from collector.wire.csig import COMPACT, EXPANDED, SIGNALS

SIGNAL_TYPES, BUCKETS = 16, 32
VARIANTS = {"compact": COMPACT, "expanded": EXPANDED}


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Both ends of each signal, in bit/s, as a ratio, or in ns, and the parts of its locator."""
    told: dict[str, pl.Expr] = {}
    for prefix in CSIG_SIGNALS:
        if raw.has(f"{prefix}_s"):
            told |= signal(raw, prefix, settings) | locator(prefix, settings)
    if raw.has("csig_echo_seen"):
        told["csig_echo_valid"] = valid(raw)
    return told


def signal(raw: Raw, prefix: str, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Both ends of one signal, and whether its type is a defined one."""
    variant = pl.col(f"{prefix}_variant")
    seen = raw.frame[f"{prefix}_variant"]
    defined = len(SIGNALS) - (settings.csig_layout == "draft")
    told = {f"{prefix}_known": pl.col(f"{prefix}_t") < defined}
    ends = zip(("low", "high"), bucket(raw, prefix, settings), steps(prefix, settings), strict=True)
    for end, compact, expanded in ends:
        if seen.max() == COMPACT:
            value = compact
        elif seen.min() == EXPANDED:
            value = expanded
        else:
            value = pl.when(variant == COMPACT).then(compact).otherwise(expanded)
        told[f"{prefix}_{end}"] = value
    return told


def bucket(raw: Raw, prefix: str, settings: CollectorSettings) -> list[pl.Expr]:
    """Both ends of a compact value.

    They are looked up here and not by an expression, which takes three times as long.
    """
    kind, value = raw.frame[f"{prefix}_t"], raw.frame[f"{prefix}_s"]
    place = values(kind).astype(np.uint16) * BUCKETS
    place += values(value).astype(np.uint16) & settings.csig_bucket_mask
    ends = []
    for edges in ranges(tuple(settings.csig_buckets.items()), settings.csig_bounded):
        looked = edges.take(place)
        found = pl.lit(pl.Series(looked, nan_to_null=True))
        ends.append(pl.when(pl.col(kind.name).is_not_null()).then(found)
                    if kind.null_count() else found)  # fmt: skip
    return ends


def steps(prefix: str, settings: CollectorSettings) -> tuple[pl.Expr, pl.Expr]:
    """Both ends of an expanded value; null where no setting says the quantum of its type."""
    kind, value = pl.col(f"{prefix}_t"), pl.col(f"{prefix}_s").cast(pl.Float64)
    quanta = [settings.csig_quanta.get(kind) for kind in range(SIGNAL_TYPES)]
    quantum = pl.lit(pl.Series(quanta, dtype=pl.Float64)).gather(kind)
    low, high = value * quantum, (value + 1) * quantum
    if not settings.csig_bases:
        return low, high
    bases = [settings.csig_bases.get(kind, 0.0) for kind in range(SIGNAL_TYPES)]
    base = pl.lit(pl.Series(bases, dtype=pl.Float64)).gather(kind)
    return base + low, base + high


@lru_cache(maxsize=16)
def ranges(
    tables: tuple[tuple[int, tuple[float, ...]], ...], bounded: tuple[int, ...]
) -> NDArray[np.float64]:
    """Low and high ends of compact values by type and bucket, NaN where no table says.

    The last edge of a table begins an open bucket, unless it bounds the one before.
    """
    ends = np.full((2, SIGNAL_TYPES * BUCKETS), np.nan)
    for kind, edges in tables:
        first = kind * BUCKETS
        count = len(edges) - (kind in bounded or len(edges) > BUCKETS)
        ends[0, first : first + count] = edges[:count]
        ends[1, first : first + len(edges) - 1] = edges[1:]
    return ends


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
