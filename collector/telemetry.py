"""What INT, CSIG and AECN say in the units of observations: expressions over the walk's matrix."""

import numpy as np
import polars as pl

from collector.graph import Plan
from collector.settings import CollectorSettings
from collector.walked import Walked
from collector.wire.aecn import INFOS
from collector.wire.csig import COMPACT

BITS_PER_MEGABIT = 1_000_000
HOP_COLUMNS = {"node": "node", "port": "port", "occupancy": "qlen_bytes", "tx_bytes": "tx_bytes",
               "ts": "ts_ns", "b_mbps": "b_bps", "latency": "latency_ns"}  # fmt: skip
"""Columns of a hop by the names of the wire table."""
SIGNAL_TYPES, BUCKETS = 16, 32


def telemetry(walked: Walked, hops: int, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Expressions by column; `hops` is the longest stack."""
    columns: dict[str, pl.Expr] = {}
    if walked.written("int_version"):
        columns |= inband(walked, hops, settings)
    for prefix in ("csig", "csig_echo"):
        if walked.written(f"{prefix}_variant"):
            columns |= signal(walked, prefix, settings)
    if walked.written("aecn_type"):
        columns |= congestion_info(walked, settings)
    return columns


def announced(plan: Plan, name: str) -> dict[str, tuple[pl.Expr, int]]:
    """What a header's records hold: by column, whether a frame's bitmap names it, and its width."""
    rule = next(header.records for header in plan.headers if header.name == name)
    assert rule is not None
    width = rule.bits // len(rule.bitmap)
    return {
        field.column: (
            pl.col(rule.bitmap[part.bit // width])
            & pl.lit(1 << width - 1 - part.bit % width, pl.UInt64)
            != 0,
            field.bits,
        )
        for part in rule.parts
        for field in part.fields
        if field.column
    }


def inband(walked: Walked, hops: int, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Columns of the INT stacks; all bits one means that the hop could not tell."""
    reflected = pl.lit(value=False)
    if settings.int_on_ack == "reflected":
        reflected = (pl.col("payload_bytes") == 0) & (pl.col("hop_count") > 0)
    columns = {"int_reflected": walked.told("int_version", values=reflected)}
    scales = {"occupancy": settings.int_occupancy_bytes, "b_mbps": BITS_PER_MEGABIT}
    named = announced(walked.plan, "int_md")
    for hop in range(hops):
        in_stack = pl.col("hop_count") > hop
        for raw, name in HOP_COLUMNS.items():
            if raw in named:
                asked, bits = named[raw]
                values = pl.col(f"h{hop}_{raw}")
                available = values != pl.lit((1 << bits) - 1, pl.UInt64)
                scaled = values * pl.lit(scales.get(raw, 1), pl.UInt64)
                columns[f"h{hop}_{name}"] = walked.told(
                    "int_version", in_stack, asked, available, values=scaled
                )
    return columns


def signal(walked: Walked, prefix: str, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Both ends of a CSIG value in its unit; buckets and quanta are half-open."""
    kind, value = pl.col(f"{prefix}_t"), pl.col(f"{prefix}_s")
    compact = pl.col(f"{prefix}_variant") == COMPACT
    quantum = pl.lit(quanta(settings)).gather(kind)
    low, high = (
        pl.lit(ends).gather(kind * BUCKETS + value % BUCKETS) for ends in buckets(settings)
    )
    ends = {
        "low": pl.when(compact).then(low).otherwise(value * quantum),
        "high": pl.when(compact).then(high).otherwise((value + 1) * quantum),
    }
    return {
        f"{prefix}_{end}": walked.told(f"{prefix}_variant", values=values)
        for end, values in ends.items()
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


def congestion_info(walked: Walked, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """AECN data by the bits of its type, and the inflight ratio as u'."""
    columns = {}
    named = announced(walked.plan, "aecn")
    for name, _ in INFOS:
        asked, _ = named[f"aecn_{name}"]
        columns[f"aecn_{name}"] = walked.told(f"aecn_{name}", asked)
    ratio = columns["aecn_inflight_ratio"]
    columns["aecn_u"] = ratio.cast(pl.Float64) * settings.aecn_inflight_scale
    return columns
