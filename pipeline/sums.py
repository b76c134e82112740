"""Sums of intervals, and how those of a longer interval come of those of a shorter one.

No raw row is read again for a longer interval: what is summed by integers adds up, states are those
of the last interval that has one, and slices of a shorter interval lie in slices of the longer one.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from collector import at_once
from pipeline.intervals import FLOW_KEY, HOP_KEY, SLICES
from pipeline.merging import merged
from pipeline.tables import TABLES


class Sums(NamedTuple):
    """Rows of flow_intervals and of hop_intervals, in the order of their keys."""

    flows: pl.DataFrame
    hops: pl.DataFrame

    @classmethod
    def none(cls) -> Self:
        """Sums of nothing."""
        return cls(TABLES["flow_intervals"].blank, TABLES["hop_intervals"].blank)

    @property
    def height(self) -> int:
        """Rows of both."""
        return self.flows.height + self.hops.height

    @property
    def interval_ns(self) -> int:
        """The length of the intervals, of which there is one."""
        return int((self.flows if self.flows.height else self.hops)["interval_ns"][0])

    @property
    def times(self) -> pl.Series:
        """Starts of the intervals, each once, in order."""
        if not self.height:
            return self.flows["time_ns"]
        told = np.concatenate([rows["time_ns"].to_numpy() for rows in self])
        return pl.Series("time_ns", np.unique(told))

    def begins(self, time_ns: int) -> bool:
        """Whether an interval begins at a time."""
        return any(bool((rows["time_ns"].to_numpy() == time_ns).any()) for rows in self)

    def where(self, rows: pl.Expr) -> Self:
        """The rows of which an expression over their keys holds."""
        if not self.height:
            return self
        return type(self)(self.flows.filter(rows), self.hops.filter(rows))

    def by(self, last_ns: int | None) -> tuple[Self, Self]:
        """The rows of intervals that begin by a time (None: all), and the others."""
        starts = [time for rows in self if rows.height for time in ends_of(rows["time_ns"])]
        if last_ns is None or max(starts, default=last_ns) <= last_ns:
            return self, self.none()
        if min(starts) > last_ns:
            return self.none(), self
        over = pl.col("time_ns") <= last_ns
        return self.where(over), self.where(~over)

    def longer(self, interval_ns: int) -> Self:
        """These rows as parts of intervals of another length, a whole multiple of their own."""
        if not self.height:
            return self
        start = pl.col("time_ns") - pl.col("time_ns") % interval_ns
        own = [start.alias("time_ns"), pl.lit(interval_ns, pl.Int64).alias("interval_ns")]
        flows = self.flows.with_columns(widened(self.flows, interval_ns), *own)
        return type(self)(flows, self.hops.with_columns(own))


def ends_of(times: pl.Series) -> tuple[int, int]:
    """The first and the last of some times."""
    told = times.to_numpy()
    return int(told.min()), int(told.max())


def joined(parts: Iterable[Sums]) -> Sums:
    """Sums as one, in the order of their keys; states of later parts count before earlier ones."""
    told = [part for part in parts if part.height]
    if not told:
        return Sums.none()
    flows = merged([part.flows for part in told], "flow_intervals", FLOW_KEY, in_order=True)
    hops = merged([part.hops for part in told], "hop_intervals", HOP_KEY, in_order=True)
    return Sums(flows, hops)


def beside(parts: Sequence[Sums]) -> Sums:
    """Sums of different intervals together, in the order of their keys."""
    told = [part for part in parts if part.height]
    if len(told) <= 1:
        return told[0] if told else Sums.none()
    flows = pl.concat([part.flows.lazy() for part in told], how="diagonal_relaxed")
    hops = pl.concat([part.hops.lazy() for part in told], how="diagonal_relaxed")
    return Sums(at_once(flows.sort(FLOW_KEY)), at_once(hops.sort(HOP_KEY)))


def widened(flows: pl.DataFrame, interval_ns: int) -> pl.Series:
    """The slices with data of rows as slices of longer intervals."""
    told = flows["slices"].fill_null(0).to_numpy().astype(np.uint64)
    length = flows["interval_ns"].to_numpy()
    offset = flows["time_ns"].to_numpy() % interval_ns
    number = np.arange(SLICES)
    place = (offset[:, None] * SLICES + number * length[:, None]) // interval_ns
    bits = (told[:, None] >> number.astype(np.uint64)) & np.uint64(1)
    wide = np.bitwise_or.reduce(bits << place.astype(np.uint64), axis=1)
    known = pl.Series("slices", wide.astype(np.uint32))
    return known.set(flows["slices"].is_null(), None)
