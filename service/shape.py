"""Answers of the store as JSON: rows, and series that share one time axis."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from service.endpoint import time_text

FLOW = ("flow", "tenant", "vrf", "vni", "src", "sport", "dst", "dport", "protocol")
"""Columns that name a flow."""

HOP = ("node", "port", "device", "interface", "stage", "orientation", "capacity_bps")
"""Columns that name a hop."""

Row = dict[str, Any]


def records(frame: pl.DataFrame) -> list[Row]:
    """Rows as JSON objects: hashes as text (JSON numbers lose bits), NaN as null."""
    floats = pl.col(pl.Float64).fill_nan(None)
    hashes = [pl.col("flow").cast(pl.String)] if "flow" in frame.columns else []
    return frame.with_columns(floats, *hashes).to_dicts()


def changes_of(frame: pl.DataFrame) -> list[Row]:
    """Changes of alerts as JSON objects, with their labels as one."""
    return [row | {"labels": json.loads(row["labels"])} for row in records(frame)]


def interval(from_ns: int, to_ns: int, step_ns: int | None = None) -> Row:
    """The time that an answer covers; `step_ns` is the width of a cell where it has cells."""
    made: Row = {
        "from_ns": from_ns,
        "to_ns": to_ns,
        "from": time_text(from_ns),
        "to": time_text(to_ns),
    }
    return made | ({"step_ns": step_ns} if step_ns else {})


def flow_of(row: Mapping[str, Any]) -> Row:
    """The flow that a row is about."""
    return {name: row[name] for name in FLOW if name in row}


def hop_of(row: Mapping[str, Any]) -> Row | None:
    """The hop that a row names, or None."""
    if row.get("node") is None:
        return None
    return {name: row[name] for name in HOP if name in row}


def rest_of(row: Mapping[str, Any]) -> Row:
    """What a row says besides its flow and its hop."""
    return {name: value for name, value in row.items() if name not in FLOW and name not in HOP}


def series(
    rows: Iterable[Mapping[str, Any]], times: Sequence[int], names: Sequence[str]
) -> dict[str, list[Any]]:
    """Columns of rows on a time axis; null where there is no row."""
    by_time = {row["time_ns"]: row for row in rows}
    empty: Row = {}
    return {name: [by_time.get(time, empty).get(name) for time in times] for name in names}
