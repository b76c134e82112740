"""Telemetry reports in units: what the reporting node saw is a hop of the inner packet's path.

It is the hop behind the last of a stack that the packet carries, or hop 0 if it carries none. All
bits one mean that the node could not tell, but for timestamps that wrap at 32 bits.
"""

import polars as pl

from collector.observation.hop import HOPS
from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw

PLAIN = (
    ("port", "report_port", 16),
    ("ingress_port", "report_ingress", 16),
    ("latency_ns", "report_latency", 32),
    ("l2_port", "report_l2_port", 32),
    ("l2_ingress_port", "report_l2_ingress", 32),
    ("buffer", "report_buffer", 8),
)
"""Column of the hop, raw column, bits."""
SCALED = (("qlen_bytes", "report_occupancy", 24), ("buffer_bytes", "report_buffer_occupancy", 24))
EITHER = (
    ("queue", ("report_queue", 8), ("report_drop_queue", 8)),
    ("ts_ns", ("report_egress_ts", 64), ("report_egress_ts_low", 0)),
    ("ingress_ts_ns", ("report_ingress_ts", 64), ("report_ingress_ts_low", 0)),
)
"""Column of the hop, the raw columns that it can be in; 0 bits: every value is one."""


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of the reports and of the hop that each adds."""
    told: dict[str, pl.Expr] = {}
    if raw.has("report_dqf"):
        flags = pl.col("report_dqf").cast(pl.UInt8) * pl.lit(2, pl.UInt8)
        told["report_flags"] = (
            pl.coalesce(pl.col("report_flags"), flags) if raw.has("report_flags") else flags
        )
    if not raw.has("report_hop"):
        return told
    reported, before = pl.col("report_hop").is_not_null(), pl.col("hop_count")
    count = before.cast(pl.UInt8)
    told["hop_count"] = pl.when(reported & (before < HOPS)).then(count + 1).otherwise(count)
    saw = seen(raw, settings)
    for hop in range(min(raw.hops + 1, HOPS)):
        here = reported & (before == hop)
        told |= {f"h{hop}_{name}": pl.when(here).then(values) for name, values in saw.items()}
    return told


def seen(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """What the reporting node saw, by the names of a hop's columns."""
    told = {name: raw.available(each, bits) for name, each, bits in PLAIN if raw.has(each)}
    for name, each, bits in SCALED:
        if raw.has(each):
            units = raw.available(each, bits).cast(pl.UInt64)
            told[name] = units * pl.lit(settings.int_occupancy_bytes, pl.UInt64)
    for name, *places in EITHER:
        values = [
            (raw.available(each, bits) if bits else pl.col(each)).cast(pl.UInt64)
            for each, bits in places
            if raw.has(each)
        ]
        if values:
            told[name] = pl.coalesce(values)
    if raw.has("report_utilization") and settings.report_utilization_full:
        parts = raw.available("report_utilization", 32).cast(pl.Float64)
        told["utilization"] = parts / settings.report_utilization_full
    if raw.has("report_node"):
        told["node"] = pl.col("report_node")
    return told
