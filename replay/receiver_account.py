"""What receivers did: the decisions of the companion `dctcp_receiver`, flow by flow and point."""

from collections.abc import Callable

import polars as pl

KEY = ("flow", "point")
BREAKS = ("ece_missing", "ece_unexpected", "latched")
"""Branches of ACKs that DCTCP's receiver does not send."""
KEPT = 5
STATE = ("verdict", "evidence", "sure", "judged", "wrong", "late", "expected_bytes", "quality")


class Receivers:
    """Counts the ACKs of each receiver by their branch, and keeps its last verdict."""

    def __init__(self) -> None:
        self.last: list[pl.DataFrame] = []
        self.counts: list[pl.DataFrame] = []
        self.frames: list[pl.DataFrame] = []

    def advance(self, decisions: pl.DataFrame, numbered: Callable[[pl.Series], pl.Series]) -> None:
        """Take decisions in order."""
        rows = decisions.with_columns(
            pl.col("branch", "verdict", "evidence", "quality").cast(pl.String)
        )
        self.last.append(rows.group_by(KEY, maintain_order=True).agg(pl.col(STATE).last()))
        broken = rows.filter(pl.col("branch").is_in(BREAKS))
        if broken.height:
            self.counts.append(broken.group_by(*KEY, "branch").len("acks"))
            told = broken.select(*KEY, "branch", "frame", numbered(broken["source"]))
            self.frames.append(told.group_by(*KEY, "branch", maintain_order=True).head(KEPT))
        for name in ("last", "counts", "frames"):
            if len(getattr(self, name)) > 1:
                setattr(self, name, [merged(name, getattr(self, name))])

    def finish(self) -> pl.DataFrame:
        """A row a receiver: its last state, counts by branch, and frames of each."""
        if not self.last:
            return pl.DataFrame(schema={"flow": pl.UInt64, "point": pl.String})
        whole = self.last[0]
        for branch in BREAKS:
            counts = self.counts[0].filter(branch=branch) if self.counts else None
            if counts is None:
                whole = whole.with_columns(
                    pl.lit(0, pl.UInt32).alias(branch),
                    pl.lit(None, pl.List(pl.Struct({"source": pl.Int64, "frame": pl.UInt64})))
                    .alias(f"{branch}_frames"),
                )  # fmt: skip
                continue
            frames = self.frames[0].filter(branch=branch)
            listed = frames.group_by(KEY).agg(
                pl.struct("source", "frame").alias(f"{branch}_frames")
            )
            counted = counts.select(*KEY, pl.col("acks").alias(branch))
            whole = whole.join(counted, on=KEY, how="left").join(listed, on=KEY, how="left")
            whole = whole.with_columns(pl.col(branch).fill_null(0))
        return whole


def merged(name: str, parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Parts in order as one."""
    rows = pl.concat(parts)
    if name == "last":
        return rows.group_by(KEY, maintain_order=True).agg(pl.col(STATE).last())
    if name == "counts":
        return rows.group_by(*KEY, "branch").agg(pl.col("acks").sum())
    return rows.group_by(*KEY, "branch", maintain_order=True).head(KEPT)
