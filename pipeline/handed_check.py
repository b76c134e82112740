"""What rows that partitions hand on can say; a judge that took others would end by them."""

import polars as pl

from collector import UnreadableError
from pipeline.endpoint import NETWORK
from pipeline.known_flows import KEY_COLUMNS

MOST = (1 << 63) - 1
"""What no sum or count comes to: with a sign there are no more."""
ENDS = tuple(name for name in KEY_COLUMNS if name not in NETWORK)
"""What every flow has."""
WHOSE = frozenset(
    ("time_ns", "interval_ns", "interval", "bin", "seen_ns", "flow", "point", "port", *ENDS)
)
"""Columns that are told of every row."""
NAMES = frozenset(("flow", "conversation", "src_hi", "src_lo", "dst_hi", "dst_lo", "frame"))
"""Columns that any number of 64 bits may stand in."""


def check(name: str, rows: pl.DataFrame) -> None:
    """Refuse rows of a table that no partition gives. Raises UnreadableError."""
    for column in rows.columns:
        if column in WHOSE and rows[column].null_count():
            raise UnreadableError("bad_columns", f"{name}.{column} is not told of every row")
    for column, dtype in rows.schema.items():
        counts = dtype == pl.UInt64 and column not in NAMES
        if counts and not (rows[column] <= MOST).all():
            raise UnreadableError("bad_range", f"{name}.{column} is beyond what 63 bits hold")
    if rows.height and "interval_ns" in rows.columns and not _in_steps(rows):
        raise UnreadableError("bad_range", f"{name} has intervals that are of no one length")


def _in_steps(rows: pl.DataFrame) -> bool:
    """Whether intervals have one length and begin at multiples of it."""
    lengths = rows["interval_ns"]
    length = int(lengths[0])
    return length > 0 and bool((lengths == length).all() & (rows["time_ns"] % length == 0).all())
