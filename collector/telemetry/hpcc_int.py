"""Hops of the HPCC simulator in units; the counters wrap by their own widths times their units."""

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw
from collector.wire.hpcc_int import DATA

GIGABIT = 1_000_000_000
RATES = (25, 50, 100, 200, 400, 40, None, None)
"""Gbit/s by code."""
BYTES, QUEUE = 128, 80
"""Octets per unit of the byte counter and of the queue length."""


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of the hops; an acknowledgment's are those of the data's path, reflected."""
    if not raw.has("hpcc_kind"):
        return {}
    kind = pl.col("hpcc_kind")
    told: dict[str, pl.Expr] = {"int_reflected": pl.when(kind.is_not_null()).then(kind > DATA)}
    rates = pl.Series([each and each * GIGABIT for each in RATES], dtype=pl.UInt64)
    for hop, name in raw.each_hop("hpcc_rate"):
        told[f"h{hop}_b_bps"] = pl.lit(rates).gather(pl.col(name).cast(pl.UInt32))
    for hop, name in raw.each_hop("hpcc_time"):
        told[f"h{hop}_ts_ns"] = pl.col(name)
    for source, column, unit in (("bytes", "tx_bytes", BYTES), ("queue", "qlen_bytes", QUEUE)):
        for hop, name in raw.each_hop(f"hpcc_{source}"):
            scale = pl.lit(unit * settings.hpcc_multi, pl.UInt64)
            told[f"h{hop}_{column}"] = pl.col(name).cast(pl.UInt64) * scale
    return told
