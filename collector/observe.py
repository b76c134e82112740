"""From what the walk found to observations: units are converted here, once."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from collector.arena import Arena
from collector.arrow import array, fixed, table, values
from collector.columns import FLAT, KEY
from collector.flow_key import flow_keys, salt
from collector.frame import UNNAMED, Frames
from collector.observation import OBSERVATION, SCHEMA
from collector.repeated import repeated
from collector.settings import CollectorSettings
from collector.telemetry import telemetry
from collector.telemetry.raw import Raw
from collector.walked import Walked

NULLABLE = {column.name for column in OBSERVATION if column.nullable}
OWN = ("spi", "roce_qp")
"""What one direction of a conversation has for itself."""
TYPES: dict[type[pl.DataType], type[np.unsignedinteger[Any]]] = {
    pl.UInt8: np.uint8,
    pl.UInt16: np.uint16,
    pl.UInt32: np.uint32,
    pl.UInt64: np.uint64,
}


def observe(
    walked: Walked,
    frames: Frames,
    points: list[str],
    source: str,
    settings: CollectorSettings,
    arena: Arena,
) -> pl.DataFrame:
    """Observations of what the walk found, see `collector.observation`."""
    raw = walked.raw
    computed = telemetry(Raw(raw), settings)
    columns = {each.name: each for each in raw if each.name in FLAT and each.name not in computed}
    columns |= {each.name: each for each in told(raw, computed)}
    seen = context(walked, frames, arena) | identity(columns, raw.height, settings, arena)
    columns |= {each.name: each for each in table(seen)}
    columns["length"] = sent(columns)
    columns["point"] = point(walked, frames, points)
    for name, text in (("source", source), ("tenant", settings.tenant), ("vrf", settings.vrf)):
        columns[name] = repeated(name, text, raw.height)
    return pl.DataFrame([columns[name] for name in SCHEMA if name in columns])


def told(raw: pl.DataFrame, expressions: Mapping[str, pl.Expr]) -> list[pl.Series]:
    """Columns that are computed; those that are null in every row are left out."""
    if not expressions:
        return []
    rows = raw.select(each.cast(SCHEMA[name]).alias(name) for name, each in expressions.items())
    return [each for each in rows if each.name not in NULLABLE or each.null_count() < rows.height]


def whole(walked: Walked, frames: Frames) -> bool:
    """Whether every frame has one row."""
    row = walked.row
    return len(row) == len(frames) and (not len(row) or bool(row[-1] == len(row) - 1))


def point(walked: Walked, frames: Frames, points: list[str]) -> pl.Series:
    """Where each row's frame was seen."""
    if len(points) <= 1:
        return repeated("point", points[0] if points else UNNAMED, len(walked.row))
    interface = pl.Series(frames.interface[walked.row]).cast(pl.UInt32)
    return pl.Series("point", points, dtype=pl.String).gather(interface)


def context(walked: Walked, frames: Frames, arena: Arena) -> dict[str, pa.Array]:
    """When each row's frame was seen, its number, and its length as it came here."""
    time_ns, length = frames.time_ns, frames.length
    if not whole(walked, frames):
        time_ns, length = time_ns[walked.row], length[walked.row]
    [number] = arena.arrays(len(walked.row), np.uint64)
    number[:] = walked.row
    number += np.uint64(frames.first)
    return {
        "time_ns": array(time_ns),
        "frame": array(number),
        "length": array(length.view(np.uint32)),
    }


def sent(columns: Mapping[str, pl.Series]) -> pl.Series:
    """Lengths: a sample tells how long its frame was, which the datagram that holds it does not."""
    if "mirror_length" not in columns:
        return columns["length"]
    told = columns["mirror_length"]
    return columns["length"].zip_with(told.is_null(), told)


def identity(
    columns: Mapping[str, pl.Series], rows: int, settings: CollectorSettings, arena: Arena
) -> dict[str, pa.Array]:
    """Hashes of the flow's key."""
    own = next((name for name in OWN if name in columns), OWN[0])
    conversation, flow, direction = arena.arrays(rows, np.uint64, np.uint64, np.uint8)
    hashed: Any = flow_keys
    hashed(*(plain(columns, name, rows) for name in (*KEY, "vni", own)),
           salt(settings.tenant, settings.vrf), conversation, flow, direction)  # fmt: skip
    return {
        "conversation": array(conversation),
        "flow": array(flow),
        "direction": array(direction),
    }


def plain(columns: Mapping[str, pl.Series], name: str, rows: int) -> NDArray[Any]:
    """A column as an array, 0 where it is null."""
    if name not in columns:
        return fixed(np.zeros(rows, TYPES[type(SCHEMA[name])]))
    return values(columns[name])
