"""From the raw matrix of the walk to observations: units are converted here, once."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.flow_key import flow_keys, salt
from collector.frame import Frames
from collector.graph import Plan
from collector.observation import OBSERVATION, SCHEMA
from collector.settings import CollectorSettings
from collector.telemetry import telemetry
from collector.walk import HOP_COUNT, LAYERS, OUTER, STATUS, walk
from collector.walked import Walked
from collector.wire.inband import NPT_PORT

Matrix = NDArray[np.uint64]
TRANSPORTS = ("tcp", "udp")
KEY = ("src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport", "protocol")
"""Columns of the flow's key: 0 where no header wrote them, while all others are null there."""
AS_IT_IS = ("time_ns", "point", "frame", "length", "layers", "status", "payload_bytes")
NULLABLE = {column.name for column in OBSERVATION if column.nullable}


def observe(
    frames: Frames, points: list[str], source: str, plan: Plan, settings: CollectorSettings
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Decode frames into observations.

    Returns the rows of all frames whose flow is known, in frame order, and the number of frames by
    status.
    """
    matrix = walk(frames, plan)
    endings = np.bincount(matrix[STATUS].astype(np.int64))
    kept = known(matrix, plan)
    walked = Walked(plan, matrix[LAYERS, kept])
    hops = int(matrix[HOP_COUNT, kept].max(initial=0))
    raw = context(frames, points).hstack(taken(matrix, walked, hops))
    if not kept.all():
        raw = raw.filter(pl.Series(kept))
    told = flat(walked) | keys(walked, settings) | telemetry(walked, hops, settings)
    for name, text in (("source", source), ("tenant", settings.tenant), ("vrf", settings.vrf)):
        told[name] = pl.lit(text)
    rows = (
        raw.lazy()
        .select(
            told[name].cast(dtype).alias(name) for name, dtype in SCHEMA.items() if name in told
        )
        .collect()
    )
    rows = rows.with_columns(identity(rows, settings))
    return rows.select(
        name
        for name in SCHEMA
        if name in rows.columns
        and not (name in NULLABLE and rows[name].null_count() == rows.height)
    ), endings


def known(matrix: Matrix, plan: Plan) -> NDArray[np.bool_]:
    """Frames whose flow is known: decoded, or failed behind their transport header."""
    layers = matrix[LAYERS]
    transport = layers & np.uint64(plan.layer(*TRANSPORTS)) != 0
    addressed = layers & np.uint64(plan.layer("ipv4", "ipv6")) != 0
    found: NDArray[np.bool_] = addressed & ((matrix[STATUS] == 0) | transport)
    return found


def context(frames: Frames, points: list[str]) -> pl.DataFrame:
    """Where and when each frame was seen."""
    names = pl.Series(points or ["unknown"], dtype=pl.String)
    numbers = np.arange(frames.first, frames.first + len(frames), dtype=np.uint64)
    return pl.DataFrame(
        {
            "time_ns": frames.time_ns,
            "point": names.gather(pl.Series(frames.interface.astype(np.uint32))),
            "frame": numbers,
            "length": frames.length,
        }
    )


def taken(matrix: Matrix, walked: Walked, hops: int) -> pl.DataFrame:
    """Columns of the matrix that some frame of this batch has written."""
    fixed, per_hop = walked.plan.graph.hop_base, walked.plan.graph.hop_width
    names = walked.plan.columns[: fixed + hops * per_hop]
    return pl.DataFrame(
        {
            name: matrix[at]
            for at, name in enumerate(names)
            if at >= fixed or name not in walked.plan.layers or walked.written(name)
        }
    )


def flat(walked: Walked) -> dict[str, pl.Expr]:
    """Columns taken over as they are, null where no walked header wrote them."""
    columns = {name: walked.told(name) for name in SCHEMA if walked.written(name)}
    columns |= {name: pl.col(name) for name in AS_IT_IS}
    stacks = walked.told("int_version", values=pl.col("hop_count"))
    columns["hop_count"] = stacks.fill_null(0)
    outer = pl.col("outer_ecn")
    columns["outer_ecn"] = pl.when(outer & OUTER != 0).then(outer & (OUTER - 1))
    return columns


def keys(walked: Walked, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """The flow's key; INT that a port announces gives the original port back."""
    zero = pl.lit(0, pl.UInt64)
    columns = {
        name: walked.told(name).fill_null(zero) if walked.written(name) else zero for name in KEY
    }
    if walked.written("int_npt"):
        announced = pl.col("dport").is_in(settings.int_udp_ports)
        renamed = walked.told("int_next", pl.col("int_npt") == NPT_PORT, announced)
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
        src_hi,
        src_lo,
        dst_hi,
        dst_lo,
        ports,
        vni,
        salt(settings.tenant, settings.vrf),
        conversation,
        flow,
        direction,
    )
    return [
        pl.Series("conversation", conversation),
        pl.Series("flow", flow),
        pl.Series("direction", direction),
    ]
