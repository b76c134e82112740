"""Rows that nobody waits for, stored together every two seconds.

What an insert takes hardly depends on its rows: some 15 ms for each table and each of those that it
feeds, most of it files that the engine makes. Of live frames the worker makes rows several times a
second; verdicts, and flows that are new, by which they are found, are stored at once, the rest in
fewer and larger inserts, beside which verdicts that come meanwhile are stored. Between two tables
it rests, or for a while it would take a processor that the next verdicts need.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping

import polars as pl

from pipeline import WAITED_FOR, Output, Rolled, Sink, Storing, begun, parted

FLOWS = "flows"
"""Whose rows say anew of flows that are known how far they came."""
MOST_FLOWS = 1 << 20
"""Flows that are remembered as known."""
LAST = "captures"
"""Says that all that was captured before is stored, so it is stored behind it."""
EVERY_S = 2.0
MOST_ROWS = 1 << 18
"""Rows that wait at most; twice as many where the rest is stored beside. Then they are more than
comes in `EVERY_S` of 200,000 frames a second: verdicts wait for no other rows to be stored."""
RESTS = 0.5
"""How long nothing more is stored beside after a table, in times of what it took: on two cores all
is stored in less than `EVERY_S` at 100,000 frames a second, or rows would pile up to `MOST_ROWS`
and verdicts would wait for all others after all."""


class Deferred:
    """Takes what the worker made of live frames; `flush` when there is no more.

    May be called from several threads, whose rows are stored beside each other; `at_once` are the
    tables that do not wait. Where the rest is stored `beside`, nobody waits for it unless too many
    rows are held, and what goes wrong there is raised to who comes next. Not for files: what is
    stored together hangs on a clock, so that a repeat would not be told.
    """

    def __init__(
        self,
        keep: Sink,
        clock: Callable[[], float] = time.monotonic,
        at_once: Collection[str] = WAITED_FOR,
        *,
        beside: bool = False,
    ) -> None:
        self._keep = keep
        self._clock = clock
        self._at_once = at_once
        self._beside = beside
        self._most = MOST_ROWS << beside
        self._storing = Storing()
        self._hurry = threading.Event()
        self._lock = threading.Lock()
        self._held: dict[str, list[pl.DataFrame]] = {}
        self._rolled: list[Rolled] = []
        self._tokens: list[str] = []
        self._known: set[int] = set()
        self._flushed_s = float("-inf")  # who begins says so at once

    @property
    def rows(self) -> int:
        """Rows that wait."""
        held = sum(rows.height for held in self._held.values() for rows in held)
        return held + sum(each.height for each in self._rolled)

    def __call__(self, output: Output, token: str) -> None:
        """Store what is waited for, and the rest when it is time."""
        self._stored(wait=False)
        for first in begun(output.tables):
            self._keep(Output(first), f"{token} begins")
        new = self._new(output.tables) if FLOWS in self._at_once else None
        at_once, told = parted(output.tables, self._at_once, new)
        if at_once:
            self._keep(Output(at_once), token)
        with self._lock:
            for name, rows in told.items():
                self._held.setdefault(name, []).append(rows)
            self._rolled += output.rolled
            if told or output.rolled:
                self._tokens.append(token)
            due = self._clock() - self._flushed_s >= EVERY_S or self.rows >= self._most
        if due and self._stored(wait=self.rows >= self._most):
            self._store()

    def _new(self, tables: Mapping[str, pl.DataFrame]) -> pl.Series:
        """The flows that were not met before, or so long ago that it is not known."""
        flows = tables[FLOWS]["flow"] if FLOWS in tables else pl.Series(dtype=pl.UInt64)
        with self._lock:
            if len(self._known) > MOST_FLOWS:
                self._known.clear()
            new = [flow for flow in flows if flow not in self._known]
            self._known.update(new)
        return pl.Series(new, dtype=pl.UInt64)

    def flush(self) -> None:
        """Store all that waits, and return when it is."""
        self._stored(wait=True)
        self._store()
        self._stored(wait=True)

    def _stored(self, *, wait: bool) -> bool:
        """Whether nothing is being stored beside; raises what went wrong there."""
        if self._storing.busy and not wait:
            return False
        self._hurry.set()
        self._storing.wait()
        return True

    def _store(self) -> None:
        """Store all that waits, or begin to."""
        with self._lock:
            held, self._held = self._held, {}
            rolled, self._rolled = tuple(self._rolled), []
            tokens, self._tokens = self._tokens, []
            self._flushed_s = self._clock()
        if not held and not rolled:
            return
        ordered = sorted(held, key=LAST.__eq__)
        tables = {name: pl.concat(held[name], how="diagonal_relaxed") for name in ordered}
        together = Output(tables, rolled=rolled), f"{tokens[0]} to {tokens[-1]}"
        if self._beside:
            self._hurry.clear()
            self._storing.begin(lambda: self._rested(*together))
        else:
            self._keep(*together)

    def _rested(self, output: Output, token: str) -> None:
        """Store table by table, with rests unless somebody waits."""
        rest_s = 0.0
        for name, rows in output.whole.items():
            self._hurry.wait(rest_s)
            began = self._clock()
            self._keep(Output({name: rows}), token)
            rest_s = min(
                RESTS * (self._clock() - began), EVERY_S
            )  # a store that is away takes long
