"""From what the walk found to observations: units are converted here, once."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.columns import FLAT, KEY
from collector.flow_key import flow_keys, salt
from collector.frame import Frames
from collector.observation import OBSERVATION, SCHEMA
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
    walked: Walked, frames: Frames, points: list[str], source: str, settings: CollectorSettings
) -> pl.DataFrame:
    """Observations of what the walk found, see `collector.observation`."""
    raw = walked.raw
    computed = telemetry(Raw(raw), settings)
    columns = {name: raw[name] for name in raw.columns if name in FLAT and name not in computed}
    columns |= told(raw, computed)
    columns |= context(walked, frames, points)
    columns |= identity(columns, raw.height, settings)
    for name, text in (("source", source), ("tenant", settings.tenant), ("vrf", settings.vrf)):
        columns[name] = repeated(text, raw.height)
    return pl.DataFrame([columns[name].alias(name) for name in SCHEMA if name in columns])


def told(raw: pl.DataFrame, expressions: Mapping[str, pl.Expr]) -> dict[str, pl.Series]:
    """Columns that are computed; those that are null in every row are left out."""
    if not expressions:
        return {}
    rows = raw.select(each.cast(SCHEMA[name]).alias(name) for name, each in expressions.items())
    return {
        each.name: each
        for each in rows
        if each.name not in NULLABLE or each.null_count() < rows.height
    }


@lru_cache(maxsize=16)
def _repeated(text: str, rows: int) -> pl.Series:
    return pl.repeat(text, rows, dtype=pl.String, eager=True)


def repeated(text: str, rows: int) -> pl.Series:
    """A text that is the same in every row; batches share it, for nothing changes it."""
    return _repeated(text, 1 << max(rows - 1, 0).bit_length()).head(rows)


def context(walked: Walked, frames: Frames, points: list[str]) -> dict[str, pl.Series]:
    """Where and when each row's frame was seen."""
    row = walked.row
    time_ns, length, interface = frames.time_ns, frames.length, frames.interface
    if len(row) != len(frames) or (len(row) and row[-1] != len(row) - 1):
        time_ns, length, interface = time_ns[row], length[row], interface[row]
    names = points or ["unknown"]
    if len(names) == 1:
        point = repeated(names[0], len(row))
    else:
        point = pl.Series(names, dtype=pl.String).gather(pl.Series(interface).cast(pl.UInt32))
    return {
        "time_ns": pl.Series(time_ns),
        "point": point,
        "frame": pl.Series(row.astype(np.uint64) + np.uint64(frames.first)),
        "length": pl.Series(length.view(np.uint32)),
    }


def identity(
    columns: Mapping[str, pl.Series], rows: int, settings: CollectorSettings
) -> dict[str, pl.Series]:
    """Hashes of the flow's key."""
    own = next((name for name in OWN if name in columns), OWN[0])
    conversation, flow = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
    direction = np.empty(rows, np.uint8)
    hashed: Any = flow_keys
    hashed(*(plain(columns, name, rows) for name in (*KEY, "vni", own)),
           salt(settings.tenant, settings.vrf), conversation, flow, direction)  # fmt: skip
    return {
        "conversation": pl.Series(conversation),
        "flow": pl.Series(flow),
        "direction": pl.Series(direction),
    }


def plain(columns: Mapping[str, pl.Series], name: str, rows: int) -> NDArray[Any]:
    """A column as an array, 0 where it is null."""
    if name not in columns:
        return np.zeros(rows, TYPES[type(SCHEMA[name])])
    column = columns[name]
    return (column.fill_null(0) if column.null_count() else column).to_numpy(allow_copy=True)
