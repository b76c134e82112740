"""Samples of hop load out of INT stacks and CSIG signals, in one shape.

Columns: time_ns, flow, point, node, port, hop_index, source, u_n (hop load in 1e-9), queue_bytes,
standing (whether that queue is a standing one).
"""

from collections.abc import Iterator

import polars as pl

from pipeline.load_unit import nano
from pipeline.reserved import PLACE, UNTOLD
from pipeline.unit import BITS, SECOND

UNPLACED = 255
"""Hop index of a hop whose place on the path is not told."""
MOST_QUEUE = 1 << 40
"""Bytes that no queue has; more is cut, so that sums cannot overflow."""


def samples_of_stacks(loads: pl.DataFrame, standing_ns: float) -> Iterator[pl.DataFrame]:
    """Hop loads of INT stacks (`Tracked.hop_loads`), hop by hop."""
    for hop in range(hop_count(loads)):
        rows = loads.filter(pl.col(f"u{hop}").is_finite())
        queue, capacity = (value(rows, f"h{hop}_{end}") for end in ("qlen_bytes", "b_bps"))
        drained_ns = queue * (BITS * SECOND) / capacity
        yield rows.select(
            "time_ns",
            "flow",
            "point",
            *(place_of(rows, hop, end).alias(end) for end in ("node", "port")),
            pl.lit(hop, pl.UInt8).alias("hop_index"),
            pl.lit("int").alias("source"),
            nano(pl.col(f"u{hop}")).alias("u_n"),
            whole(queue).alias("queue_bytes"),
            (drained_ns > standing_ns).fill_null(value=False).alias("standing"),
        )


def hop_count(loads: pl.DataFrame) -> int:
    """Hops that the longest stack has."""
    return sum(name[0] == "u" and name[1:].isdecimal() for name in loads.columns)


def place_of(loads: pl.DataFrame, hop: int, end: str) -> pl.Expr:
    """Node or port of a hop; what is not told has an id of its own (`reserved`)."""
    node, port = value(loads, f"h{hop}_node"), value(loads, f"h{hop}_port")
    told = node.fill_null(PLACE)
    if end == "port":
        told = pl.when(node.is_null()).then(pl.lit(hop)).otherwise(port.fill_null(UNTOLD))
    return told.cast(pl.UInt32)


def value(rows: pl.DataFrame, name: str) -> pl.Expr:
    """A value of a hop as a float, which holds every id and any capacity; null when left out."""
    told = pl.col(name) if name in rows.columns else pl.lit(None)
    return told.cast(pl.Float64)


def whole(queue: pl.Expr) -> pl.Expr:
    """A queue as an integer that sums hold; what is not finite is null."""
    return pl.when(queue.is_finite()).then(queue.clip(0, MOST_QUEUE)).round().cast(pl.Int64)


def samples_of_signals(terms: pl.DataFrame, standing_ns: float) -> pl.DataFrame:
    """Terms of CSIG signals (`csig_terms`)."""
    return terms.select(
        "time_ns",
        "flow",
        "point",
        "node",
        "port",
        pl.lit(UNPLACED, pl.UInt8).alias("hop_index"),
        "source",
        nano(pl.col("u")).alias("u_n"),
        whole(pl.col("queue_bytes")),
        (pl.col("delay_ns") > standing_ns).fill_null(value=False).alias("standing"),
    ).drop_nulls("u_n")
