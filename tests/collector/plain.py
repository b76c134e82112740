"""Observations the slow way: the scalar reader, then the same units as in production."""

from collections.abc import Iterable

import polars as pl

from collector import SCHEMA, CollectorSettings
from collector.columns import FLAT
from collector.scalar import Reading, Scalar
from collector.telemetry import telemetry
from collector.telemetry.raw import Raw


def readings(packets: Iterable[bytes], settings: CollectorSettings, link: int = 1) -> list[Reading]:
    """Every row that the scalar reader finds, frame by frame."""
    scalar = Scalar(settings)
    return [reading for packet in packets for reading in scalar.read(packet, link)]


def observed(
    packets: Iterable[bytes], settings: CollectorSettings | None = None, link: int = 1
) -> pl.DataFrame:
    """What the telemetry of these frames says, one row a reading, columns as in an observation."""
    settings = settings or CollectorSettings()
    found = [each.row() | {"status": each.status} for each in readings(packets, settings, link)]
    names = list(dict.fromkeys(name for row in found for name in row))
    raw = pl.DataFrame(
        {name: [row.get(name) for row in found] for name in names},
        schema=dict.fromkeys(names, pl.UInt64),
    )
    told = {name: pl.col(name) for name in names if name in FLAT}
    told |= telemetry(Raw(raw), settings)
    return raw.select(each.cast(SCHEMA[name]).alias(name) for name, each in told.items())
