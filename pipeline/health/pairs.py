"""Pairs: one packet at two points, the later sight beside the one before.

A packet is known by everything that a host would change (`copies`), and only where that tells it
apart from the host's other packets: it has a number of its own, or data that its protocol numbers.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, borrowing
from pipeline.cc.parameter import state_dtype
from pipeline.copies import DATA, NUMBERED, TELLING, mixed, unnamed, words_of
from pipeline.first_sight import lately
from pipeline.point_number import PointNumbers
from pipeline.recent import NEAR, PLACES, placed

SEEN = ("ttl", "ecn", "csig_variant", "csig_t", "csig_s", "csig_lm")
"""What a packet showed at a point; 0 where nothing is told."""
SIGHT = state_dtype(
    ("u8", "mark", "frame"), ("i8", "time_ns", *SEEN), ("i4", "point", "source")
)  # fmt: skip
"""A packet as it was seen last."""
BEFORE = ("frame", "time_ns", *SEEN, "point", "source")
"""Columns of the sight before, which a pair has with `b_` before their names."""
NEEDED = TELLING | {"time_ns", "point", "source", "frame", "flow", "payload_bytes", *SEEN}
"""Columns that pairs are found by and told with."""


class Pairs:
    """Finds what two points saw of one packet within `within_ns`."""

    def __init__(self, within_ns: int) -> None:
        self.within_ns = within_ns
        self.sights = np.zeros(1, SIGHT)
        self.points = PointNumbers()
        self.sources = PointNumbers()
        self.waiting: list[pl.DataFrame] = []

    @property
    def several(self) -> bool:
        """Whether more than one point is known."""
        return len(self.points.known) > 1

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Pairs whose later sight is among these ordered rows; empty while one point is known."""
        if not self.within_ns:
            return pl.DataFrame()
        several = self.several
        point = self.points.of(rows["point"])
        if not self.several:
            self.waiting = lately([*self.waiting, rows], NEEDED, self.within_ns)
            return pl.DataFrame()
        if not several:
            self.sights = np.zeros(PLACES, SIGHT)
            for early in self.waiting:
                self._paired(early, self.points.of(early["point"]))
            self.waiting = []
        return self._paired(rows, point)

    def _paired(self, rows: pl.DataFrame, point: NDArray[np.int32]) -> pl.DataFrame:
        """The pairs of these rows, which are remembered."""
        now = np.zeros(rows.height, SIGHT)
        for name in ("frame", "time_ns", *SEEN):
            if name in rows.columns:
                now[name] = arrow.values(rows[name])
        now["point"] = point
        now["source"] = self.sources.of(rows["source"])
        before = np.zeros(rows.height, SIGHT)
        found = np.zeros(rows.height, np.bool_)
        pair(words_of(rows), now, self.within_ns, self.sights, before, found)
        own_id = pl.col("ip_id").fill_null(0) if "ip_id" in rows.columns else pl.lit(0)
        named = (own_id > 0).alias("named")
        told = {name: now[name][found] for name in BEFORE}
        told |= {f"b_{name}": before[name][found] for name in BEFORE}
        own = rows.filter(pl.Series(found)).select("flow", "payload_bytes", named)
        return pl.DataFrame(told).with_columns(own)


@borrowing
def pair(
    words: NDArray[np.uint64],
    now: NDArray[Any],
    within_ns: int,
    sights: NDArray[Any],
    before: NDArray[Any],
    found: NDArray[np.bool_],
) -> None:
    """Write the sight before each row, and whether there is one at another point."""
    marks, times = sights["mark"], sights["time_ns"]
    for row in range(now.size):
        bare = words[NUMBERED, row] == np.uint64(0) and words[DATA, row] == np.uint64(0)
        if bare or unnamed(words, row):
            continue
        mark = np.uint64(1)
        for word in range(words.shape[0]):
            mark = mixed(mark, words[word, row])
        place = placed(marks, times, mark, NEAR)
        last = sights[place]
        same = last.mark == mark and now[row].time_ns - last.time_ns <= within_ns
        if same and last.point != now[row].point:
            before[row] = last
            found[row] = True
        sights[place] = now[row]
        sights[place].mark = mark
