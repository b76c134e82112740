"""Which message of a partition held which frames: one row a message, none the wider. Pure.

A frame finds its message by its conversation, which has one partition, and its number and time: so
no row of the store has to carry an offset.
"""

from collections.abc import Sequence

import polars as pl

from collector import Batch
from pipeline.tables import TABLES

NAME = "bus_messages"


def messages_of(place: str, partitions: int, batches: Sequence[Batch]) -> dict[str, pl.DataFrame]:
    """The rows of `NAME` for batches that came in messages; none without any, or of a lone bus."""
    number = place.rpartition("/")[2]
    rows = [
        {
            "time_ns": batch.frame["time_ns"].min(),
            "last_ns": batch.frame["time_ns"].max(),
            "place": place,
            "partition": int(number),
            "partitions": partitions,
            "offset": batch.offset,
            "source": batch.source,
            "epoch": batch.epoch,
            "first": batch.frame["frame"].min(),
            "last": batch.frame["frame"].max(),
        }
        for batch in batches
        if batch.offset is not None and batch.frame.height and "frame" in batch.frame.columns
    ]
    if not rows or not partitions or not number.isdecimal():
        return {}
    return {NAME: pl.DataFrame(rows, schema=TABLES[NAME].schema)}
