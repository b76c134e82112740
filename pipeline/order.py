"""Rows put in order of time, from several sources that are each nearly in order.

Time is event time. A row is released when no source will bring an earlier one: each source is
taken to be in order but for a window of disorder. What comes later than that is counted, and
released at once.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow

READ = (
    "time_ns", "frame", "conversation", "flow", "direction", "protocol", "ecn", "ip_id", "seq",
    "ack", "flags", "payload_bytes", "hop_count",
)  # fmt: skip
"""Columns that loops read, most of them several times."""
NEVER = -(1 << 63)
"""Before every time."""
ALL_NS = -NEVER - 1
"""After every time."""
MOST_WAITING = 1 << 18
"""Rows of a source that wait at most for files that said no more than that they begin: those of two
batches, where one of each file comes before the second of any."""


class Order:
    """Holds rows until they can be released in order.

    The `announced` sources will all bring rows or be ended, so rows of the others wait for them.
    Other sources may join at any time; one that is silent while another goes on for `idle_ns` is
    not waited for any more. Files that said that they `begin` are waited for until they are heard,
    but no longer than that, and for no more than `MOST_WAITING` rows of another.
    """

    def __init__(self, announced: Iterable[str], disorder_ns: int, idle_ns: int) -> None:
        self.disorder_ns = disorder_ns
        self.idle_ns = idle_ns
        self.reached: dict[str, int | None] = dict.fromkeys(announced)
        self.announced = frozenset(self.reached)
        self.first_ns = ALL_NS
        """The earliest time of a row; `ALL_NS`: there was none yet."""
        self.released_ns = NEVER
        self.late = 0
        self._waiting: list[pl.DataFrame] = []
        self._earliest_ns = -NEVER

    @property
    def watermark_ns(self) -> int | None:
        """How far the source has come that is least far; None while one has not begun."""
        if not self.reached or None in self.reached.values():
            return None
        known = {source: time for source, time in self.reached.items() if time is not None}
        newest = max(known.values())
        return min(
            time
            for source, time in known.items()
            if source in self.announced or newest - time <= self.idle_ns
        )

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows of one source."""
        if rows.is_empty():
            return
        source, times = str(rows["source"][0]), rows["time_ns"].to_numpy()
        reached = self.reached.get(source)
        newest = int(times.max())
        self.reached[source] = newest if reached is None else max(newest, reached)
        self._earliest_ns = min(self._earliest_ns, int(times.min()))
        self._waiting.append(rows)

    def begin(self, source: str) -> None:
        """Take note that a file will bring rows."""
        self.reached.setdefault(source, None)

    def reach(self, source: str, time_ns: int) -> None:
        """Take note that a source brings nothing earlier any more."""
        reached = self.reached.get(source)
        self.reached[source] = time_ns if reached is None else max(time_ns, reached)

    def passed(self) -> None:
        """Say how far time has come where no row says it; `release` first."""
        watermark = self.watermark_ns
        if watermark is not None:
            self.released_ns = max(self.released_ns, watermark - self.disorder_ns)

    def end(self, source: str) -> None:
        """Take note that a source brings nothing more."""
        self.reached.pop(source, None)

    def release(self) -> pl.DataFrame:
        """Rows that no earlier one can precede any more, in order; maybe none."""
        self._wait_no_more()
        watermark = self.watermark_ns
        # Strictly before: rows of the same time may still come, and order among them matters.
        bound = NEVER if watermark is None else watermark - self.disorder_ns
        if self._earliest_ns >= bound:
            return pl.DataFrame()
        rows = self._take()
        times = rows["time_ns"].to_numpy()
        if rises(times):
            ready_rows = int(np.searchsorted(times, bound))
            if ready_rows < rows.height:
                self._waiting, self._earliest_ns = [rows[ready_rows:]], int(times[ready_rows])
            return self._in_order(rows[:ready_rows])
        ready = rows["time_ns"] < bound
        held = rows.filter(~ready)
        if held.height:
            self._waiting = [held]
            self._earliest_ns = int(held["time_ns"].to_numpy().min())
        return self._in_order(rows.filter(ready))

    def _wait_no_more(self) -> None:
        """Forget files that said that they begin, and were not heard while others went on."""
        begun = {each for each, time in self.reached.items() if time is None} - self.announced
        if not begun:
            return
        waiting: Counter[str] = Counter()
        for rows in self._waiting:
            waiting[str(rows["source"][0])] += rows.height
        newest = max((time for time in self.reached.values() if time is not None), default=NEVER)
        since = self._earliest_ns if self._waiting else self.released_ns
        silent = since != NEVER and newest - since > self.idle_ns
        if silent or max(waiting.values(), default=0) > MOST_WAITING:
            for each in begun:
                del self.reached[each]

    def finish(self) -> pl.DataFrame:
        """All rows that are left, in order: every source has ended."""
        self.reached.clear()
        return self._in_order(self._take()) if self._waiting else pl.DataFrame()

    def _take(self) -> pl.DataFrame:
        """All that waits."""
        rows = arrow.in_one_piece(pl.concat(self._waiting, how="diagonal"), READ)
        self._waiting = []
        self._earliest_ns = -NEVER
        return rows

    def _in_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        """At equal times ACKs come before data, then sources and frames as they are numbered."""
        self.late += int((rows["time_ns"] < self.released_ns).sum())
        ordered = rows
        if not rises(rows["time_ns"].to_numpy()):
            ordered = rows.sort(
                "time_ns", pl.col("payload_bytes") > 0, "source", "frame", maintain_order=True
            )
        self.first_ns = min(self.first_ns, int(ordered["time_ns"][0]))
        self.released_ns = max(self.released_ns, int(ordered["time_ns"][-1]))
        return ordered


def rises(times: NDArray[np.int64]) -> bool:
    """Whether each time is later than the one before: then there is nothing to put in order."""
    return bool((times[1:] > times[:-1]).all())
