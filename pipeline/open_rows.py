"""Rows of intervals that are open, as the batches gave them; joined when the intervals end."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from pipeline.merging import merged
from pipeline.tables import TABLES

MOST_ROWS = 1 << 18
"""Rows that wait at least; they are joined when they are twice as many as were left of them."""


class OpenRows:
    """Partial rows of a table by its key; see `merging.merged`."""

    def __init__(
        self, table: str, key: Sequence[str], extra: Mapping[str, str] | None = None
    ) -> None:
        self.key = key
        self._joins = table, key, extra
        self._none = TABLES[table].blank
        self._nothing = merged([self._none], *self._joins)
        self._parts: list[pl.DataFrame] = []
        self._least = 0

    @property
    def flows(self) -> list[pl.Series]:
        """Every flow that is told of, each maybe more than once."""
        return [part["flow"] for part in (self._none, *self._parts)]

    def add(self, parts: Iterable[pl.DataFrame]) -> None:
        """Take what a batch brought, later parts over earlier ones."""
        self._parts += [part for part in parts if part.height]
        if sum(part.height for part in self._parts) > max(MOST_ROWS, 2 * self._least):
            self._parts = [merged([self._none, *self._parts], *self._joins)]
            self._least = self._parts[0].height

    def close(self, last_ns: int | None) -> pl.DataFrame:
        """Take out the intervals that begin by a time (None: all), in the order of their keys."""
        ended, left = [], []
        for part in self._parts:
            times = part["time_ns"].to_numpy()
            if last_ns is None or times.max() <= last_ns:
                ended.append(part)
            elif times.min() > last_ns:
                left.append(part)
            else:
                over = times <= last_ns
                ended.append(part[np.flatnonzero(over)])
                left.append(part[np.flatnonzero(~over)])
        self._parts = left
        if not ended:
            return self._nothing
        return merged([self._none, *ended], *self._joins, in_order=True)
