"""Decisions of a rerun on their way to a reader: those asked for, each flow from one point.

With one observation point they pass as they come. With several, the same ACK is seen more than
once: they wait for the end; each flow is told from the point that knows it best, or from which it
was told before another point was known.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from pipeline import Reran, Tracked
from replay import Heard, from_best, vantage
from service.decidable import Decidable
from service.decision_output import Output
from service.flow_names import Ends, FlowNames
from service.stored_twice import copies
from service.window_step import Parameters

KEY = ("flow", "algorithm")
BEGUN = pl.Schema({"flow": pl.UInt64(), "algorithm": pl.String(), "point": pl.String()})
"""From which point each flow was told already."""


class Decisions:
    """Takes what a rerun made and hands on what was asked for; see the module."""

    def __init__(
        self, output: Output, wanted: Ends | None, algorithm: str | None, point: str | None
    ) -> None:
        self.output = output
        self.names = FlowNames(wanted)
        self.algorithm = algorithm
        self.point = point
        self.heard = Heard()
        self.decidable = Decidable()
        self.points: set[str] = set()
        self.sources: set[str] = set()
        self.twice: list[str] = []
        self.waiting: list[pl.DataFrame] = []
        self.begun = pl.DataFrame(schema=BEGUN)

    def take(self, made: Reran) -> None:
        """Take the next decisions, those of the first decider."""
        if not made.tracked:
            return
        self.names.know(made.rows)
        self.points.update(made.rows["point"].unique())
        self.twice += copies(made.rows, None, self.sources, judged=False)
        self.decidable.see(made.rows)
        chosen = self.chosen(together(made.tracked[0], self.heard))
        if len(self.points) == 1 or self.point:
            self.begun = pl.concat([self.begun, vantage(chosen)]).unique(KEY, keep="first")
            self.put(chosen)
        else:
            self.waiting.append(chosen)

    def finish(self) -> None:
        """Hand on what has waited, each flow from its best point."""
        if self.waiting:
            decisions = pl.concat(self.waiting, how="diagonal_relaxed")
            best = pl.concat([self.begun, vantage(decisions)]).unique(KEY, keep="first")
            self.put(from_best(decisions, best))

    def notes(self, counters: Mapping[str, int], parameters: Parameters) -> Iterator[str]:
        """Sentences on what of it is in doubt, and on what was taken for granted."""
        yield from self.twice
        yield from self.decidable.step_assumed(parameters)
        yield from self.decidable.notes(self.names.keys, counters)

    def put(self, decisions: pl.DataFrame) -> None:
        """Hand on decisions."""
        self.decidable.add(decisions)
        self.output.put(decisions, self.names.keys)

    def chosen(self, decisions: pl.DataFrame) -> pl.DataFrame:
        """What was asked for."""
        rows = decisions
        if self.names.wanted is not None:
            rows = rows.join(self.names.keys, on="flow", how="semi", maintain_order="left")
        if self.algorithm:
            rows = rows.filter(pl.col("algorithm") == self.algorithm)
        return rows.filter(point=self.point) if self.point else rows


def together(tracked: Tracked, heard: Heard) -> pl.DataFrame:
    """The decisions of all algorithms in order of time; columns that one does not have are null."""
    names = pl.col("algorithm", "branch").cast(pl.String)
    own = heard.advance(tracked).with_columns(names)
    if not tracked.companions:
        return own
    parts = [own, *(part.with_columns(names) for part in tracked.companions.values())]
    return pl.concat(parts, how="diagonal_relaxed").sort("time_ns", maintain_order=True)
