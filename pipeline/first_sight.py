"""First sight: when a packet that several points see was seen first.

Two taps on one way see the same packets, one a little later. Intervals count a packet by its first
sight, so that all taps put it into the same one and a verdict does not depend on which is asked.
"""

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, borrowing
from pipeline.copies import TELLING, mixed, words_of
from pipeline.order import NEVER
from pipeline.point_number import PointNumbers
from pipeline.recent import NEAR, PLACES, placed
from pipeline.reporter import is_reporter

FIRST_NS = "first_ns"
"""The column that says when a row's packet was seen first."""
OWN_NS = "own_ns"
"""The column that says when a stack was seen first, of a hop load that it tells."""
STACK_NS = "stack_ns"
"""The same of a row."""
KEY = ("source", "point", "frame")
TOLD_BY = TELLING | {"point", "time_ns", "hop_count"}
"""Columns that tell packets, and stacks, apart."""


class Sight:
    """When each packet of late was seen first, and by which point."""

    def __init__(self) -> None:
        self.marks = np.zeros(PLACES, np.uint64)
        self.times = np.zeros(PLACES, np.int64)
        self.places = np.zeros(PLACES, np.int32)

    def of(
        self,
        words: NDArray[np.uint64],
        point: NDArray[np.int32],
        time_ns: NDArray[np.int64],
        within_ns: int,
    ) -> NDArray[np.int64]:
        """When the packets, told apart by their words, were seen first."""
        first_ns = time_ns.copy()
        find(words, point, time_ns, within_ns, self.marks, self.times, self.places, first_ns)
        return first_ns


class FirstSight:
    """Finds packets that other points saw at most `within_ns` before."""

    def __init__(self, within_ns: int) -> None:
        self.within_ns = within_ns
        self.packets, self.stacks = Sight(), Sight()
        self.points = PointNumbers()
        self.waiting: list[pl.DataFrame] = []
        """Rows of the only point that another may see yet."""

    def told(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows as they are while there is only one point, else with `first_ns`.

        Where some have stacks, `stack_ns` is when the packet was seen first with as many hops.
        """
        if not self.within_ns:
            return rows
        point = self.points.of(rows["point"])
        if len(self.points.known) == 1:
            self.waiting = lately([*self.waiting, rows], TOLD_BY, self.within_ns)
            return rows
        for early in self.waiting:
            self._sights(early, self.points.of(early["point"]))
        self.waiting = []
        return self._sights(rows, point)

    def _sights(self, rows: pl.DataFrame, point: NDArray[np.int32]) -> pl.DataFrame:
        """The rows with `first_ns`, and `stack_ns` where there are stacks."""
        point = arrow.fixed(point)
        words, time_ns = words_of(rows), arrow.values(rows["time_ns"])
        first_ns = self.packets.of(words, point, time_ns, self.within_ns)
        seen = rows.with_columns(pl.Series(FIRST_NS, first_ns))
        if "hop_count" not in rows.columns:
            return seen
        hops = rows["hop_count"].fill_null(0).cast(pl.UInt64).to_numpy()
        at = np.flatnonzero(hops)
        stack_ns = time_ns.copy()
        named = np.ascontiguousarray(np.vstack([words[:, at], hops[at]]))
        stack_ns[at] = self.stacks.of(named, point[at], time_ns[at], self.within_ns)
        return seen.with_columns(pl.Series(STACK_NS, stack_ns))


def lately(
    parts: Sequence[pl.DataFrame], needed: Collection[str], within_ns: int
) -> list[pl.DataFrame]:
    """What another point may see yet of rows that came one part after the other, as `needed`."""
    newest_ns = max(int(arrow.values(part["time_ns"]).max()) for part in parts)
    since_ns = max(newest_ns - within_ns, NEVER)
    kept = []
    for part in parts:
        rows = np.flatnonzero(arrow.values(part["time_ns"]) >= since_ns)
        if len(rows):
            kept.append(part[[name for name in part.columns if name in needed]][rows])
    return kept


def at_first_sight(made: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """What was made of rows, at the time of their packets' first sight."""
    if FIRST_NS not in rows.columns:
        return made
    if FIRST_NS not in made.columns:
        told = rows.select(*KEY, FIRST_NS).unique(KEY, keep="first")
        made = made.join(told, on=KEY, how="left", maintain_order="left")
    seen = made.with_columns(pl.col(FIRST_NS).alias("time_ns"))
    return seen.drop(FIRST_NS, STACK_NS, strict=False)


def at_own_time(loads: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Hop loads at the time of first sight, those that switches report at that of their report.

    A report tells of its own switch when the packet left it, however long it had waited before.
    `own_ns` is when the stack was seen first that tells of the load.
    """
    if STACK_NS not in rows.columns:
        return at_first_sight(loads, rows)
    told = rows.select(*KEY, FIRST_NS, pl.col(STACK_NS).alias(OWN_NS)).unique(KEY, keep="first")
    made = loads.join(told, on=KEY, how="left", maintain_order="left")
    own = is_reporter(pl.col("point"))
    time_ns = pl.when(own).then("time_ns").otherwise(FIRST_NS)
    return made.with_columns(time_ns.alias("time_ns")).drop(FIRST_NS)


@borrowing
def find(
    words: NDArray[np.uint64],
    point: NDArray[np.int32],
    time_ns: NDArray[np.int64],
    within_ns: int,
    marks: NDArray[np.uint64],
    times: NDArray[np.int64],
    places: NDArray[np.int32],
    first_ns: NDArray[np.int64],
) -> None:
    """Write when each row was seen first. What one point sees again is a packet of its own."""
    for row in range(time_ns.size):
        mark = np.uint64(1)
        for word in range(words.shape[0]):
            mark = mixed(mark, words[word, row])
        at = placed(marks, times, mark, NEAR)
        known = marks[at] == mark and places[at] != point[row]
        if known and time_ns[row] - times[at] <= within_ns:
            first_ns[row] = times[at]
        else:
            marks[at], times[at], places[at] = mark, time_ns[row], point[row]
