"""INT stacks in units: all bits one means that the hop could not tell."""

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw

BITS_PER_MEGABIT = 1_000_000
SYN, RST, ACK = 2, 4, 16
HOP_COLUMNS = (
    ("node", "node", 32),
    ("port", "port", 16),
    ("ingress_port", "ingress_port", 16),
    ("queue", "queue", 8),
    ("occupancy", "qlen_bytes", 24),
    ("ingress_ts", "ingress_ts_ns", 64),
    ("int1_ingress_ts", "ingress_ts_ns", 32),
    ("ts", "ts_ns", 64),
    ("int1_ts", "ts_ns", 32),
    ("latency", "latency_ns", 32),
    ("l2_port", "l2_port", 32),
    ("int1_l2_port", "l2_port", 16),
    ("l2_ingress_port", "l2_ingress_port", 32),
    ("int1_l2_ingress_port", "l2_ingress_port", 16),
    ("buffer", "buffer", 8),
    ("buffer_occupancy", "buffer_bytes", 24),
    ("complement", "complement", 32),
)
"""Baseline metadata: raw column, column of the observation, bits. Those of version 1.0 that have
other widths have a prefix."""


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of the INT stacks."""
    if not raw.has("int_version"):
        return {}
    inband = pl.col("int_version").is_not_null()
    reflected = pl.lit(value=False)
    if settings.int_on_ack == "reflected":
        reflected = acknowledges(raw) & (pl.col("hop_count") > 0)
    told: dict[str, pl.Expr] = {"int_reflected": pl.when(inband).then(reflected)}
    widths = dict(settings.int_domain)
    own = [("tx_bytes", "tx_bytes", widths.get("tx_bytes", 0)),
           ("b_mbps", "b_bps", widths.get("b_mbps", 0))]  # fmt: skip
    scales = {"occupancy": settings.int_occupancy_bytes, "b_mbps": BITS_PER_MEGABIT,
              "buffer_occupancy": settings.int_buffer_bytes}  # fmt: skip
    for name, column, bits in (*HOP_COLUMNS, *own):
        for hop, each in raw.each_hop(name):
            values = raw.available(each, bits)
            scale = scales.get(name, 1)
            if scale != 1:
                values = values.cast(pl.UInt64) * pl.lit(scale, pl.UInt64)
            target = f"h{hop}_{column}"
            told[target] = pl.coalesce(told[target], values) if target in told else values
    if settings.int_utilization_full is not None:
        for hop, each in raw.each_hop("tx_utilization"):
            used = raw.available(each, 32).cast(pl.Float64)
            told[f"h{hop}_utilization"] = used / settings.int_utilization_full
    return told


def acknowledges(raw: Raw) -> pl.Expr:
    """Whether nothing but an acknowledgment is carried: by TCP, but for SYN and RST, or by RoCE."""
    told = pl.lit(value=False)
    if raw.has("flags"):
        told = (pl.col("flags") & (ACK | SYN | RST) == ACK).fill_null(value=False)
    if raw.has("roce_syndrome"):
        told = told | pl.col("roce_syndrome").is_not_null()
    return told & (pl.col("payload_bytes") == 0)
