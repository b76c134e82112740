"""Tallies: what was seen, counted by interval, so that any split of the input counts the same.

A tally has one row a key. Its columns besides the key are joined by the functions of `JOINS`: sums
of integers, smallest and largest values, and the first frame that showed it.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from pipeline.heaps import Heaps

MOST_KEYS = 1 << 17
"""Rows of one tally that are kept; what is seen first stays."""
WAITING = 2
"""How many times as many rows of batches wait until they are joined."""
FIRST = ("seen_ns", "source", "frame")
"""The first frame of a key."""
JOINS = {
    "n": "sum",
    **dict.fromkeys(
        (
            "low_n",
            "silent_n",
            "bare_n",
            "off_n",
            "free_sum",
            "quiet_n",
            "ect_n",
            "tcp_ect_n",
            "long_n",
            "marked_n",
            "ce_n",
            "odd_n",
            "plain_n",
            "pd_n",
            "dctcp_n",
        ),
        "sum",
    ),
    "least": "min",
    "most": "max",
    "most_s": "max",
    "last_ns": "max",
    **dict.fromkeys((*FIRST, "before_source", "before_frame", "before_lm"), "first"),
}
"""How each value of a tally is joined."""


def joined(
    parts: Iterable[pl.DataFrame], key: Sequence[str], joins: Mapping[str, str] = JOINS
) -> pl.DataFrame:
    """Partial tallies as one, in the order of their first frames; at most `MOST_KEYS` rows."""
    filled = [part for part in parts if part.height]
    if not filled:
        return pl.DataFrame()
    rows = pl.concat(filled, how="diagonal_relaxed")
    # State that an older hopsight kept lacks what it did not tell apart.
    unknown = [pl.lit(None).alias(name) for name in key if name not in rows.columns]
    return (
        in_order(rows.with_columns(unknown) if unknown else rows)
        .group_by(key, maintain_order=True)
        .agg(getattr(pl.col(name), join)() for name, join in joins.items() if name in rows.columns)
        .head(MOST_KEYS)
    )


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows by their first frames, whichever partition told of them first."""
    seen = rows["seen_ns"].to_numpy()
    # Most are: ties too may stand otherwise, which few rows are looked at for.
    if (seen[1:] > seen[:-1]).all():
        return rows
    return rows.sort(FIRST, maintain_order=True)


def first_frame() -> list[pl.Expr]:
    """The first frame of a group of ordered rows."""
    return [
        pl.col("time_ns").first().alias("seen_ns"),
        pl.col("source").first(),
        pl.col("frame").first(),
    ]


def counted(rows: pl.DataFrame, key: Sequence[str], *values: pl.Expr) -> pl.DataFrame:
    """A tally of ordered rows: their number, the first frame, and other values."""
    heaps = Heaps(rows, key)
    seen = rows.select(*key, pl.col("time_ns").alias("seen_ns"), "source", "frame")[heaps.first]
    told = [heaps.told(rows, values)] if values else []
    made = pl.concat([seen, *told], how="horizontal")
    return made.with_columns(heaps.count().cast(pl.Int64).alias("n"))


def total(expression: pl.Expr, name: str) -> pl.Expr:
    """How many rows an expression holds for."""
    return expression.fill_null(value=False).sum().cast(pl.Int64).alias(name)


class Tally:
    """A tally of open intervals, and the total of those that have ended."""

    def __init__(self, *key: str, kept: Sequence[str] | None = None) -> None:
        """`kept` are the columns of the key that the total goes on telling apart; None: all."""
        self.key = ["interval", *key]
        self.kept = list(key if kept is None else kept)
        self._open: list[pl.DataFrame] = []
        self.total = pl.DataFrame()

    def add(self, part: pl.DataFrame) -> None:
        """Count a batch."""
        if part.height:
            self._open.append(part)
        if sum(rows.height for rows in self._open) > WAITING * MOST_KEYS:
            self._open = [joined(self._open, self.key)]

    def starts(self) -> set[int]:
        """The intervals that are open."""
        return {int(start) for rows in self._open for start in np.unique(rows["interval"])}

    def taken(self, before_ns: int | None, interval_ns: int) -> pl.DataFrame:
        """Take out the intervals that ended by a time, None: all; no total counts them."""
        last = None if before_ns is None else before_ns - interval_ns
        if last is not None and all(start > last for start in self.starts()):
            return pl.DataFrame()
        rows = joined(self._open, self.key)
        over = pl.lit(value=True) if last is None else pl.col("interval") <= last
        self._open = [left] if rows.height and (left := rows.filter(~over)).height else []
        return rows.filter(over) if rows.height else rows

    def close(self, interval: int) -> pl.DataFrame:
        """Take out one interval and add it to the total; its rows."""
        rows = joined(self._open, self.key)
        if rows.is_empty():
            return rows
        ended = rows.filter(pl.col("interval") == interval)
        left = rows.filter(pl.col("interval") != interval)
        self._open = [left] if left.height else []
        if self.kept:
            self.total = joined([self.total, ended], self.kept)
        return ended
