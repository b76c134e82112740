"""Rows that nobody waits for, stored together once a second.

What an insert takes hardly depends on its rows: some 15 ms for each table and each of those that it
feeds, most of it files that the engine makes. Of live frames the worker makes rows several times a
second; verdicts, and the flows that they are found by, are stored at once, the rest in fewer and
larger inserts.
"""

import time
from collections.abc import Callable

import polars as pl

from pipeline import Output, Sink

AT_ONCE = ("flows", "verdicts")
"""Tables whose rows do not wait."""
LAST = "captures"
"""Says that all that was captured before is stored, so it is stored behind it."""
EVERY_S = 1.0
MOST_ROWS = 1 << 18
"""Rows that wait at most."""


class Deferred:
    """Takes what the worker made of live frames; `flush` when there is no more.

    Not for files: what is stored together hangs on a clock, so that a repeat would not be told.
    """

    def __init__(self, keep: Sink, clock: Callable[[], float] = time.monotonic) -> None:
        self._keep = keep
        self._clock = clock
        self._held: dict[str, list[pl.DataFrame]] = {}
        self._tokens: list[str] = []
        self._flushed_s = float("-inf")  # who begins says so at once

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return sum(rows.height for held in self._held.values() for rows in held)

    def __call__(self, output: Output, token: str) -> None:
        """Store what is waited for, and the rest when it is time."""
        told = {name: rows for name, rows in output.tables.items() if rows.height}
        if at_once := {name: told.pop(name) for name in AT_ONCE if name in told}:
            self._keep(Output(at_once), token)
        for name, rows in told.items():
            self._held.setdefault(name, []).append(rows)
        if told:
            self._tokens.append(token)
        if self._clock() - self._flushed_s >= EVERY_S or self.rows >= MOST_ROWS:
            self.flush()

    def flush(self) -> None:
        """Store all that waits."""
        self._flushed_s = self._clock()
        if not self._held:
            return
        ordered = sorted(self._held, key=LAST.__eq__)
        tables = {name: pl.concat(self._held[name], how="diagonal_relaxed") for name in ordered}
        self._keep(Output(tables), f"{self._tokens[0]} to {self._tokens[-1]}")
        self._held, self._tokens = {}, []
