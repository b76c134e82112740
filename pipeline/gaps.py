"""Gaps: payload that TCP's sequence numbers cover and no frame of an interval brought."""

import polars as pl

OPEN = {"seq_first": "any", "seq_end": "anyLast"}
"""What is joined of open intervals besides the columns of their table, and how."""
SEQUENCE, HALF_SEQUENCE = 1 << 32, 1 << 31


def with_gaps(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with unseen_bytes, what sequence numbers cover and frames did not bring.

    What was sent again counts against it: it is 0 or less where nothing is missing.
    """
    if "seq_first" not in rows.columns:
        return rows
    covered = (pl.col("seq_end") - pl.col("seq_first")) % SEQUENCE
    unseen = covered - pl.col("data_bytes").cast(pl.Int64)
    known = pl.when(covered < HALF_SEQUENCE).then(unseen)
    return rows.with_columns(known.alias("unseen_bytes")).drop(OPEN)
