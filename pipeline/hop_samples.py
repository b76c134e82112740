"""Samples of hop load out of INT stacks and CSIG signals, in one shape.

Columns: time_ns, flow, point, node, port, hop_index, source, u_n (hop load in 1e-9), queue_bytes,
standing (whether that queue is a standing one). Stacks with counters bring beside ts_ns (the hop's
clock), sent_ns (what the port has sent, in ns at its line rate) and queue_n (the queue's part of a
hop load, null without a T that holds for all paths). CSIG signals bring stood_n (in 1e-9),
how likely their queue stood.
"""

from collections.abc import Iterator

import polars as pl

from collector import at_once
from pipeline.fallen import FELL, FELL_NS, any_fell, of_hop
from pipeline.hop_time import time_at
from pipeline.hop_value import value
from pipeline.load_unit import nano
from pipeline.reserved import PLACE, UNTOLD
from pipeline.signals import Signals
from pipeline.standing import Standing, stood
from pipeline.unit import BITS, SECOND

UNPLACED = 255
"""Hop index of a hop whose place on the path is not told."""
MOST_QUEUE = 1 << 40
"""Bytes that no queue has; more is cut, so that sums cannot overflow."""
MOST_COUNT = 1 << 62


def samples_of_stacks(
    loads: pl.DataFrame, standing: Standing, known_rtt_ns: int = 0
) -> Iterator[pl.DataFrame]:
    """Hop loads of INT stacks (`Tracked.hop_loads`), hop by hop; `known_rtt_ns` is T, or 0."""
    falls = any_fell(loads)
    for hop in range(hop_count(loads) if loads.height else 0):
        queue, capacity = (value(loads, f"h{hop}_{end}") for end in ("qlen_bytes", "b_bps"))
        at_line_rate = (BITS * SECOND) / pl.when(capacity > 0).then(capacity)
        sent_ns = count(value(loads, f"h{hop}_tx_bytes") * at_line_rate)
        if falls:
            queue = pl.when(pl.col(f"u{hop}").is_not_null()).then(queue)
            sent_ns = pl.when(of_hop(FELL, hop)).then(FELL_NS).otherwise(sent_ns)
        drained_ns = queue * at_line_rate
        part = drained_ns / pl.lit(pl.Series([float(known_rtt_ns or 1)])).first()
        made = loads.select(
            time_at(loads, hop),
            "flow",
            "point",
            *(place_of(loads, hop, end).alias(end) for end in ("node", "port")),
            pl.lit(hop, pl.UInt8).alias("hop_index"),
            pl.lit("int").alias("source"),
            nano(pl.col(f"u{hop}")).alias("u_n"),
            whole(queue).alias("queue_bytes"),
            standing.told(queue, drained_ns).alias("standing"),
            whole_number(loads, f"h{hop}_ts_ns").alias("ts_ns"),
            sent_ns.alias("sent_ns"),
            nano(part if known_rtt_ns else pl.lit(None, pl.Float64)).alias("queue_n"),
        )
        if falls:  # what fell is told, though it is no sample
            yield made.filter(pl.col("u_n").is_not_null() | (pl.col("sent_ns") == FELL_NS))
        else:
            yield made.drop_nulls("u_n")


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


def whole_number(rows: pl.DataFrame, name: str) -> pl.Expr:
    """A counter of a hop as it is; null when left out."""
    return (pl.col(name) if name in rows.columns else pl.lit(None)).cast(pl.Int64, strict=False)


def count(told: pl.Expr) -> pl.Expr:
    """A count as an integer; what no counter can hold is null."""
    return pl.when(told.is_between(0, MOST_COUNT)).then(told).round().cast(pl.Int64)


def whole(queue: pl.Expr) -> pl.Expr:
    """A queue as an integer that sums hold; what is not finite is null."""
    return pl.when(queue.is_finite()).then(queue.clip(0, MOST_QUEUE)).round().cast(pl.Int64)


def samples_of_signals(signals: Signals, terms: pl.DataFrame, standing: Standing) -> pl.DataFrame:
    """What CSIG signals say, of which `terms` are those of hop load (`csig_terms`)."""
    told = (
        terms.lazy()
        .with_columns(stood(terms, standing))
        .select(
            "ago_ns",
            "node",
            "port",
            pl.lit(UNPLACED, pl.UInt8).alias("hop_index"),
            "source",
            nano(pl.col("u")).alias("u_n"),
            whole(pl.col("queue_bytes")),
            standing.told(pl.col("queue_bytes"), pl.col("delay_ns")).alias("standing"),
            nano(pl.col("stood")).alias("stood_n"),
        )
    )
    made = at_once(told)
    samples = signals.each(made)
    if (terms["ago_ns"] != 0).any():
        samples = samples.with_columns(pl.col("time_ns") - pl.col("ago_ns"))
    samples = samples.drop_nulls("u_n") if made["u_n"].null_count() else samples
    return samples[[name for name in samples.columns if name != "ago_ns"]]
