"""Gaps: payload that TCP's sequence numbers cover and no frame of an interval brought.

In an interval without data at a point they are what was acknowledged there of data that no point
has seen: then the flow sent all the same.
"""

from collections.abc import Collection

import polars as pl

from collector import at_once
from pipeline.windows import UNSEEN

OPEN = {"seq_first": "min", "seq_end": "max", UNSEEN: "sum"}
"""What is joined of open intervals besides the columns of their table, and how: by time (`timed`),
since a frame that comes late is not the last that was sent."""
SEQUENCE, HALF_SEQUENCE = 1 << 32, 1 << 31
ENDS = 2
"""Sequence numbers that SYN and FIN take."""
PLACES = 31
"""Bits of a word that tell when in the interval; those below are the number."""


def timed(number: pl.Expr, interval_ns: int) -> pl.Expr:
    """A sequence number below the time in the interval, so that words are in order of time."""
    place_ns = pl.col("time_ns") % interval_ns
    step = 1 << max(interval_ns.bit_length() - PLACES, 0)
    return place_ns // step * SEQUENCE + number % SEQUENCE


def with_gaps(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with unseen_bytes, what sequence numbers cover and frames did not bring.

    What was sent again counts against it: it is 0 or less where nothing is missing.
    """
    if "seq_first" not in rows.columns:
        return rows
    covered = (pl.col("seq_end") - pl.col("seq_first")) % SEQUENCE
    unseen = covered - pl.col("data_bytes").cast(pl.Int64)
    acked = pl.col(UNSEEN) if UNSEEN in rows.columns else pl.lit(None, pl.Int64)
    # Without data numbers may be of several connections, of which none sent.
    known = (
        pl.when(pl.col("data_bytes").fill_null(0) == 0)
        .then(acked)
        .when(covered < HALF_SEQUENCE)
        .then(unseen)
    )
    return at_once(rows.lazy().with_columns(known.alias("unseen_bytes")).drop(OPEN, strict=False))


def sent_unseen(columns: Collection[str]) -> pl.Expr:
    """Whether rows without data are of flows that sent some all the same, of `columns` told."""
    if "unseen_bytes" not in columns:
        return pl.lit(value=False)
    return (pl.col("unseen_bytes") > ENDS).fill_null(value=False)


def sent_bytes(columns: Collection[str]) -> pl.Expr:
    """The payload of rows, or where none was captured what was acknowledged unseen."""
    data = pl.col("data_bytes").fill_null(0)
    if "unseen_bytes" not in columns:
        return data
    unseen = pl.col("unseen_bytes").clip(0).cast(pl.UInt64)
    elsewhere = (data == 0) & sent_unseen(columns)
    return pl.when(elsewhere).then(unseen).otherwise(data).alias("data_bytes")
