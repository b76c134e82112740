"""From the raw matrix of the walk to observations: units are converted here, once."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.flow_key import flow_keys, salt
from collector.frame import Frames
from collector.graph import Plan
from collector.observation import HOPS, SCHEMA
from collector.settings import CollectorSettings
from collector.walk import walk
from collector.wire.aecn import INFOS
from collector.wire.csig import COMPACT
from collector.wire.inband import NPT_PORT

Matrix = NDArray[np.uint64]
UNAVAILABLE = {"node": 32, "port": 16, "occupancy": 24, "latency": 32, "ts": 64, "tx_bytes": 64,
               "b_mbps": 32, "tx_utilization": 32}  # fmt: skip
"""Widths of hop metadata: all bits one means that the hop could not tell."""
ADDRESSES = ("src_hi", "src_lo", "dst_hi", "dst_lo")
TRANSPORTS = ("tcp", "udp")
BITS_PER_MEGABIT = 1_000_000
BY_TYPE_BIT = {f"aecn_{name}" for name, _ in INFOS}
"""Columns that a bit of the AECN type announces; without it they are null."""


def observe(
    frames: Frames, points: list[str], source: str, plan: Plan, settings: CollectorSettings
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Decode frames into observations.

    Returns the rows of all frames whose flow is known, in frame order, and the number of frames by
    status.
    """
    matrix = walk(frames, plan)
    rows = {name: matrix[at] for at, name in enumerate(plan.columns)}
    endings = np.bincount(rows["status"].astype(np.int64))
    kept = np.flatnonzero(known(rows, plan))
    if kept.size < frames.offset.size:
        rows = {
            name: row[kept]
            for name, row in rows.items()
            if name == "hop_count" or not name.startswith("h") or row.any()
        }
    seen = int(np.bitwise_or.reduce(rows["layers"])) if kept.size else 0
    columns = context(frames, kept, points, source, settings)
    columns |= flat(rows, plan, seen)
    if seen & plan.layer("int_md"):
        columns |= inband(rows, plan, settings)
    columns |= congestion_signals(rows, plan, seen, settings)
    columns |= identity(rows, settings)
    frame = pl.DataFrame({name: columns[name] for name in SCHEMA if name in columns})
    return frame.cast({name: SCHEMA[name] for name in frame.columns}), endings


def known(rows: dict[str, Matrix], plan: Plan) -> NDArray[np.bool_]:
    """Frames whose flow is known: decoded, or failed behind their transport header."""
    layers = rows["layers"]
    transport = layers & np.uint64(plan.layer(*TRANSPORTS)) != 0
    addressed = layers & np.uint64(plan.layer("ipv4", "ipv6")) != 0
    found: NDArray[np.bool_] = addressed & ((rows["status"] == 0) | transport)
    return found


def context(
    frames: Frames,
    kept: NDArray[np.int64],
    points: list[str],
    source: str,
    settings: CollectorSettings,
) -> dict[str, pl.Series]:
    """Where and when each frame was seen."""
    size = kept.size
    names = pl.Series("points", points or ["unknown"], pl.String)
    return {
        "time_ns": pl.Series("time_ns", frames.time_ns[kept]),
        "source": pl.repeat(source, size, dtype=pl.String, eager=True),
        "point": names.gather(pl.Series(frames.interface[kept].astype(np.uint32))),
        "frame": pl.Series("frame", kept.astype(np.uint64) + np.uint64(frames.first)),
        "length": pl.Series("length", frames.length[kept]),
        "tenant": pl.repeat(settings.tenant, size, dtype=pl.String, eager=True),
        "vrf": pl.repeat(settings.vrf, size, dtype=pl.String, eager=True),
    }


def flat(rows: dict[str, Matrix], plan: Plan, seen: int) -> dict[str, pl.Series]:
    """Columns taken over as they are; null where no walked header writes them."""
    columns: dict[str, pl.Series] = {}
    for name in SCHEMA:
        if name not in rows or name.startswith("h") or name in BY_TYPE_BIT:
            continue
        bits = plan.layers.get(name)
        if bits is None:
            columns[name] = pl.Series(name, rows[name])
        elif bits & seen or name in ADDRESSES or name in {"sport", "dport", "protocol"}:
            columns[name] = present(name, rows[name], rows["layers"], bits)
    columns["hop_count"] = pl.Series("hop_count", rows["hop_count"])
    return columns


def present(name: str, values: Matrix, layers: Matrix, bits: int) -> pl.Series:
    """A column that is null where none of the headers in `bits` was walked; keys are 0 instead."""
    series = pl.Series(name, values)
    if name in ADDRESSES or name in {"sport", "dport", "protocol"}:
        return series
    there = layers & np.uint64(bits) != 0
    return series if there.all() else masked(series, there)


def masked(series: pl.Series, there: NDArray[np.bool_]) -> pl.Series:
    """The series with nulls where `there` is false."""
    return series.to_frame().select(pl.when(pl.Series(there)).then(pl.col(series.name))).to_series()


def identity(rows: dict[str, Matrix], settings: CollectorSettings) -> dict[str, pl.Series]:
    """Flow key and its hashes; INT announced by a port gives the original port back."""
    dport = rows["dport"].copy()
    if "int_npt" in rows:
        renamed = (rows["int_npt"] == NPT_PORT) & (rows["int_version"] != 0)
        renamed &= np.isin(dport, settings.int_udp_ports)
        dport[renamed] = rows["int_next"][renamed]
    ports = rows["sport"] << np.uint64(24) | dport << np.uint64(8) | rows["protocol"]
    size = dport.size
    conversation, flow = np.empty(size, np.uint64), np.empty(size, np.uint64)
    direction = np.empty(size, np.uint8)
    src_hi, src_lo, dst_hi, dst_lo = (np.ascontiguousarray(rows[name]) for name in ADDRESSES)
    flow_keys(
        src_hi,
        src_lo,
        dst_hi,
        dst_lo,
        ports,
        np.ascontiguousarray(rows["vni"]),
        salt(settings.tenant, settings.vrf),
        conversation,
        flow,
        direction,
    )
    return {
        "dport": pl.Series("dport", dport),
        "conversation": pl.Series("conversation", conversation),
        "flow": pl.Series("flow", flow),
        "direction": pl.Series("direction", direction),
    }


def inband(
    rows: dict[str, Matrix], plan: Plan, settings: CollectorSettings
) -> dict[str, pl.Series]:
    """Hop columns of the INT stacks in this batch, as far as the longest one goes."""
    pure_ack = rows["payload_bytes"] == 0
    reflected = pure_ack & (rows["hop_count"] > 0) & (settings.int_on_ack == "reflected")
    there = rows["layers"] & np.uint64(plan.layer("int_md")) != 0
    columns = {"int_reflected": masked(pl.Series("int_reflected", reflected), there)}
    scales = {"occupancy": settings.int_occupancy_bytes, "b_mbps": BITS_PER_MEGABIT}
    names = {"node": "node", "port": "port", "occupancy": "qlen_bytes", "tx_bytes": "tx_bytes",
             "ts": "ts_ns", "b_mbps": "b_bps", "latency": "latency_ns"}  # fmt: skip
    longest = int(rows["hop_count"].max(initial=0))
    bits = carried(plan)
    for hop in range(min(longest, HOPS)):
        in_stack = rows["hop_count"] > hop
        for raw, name in names.items():
            values = rows.get(f"h{hop}_{raw}")
            if values is None or raw not in bits:
                continue
            asked = combined(rows) & np.uint64(bits[raw]) != 0
            ones = np.uint64((1 << UNAVAILABLE[raw]) - 1)
            told = in_stack & asked & (values != ones)
            if told.any():
                scaled = values * np.uint64(scales.get(raw, 1))
                columns[f"h{hop}_{name}"] = masked(pl.Series(f"h{hop}_{name}", scaled), told)
    return columns


def combined(rows: dict[str, Matrix]) -> Matrix:
    """Both instruction bitmaps of INT as one."""
    return rows["int_bitmap"] << np.uint64(16) | rows["int_domain_bitmap"]


def carried(plan: Plan) -> dict[str, int]:
    """Which instruction bit announces each hop column."""
    records = next(header.records for header in plan.headers if header.name == "int_md")
    parts = records.parts if records else ()
    return {
        field.column: 1 << 31 - part.bit for part in parts for field in part.fields if field.column
    }


def congestion_signals(
    rows: dict[str, Matrix], plan: Plan, seen: int, settings: CollectorSettings
) -> dict[str, pl.Series]:
    """CSIG values with both ends in their units, and the AECN inflight ratio as u'."""
    columns: dict[str, pl.Series] = {}
    for prefix in ("csig", "csig_echo"):
        bits = plan.layers[f"{prefix}_variant"]
        if seen & bits:
            there = rows["layers"] & np.uint64(bits) != 0
            low, high = bounds(
                rows[f"{prefix}_variant"], rows[f"{prefix}_t"], rows[f"{prefix}_s"], settings
            )
            for end, values in (("low", low), ("high", high)):
                told = there & np.isfinite(values)
                columns[f"{prefix}_{end}"] = masked(pl.Series(f"{prefix}_{end}", values), told)
    if seen & plan.layer("aecn"):
        there = rows["layers"] & np.uint64(plan.layer("aecn")) != 0
        for bit, (name, _) in enumerate(INFOS):
            place = 23 - bit if settings.aecn_numbering == "msb" else bit
            told = there & (rows["aecn_type"] >> np.uint64(place) & np.uint64(1) != 0)
            if told.any():
                columns[f"aecn_{name}"] = masked(pl.Series(name, rows[f"aecn_{name}"]), told)
        ratio = columns.get("aecn_inflight_ratio")
        if ratio is not None:
            columns["aecn_u"] = ratio.cast(pl.Float64) * settings.aecn_inflight_scale
    return columns


def bounds(
    variant: Matrix, signal: Matrix, value: Matrix, settings: CollectorSettings
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Low and high of CSIG values, NaN where no table says; buckets and quanta are half-open."""
    low, high = np.full(value.size, np.nan), np.full(value.size, np.nan)
    for number, edges in settings.csig_buckets.items():
        ends = np.full((2, 32), np.nan)
        count = min(len(edges), 32)
        ends[0, :count] = edges[:count]
        ends[1, : len(edges) - 1] = edges[1:33]
        mine = (variant == COMPACT) & (signal == number)
        low[mine], high[mine] = ends[:, value[mine].astype(np.int64) & 31]
    for number, quantum in settings.csig_quanta.items():
        mine = (variant != COMPACT) & (signal == number)
        low[mine] = value[mine] * quantum
        high[mine] = (value[mine] + np.uint64(1)) * quantum
    return low, high
