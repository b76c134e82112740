"""From what the walk found to observations: units are converted here, once."""

import numpy as np
import polars as pl

from collector.columns import FLAT, KEY
from collector.flow_key import flow_keys, salt
from collector.frame import Frames
from collector.observation import OBSERVATION, SCHEMA
from collector.settings import CollectorSettings
from collector.telemetry import telemetry
from collector.telemetry.raw import Raw
from collector.walked import Walked
from collector.wire.inband import NPT_PORT

NULLABLE = {column.name for column in OBSERVATION if column.nullable}
CONTEXT = ("time_ns", "point", "frame", "length")


def observe(
    walked: Walked, frames: Frames, points: list[str], source: str, settings: CollectorSettings
) -> pl.DataFrame:
    """Observations of what the walk found, see `collector.observation`."""
    raw = walked.raw
    told = {name: pl.col(name) for name in raw.columns if name in FLAT}
    told |= keys(raw, settings) | telemetry(Raw(raw), settings)
    for name, text in (("source", source), ("tenant", settings.tenant), ("vrf", settings.vrf)):
        told[name] = pl.lit(text)
    rows = (
        raw.lazy()
        .with_columns(context(walked, frames, points))
        .select(
            told.get(name, pl.col(name)).cast(dtype).alias(name)
            for name, dtype in SCHEMA.items()
            if name in told or name in CONTEXT
        )
        .collect()
    )
    rows = rows.with_columns(identity(rows, settings))
    return rows.select(
        name
        for name in SCHEMA
        if name in rows.columns
        and not (name in NULLABLE and rows[name].null_count() == rows.height)
    )


def context(walked: Walked, frames: Frames, points: list[str]) -> list[pl.Series]:
    """Where and when each row's frame was seen."""
    names = pl.Series(points or ["unknown"], dtype=pl.String)
    row = walked.row
    return [
        pl.Series("time_ns", frames.time_ns[row]),
        names.gather(pl.Series(frames.interface[row].astype(np.uint32))).alias("point"),
        pl.Series("frame", (frames.first + row).astype(np.uint64)),
        pl.Series("length", frames.length[row]),
    ]


def keys(raw: pl.DataFrame, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """The flow's key; INT that a port announces gives the original port back."""
    zero = pl.lit(0, pl.UInt64)
    columns = {name: pl.col(name).fill_null(0) if name in raw.columns else zero for name in KEY}
    if "int_next" in raw.columns:
        announced = pl.col("dport").is_in(settings.int_udp_ports)
        by_port = announced & (pl.col("int_npt") == NPT_PORT)
        renamed = pl.when(by_port).then(pl.col("int_next"))
        columns["dport"] = pl.coalesce(renamed, columns["dport"])
    return columns


def identity(rows: pl.DataFrame, settings: CollectorSettings) -> list[pl.Series]:
    """Hashes of the flow's key."""
    size = rows.height
    zero = pl.Series("vni", np.zeros(size, np.uint64))
    parts = [rows[name] for name in KEY] + [rows["vni"] if "vni" in rows.columns else zero]
    src_hi, src_lo, dst_hi, dst_lo, sport, dport, protocol, vni = (
        part.cast(pl.UInt64).fill_null(0).to_numpy() for part in parts
    )
    ports = sport << np.uint64(24) | dport << np.uint64(8) | protocol
    conversation, flow = np.empty(size, np.uint64), np.empty(size, np.uint64)
    direction = np.empty(size, np.uint8)
    flow_keys(
        src_hi, src_lo, dst_hi, dst_lo, ports, vni, salt(settings.tenant, settings.vrf),
        conversation, flow, direction,
    )  # fmt: skip
    return [
        pl.Series("conversation", conversation),
        pl.Series("flow", flow),
        pl.Series("direction", direction),
    ]
