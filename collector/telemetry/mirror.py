"""When a mirror made its copy, in nanoseconds since 1970, where its envelope or a tap says so."""

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw

SECOND_NS = 1_000_000_000
HALF_BITS = 32
LATEST_NS = (1 << 63) - 1
IEEE_1588 = 2
"""Granularity of ERSPAN timestamps that are the nanoseconds of a second."""
TICKS_NS = {0: 100_000, 1: 100}
"""Nanoseconds of a tick by granularity (draft-foschiano-erspan-03 section 4.3)."""
USER = 3
TAI = 0


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """The timestamp; null where the envelope has only the low half of one."""
    told = [*erspan(raw, settings), *taps(raw, settings)]
    return {"mirror_time_ns": pl.coalesce(told)} if told else {}


def erspan(raw: Raw, settings: CollectorSettings) -> list[pl.Expr]:
    """Timestamps of ERSPAN type III with a sub-header that completes them."""
    if not raw.has("erspan_timestamp"):
        return []
    low, granularity = pl.col("erspan_timestamp"), pl.col("erspan_granularity")
    told: list[pl.Expr] = [
        pl.when(granularity == IEEE_1588).then(clock(pl.col(name), low))
        for name in ("erspan_seconds", "erspan_upper")
        if raw.has(name)
    ]
    if not raw.has("erspan_upper"):
        return told
    upper = pl.col("erspan_upper").cast(pl.UInt64)
    ticks = upper * pl.lit(1 << HALF_BITS, pl.UInt64) + low.cast(pl.UInt64)
    known = TICKS_NS | (
        {USER: settings.erspan_user_tick_ns} if settings.erspan_user_tick_ns else {}
    )
    for code, tick in known.items():
        fits = (granularity == code) & (ticks <= LATEST_NS // tick)
        told.append(pl.when(fits).then(ticks * pl.lit(tick, pl.UInt64)).cast(pl.Int64))
    return told


def taps(raw: Raw, settings: CollectorSettings) -> list[pl.Expr]:
    """Timestamps in tags and trailers."""
    told: list[pl.Expr] = []
    if raw.has("timestamp_seconds"):
        utc = clock(pl.col("timestamp_seconds"), pl.col("timestamp_nanoseconds"))
        ahead = settings.timestamp_tai_offset_s * SECOND_NS
        told.append(pl.when(pl.col("timestamp_scale") == TAI).then(utc - ahead).otherwise(utc))
    if raw.has("trailer_seconds"):
        told.append(clock(pl.col("trailer_seconds"), pl.col("trailer_nanoseconds")))
    return told


def clock(seconds: pl.Expr, nanoseconds: pl.Expr) -> pl.Expr:
    """Nanoseconds of a clock that counts seconds and their fraction."""
    return seconds.cast(pl.Int64) * SECOND_NS + nanoseconds.cast(pl.Int64)
