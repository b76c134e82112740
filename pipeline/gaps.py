"""Gaps: payload that TCP's sequence numbers cover and no frame of an interval brought."""

import polars as pl

from collector import at_once

OPEN = {"seq_first": "min", "seq_end": "max"}
"""What is joined of open intervals besides the columns of their table, and how: by time (`timed`),
since a frame that comes late is not the last that was sent."""
SEQUENCE, HALF_SEQUENCE = 1 << 32, 1 << 31
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
    known = pl.when(covered < HALF_SEQUENCE).then(unseen)
    return at_once(rows.lazy().with_columns(known.alias("unseen_bytes")).drop(OPEN))
