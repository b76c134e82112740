"""AECN values in units."""

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """The inflight ratio as u'."""
    if not raw.has("aecn_inflight_ratio"):
        return {}
    ratio = pl.col("aecn_inflight_ratio").cast(pl.Float64)
    return {"aecn_u": ratio * settings.aecn_inflight_scale}
