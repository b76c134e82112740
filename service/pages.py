"""Answers of several pages: all pages of one are cut from the same rows, whatever is stored since.

Rows that are ranked change places while a time is still filling: pages of different moments would
have some of them twice and others never. What is no longer remembered is asked for anew.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

import polars as pl

MOST_ROWS = 1 << 18
"""Rows of all answers that are kept; the one that was asked for longest ago gives way."""
KEPT_S = 300.0


class Pages:
    """The latest answers that have more than one page. For the event loop's thread alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, pl.DataFrame]] = OrderedDict()

    def keep(self, key: Hashable, rows: pl.DataFrame) -> None:
        """Remember the rows that pages behind the first are cut from."""
        self._kept[key] = (self._clock() + KEPT_S, rows)
        self._kept.move_to_end(key)
        while sum(rows.height for _, rows in self._kept.values()) > MOST_ROWS:
            self._kept.popitem(last=False)

    def known(self, key: Hashable) -> pl.DataFrame | None:
        """The rows of an answer whose first page was told a while ago, if they are remembered."""
        until_s, rows = self._kept.get(key, (0.0, None))
        return rows if self._clock() < until_s else None
