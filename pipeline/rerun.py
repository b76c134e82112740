"""A rerun: observations once more through the recurrences, under one set of parameters or several.

Rows are put in order and freed of copies as the worker does it, then every decider takes the same
rows: what differs between their decisions is what their parameters do. There are no intervals and
no verdicts, so that a rerun costs what deciding costs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline.copies import Copies
from pipeline.decider import Decider
from pipeline.order import Order
from pipeline.overlay import met
from pipeline.reporter import seen_at
from pipeline.settings import PipelineSettings
from pipeline.track import Tracked


class Reran(NamedTuple):
    """Rows in order, and what each decider made of them."""

    rows: pl.DataFrame
    tracked: tuple[Tracked, ...] = ()


class Rerun:
    """See the module; `sources` and order are those of the worker."""

    def __init__(
        self, settings: PipelineSettings, deciders: Sequence[Decider], sources: tuple[str, ...] = ()
    ) -> None:
        self.deciders = tuple(deciders)
        self.order = Order(sources, settings.disorder_ns, settings.idle_ns)
        self.copies = Copies(settings.copies_ns)
        self.several = len(sources) > 1

    @property
    def counters(self) -> dict[str, int]:
        """What moved so far, by name."""
        first = self.deciders[0].tracker.counters
        return {**first, "late": self.order.late, "copies": self.copies.count}

    @property
    def points(self) -> Sequence[str]:
        """The observation points that are known."""
        return tuple(self.deciders[0].tracker.points.known)

    def advance(self, rows: pl.DataFrame) -> Reran:
        """Take a batch of one source, in the order of that source."""
        self.order.add(seen_at(rows, several=self.several))
        return self._decide(self.order.release())

    def end(self, source: str) -> Reran:
        """A source brings nothing more."""
        self.order.end(source)
        return self._decide(self.order.release())

    def finish(self) -> Reran:
        """All sources have ended."""
        return self._decide(self.order.finish())

    def _decide(self, rows: pl.DataFrame) -> Reran:
        """Let every decider take ordered rows."""
        rows = met(self.copies.without(rows))
        if rows.is_empty():
            return Reran(rows)
        return Reran(rows, tuple(decider.decide(rows) for decider in self.deciders))
