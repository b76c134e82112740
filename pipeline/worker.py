"""The worker: observations in any order that a tap can produce, rows of the store out.

Rows wait until no earlier one can come (`Order`), drive the tracker in time order, and are summed
by interval; an interval that has ended is judged, or handed on to those who judge it together with
those of other workers. Time is always event time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from collector import one_thread
from pipeline.cc.parameter import Value
from pipeline.copies import Copies
from pipeline.covered import Covered
from pipeline.decider import Decider
from pipeline.endpoint import owned_by
from pipeline.feedback import Feedback
from pipeline.first_sight import FirstSight
from pipeline.handed import Handed
from pipeline.health import TABLE as HEALTH
from pipeline.health import Health
from pipeline.intervals import Intervals
from pipeline.judging import Tables, changed, judged
from pipeline.kept_rows import known_of
from pipeline.known_flows import KnownFlows
from pipeline.ladder import Ladder
from pipeline.order import ALL_NS, NEVER, Order
from pipeline.overlay import met
from pipeline.reporter import seen_at
from pipeline.rolled import Rolled, rows_of
from pipeline.rollup_rows import Closed
from pipeline.scale_in_force import in_force
from pipeline.settings import PipelineSettings
from pipeline.sums import Sums
from pipeline.tables import TABLES
from pipeline.topology import Topology
from pipeline.track import Tracked
from pipeline.tuning import taken, tune
from pipeline.unknown_ids import UnknownIds
from pipeline.versions import Versions
from pipeline.windows import Windows

Tallied = tuple[pl.DataFrame, pl.DataFrame]
"""Tallies of links, and of paths."""


@dataclass(frozen=True)
class Output:
    """What the worker made of its input since the last call."""

    tables: Mapping[str, pl.DataFrame]
    tracked: Tracked | None = None
    handed: Handed | None = None
    """What is to be judged elsewhere."""
    rolled: tuple[Rolled, ...] = ()
    """What rows of seconds are made of when they are stored."""
    new: pl.Series | None = None
    """Flows that were met for the first time; None: nobody says."""

    @property
    def whole(self) -> Tables:
        """The rows of all tables."""
        return {**self.tables, **rows_of(self.rolled)} if self.rolled else self.tables

    @property
    def height(self) -> int:
        """How many rows there are, and are to be made of how many."""
        rows = sum(rows.height for rows in self.tables.values())
        return rows + sum(each.height for each in self.rolled)


class Worker(Decider):
    """Keeps the state of every flow it is given; see the module.

    `sources` are those that will bring rows or be ended (others may join); `parameters` change the
    defaults of the recurrences, by algorithm. Of several versions of the topology each row and each
    interval is read by the one in force at its time. One that `hands_on` judges nothing itself.
    ValueError names a parameter that is not accepted.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        topology: Versions | Topology | None = None,
        sources: tuple[str, ...] = (),
        parameters: Mapping[str, Mapping[str, Value]] | None = None,
    ) -> None:
        self.settings = settings
        self.versions = Versions.of(topology)
        super().__init__(settings, self.versions, parameters)
        self.intervals = Intervals(
            settings.lengths_ns[0],
            self.paths.base_rtt_ns(None),
            settings.standing_queue,
            settings.sampling,
            settings.standing_bytes,
        )
        self.ladder = Ladder(settings.lengths_ns, settings.lateness_ns)
        self.ladder.reach(self.versions.measured_ns)
        self.known = KnownFlows()
        self.order = Order(sources, settings.disorder_ns, settings.idle_ns)
        self.copies = Copies(settings.copies_ns)
        self.first_sight = FirstSight(settings.copies_ns)
        self.feedback = Feedback()
        self.windows = Windows()
        self.unknown_ids = UnknownIds()
        self.health = Health(settings)
        self.several = len(sources) > 1
        self.rescaled = False
        self.hands_on = False

    @property
    def flows(self) -> pl.DataFrame:
        """The flows that are known at this time, as rows of the table `flows`."""
        return self.known.rows

    @property
    def counters(self) -> dict[str, int]:
        """What moved so far, by name; `late`, `too_late` and `copies` count rows.

        `revised` counts verdicts that late rows have changed, `too_late` rows of intervals that are
        not kept any more, `unknown_hops` samples whose ids the topology lacks; by id they are in
        `unknown_ids`.
        """
        return {
            **self.tracker.counters, "late": self.order.late, "too_late": self.ladder.too_late,
            "revised": self.ladder.revised, "copies": self.copies.count,
            "unknown_hops": self.unknown_ids.total,
        }  # fmt: skip

    def renew(self, topology: Versions | Topology | None) -> None:
        """Take another topology for all rows and intervals that are not yet worked on."""
        self.versions = self.paths.versions = Versions.of(topology)
        self.ladder.reach(self.versions.measured_ns)

    def tune(self, settings: PipelineSettings) -> frozenset[str]:
        """Take other settings, as far as that needs no new state; those that were not taken.

        They hold for rows and intervals that are not worked on yet.
        """
        self.settings, left = taken(self.settings, settings)
        tune(self, self.settings)
        return left

    def advance(self, rows: pl.DataFrame) -> Output:
        """Take a batch of one source, in the order of that source."""
        self.add(rows)
        return self.work()

    def reach(self, source: str, time_ns: int) -> Output:
        """A live source has brought all that is not later, so intervals end without a frame."""
        self.order.reach(source, time_ns)
        return self.work(passed=True)

    def end(self, source: str) -> Output:
        """A source brings nothing more."""
        self.order.end(source)
        return self.work()

    @one_thread
    def add(self, rows: pl.DataFrame) -> None:
        """Keep a batch of one source for the next `work`."""
        self.order.add(seen_at(rows, several=self.several))

    @one_thread
    def work(self, *, passed: bool = False) -> Output:
        """Work on the rows that no earlier one can precede any more.

        With `passed`, time may have come further than any of them, and intervals may have ended.
        """
        rows = self.order.release()
        if passed:
            self.order.passed()
        made = self._work(rows)
        return made if made.tables or not passed else self._close(self._closing_ns)

    @one_thread
    def finish(self) -> Output:
        """All sources have ended: release and judge what is left."""
        made = self._work(self.order.finish(), everything=True)
        return made if made.tables else self._close(None)

    def _work(self, rows: pl.DataFrame, *, everything: bool = False) -> Output:
        """Drive the state with ordered rows, sum what came of it, judge what has ended."""
        rows = self.copies.without(rows)
        if rows.is_empty():
            return Output({})
        if self.rescaled:
            rows = in_force(rows, self.versions)
        stored = known_of("observations", rows)  # as they came
        rows = self.windows.told(self.feedback.told(self.first_sight.told(met(rows))))
        tracked = self.decide(rows)
        for topology, part, made in self._by_version(rows, tracked):
            base_rtt_ns = self.paths.base_rtt_ns(topology)
            one_rtt_ns = self.paths.one_rtt_ns(topology)
            self.intervals.add(part, made, topology, base_rtt_ns, one_rtt_ns)
            self.health.add(part, made.decisions, topology, base_rtt_ns)
        new = self.known.add(rows, tracked.decisions, self._told)
        ended = self._close(None if everything else self._closing_ns)
        tables = ended.tables
        if new.height:  # rows are found by their flow, whenever its first interval ends
            closed = tables.get("flows", TABLES["flows"].blank)
            untold = new.join(closed, on="flow", how="anti", maintain_order="left")
            told = [closed, owned_by(untold, self.versions)]
            tables = {**tables, "flows": pl.concat(told, how="diagonal_relaxed")}
        tables = {**tables, "observations": stored}
        return Output(tables, tracked, ended.handed, ended.rolled, new["flow"])

    def _told(self) -> pl.Series:
        """Flows with rows in intervals that are open, or may be judged anew."""
        return pl.concat([self.intervals.flows, *self.ladder.flows])

    @property
    def _closing_ns(self) -> int:
        """The time by which intervals have ended.

        A packet that another point sees later still belongs to the interval of its first sight, and
        a signal that was measured over a time to that time.
        """
        waits_ns = max(self.first_sight.within_ns, self.versions.measured_ns)
        return max(self.order.released_ns - waits_ns, NEVER)

    def _by_version(
        self, rows: pl.DataFrame, tracked: Tracked
    ) -> Iterator[tuple[Topology | None, pl.DataFrame, Tracked]]:
        """Rows and what was made of them, by the topology in force at their time."""
        parts = list(self.versions.split(rows))
        if len(parts) == 1:
            yield parts[0][0], rows, tracked
            return
        decisions = dict(self.versions.split(tracked.decisions))
        loads = dict(self.versions.split(tracked.hop_loads))
        for topology, part in parts:
            own = decisions.get(topology, tracked.decisions.clear())
            yield topology, part, Tracked(own, loads.get(topology, tracked.hop_loads.clear()))

    @property
    def _covered(self) -> Covered:
        """When frames were captured so far."""
        return Covered(self.order.first_ns, self.order.released_ns)

    def _judged(self, covered: Covered, lengths: Sequence[Sums]) -> list[pl.DataFrame]:
        """Verdicts on intervals of each length."""
        return judged(lengths, self.known.of, self.versions, self.settings, covered)

    def _close(self, before_ns: int | None) -> Output:
        """Judge or hand on the intervals that ended by a time; None: all."""
        sums = Sums(*self.intervals.close(before_ns))
        tallies = self.intervals.tallies.close(before_ns)
        if self.hands_on:
            return self._handed(sums, tallies, before_ns)
        health = self.health.close(before_ns, self.known.rows, self.versions)
        found = {HEALTH: health} if health.height else {}
        judge = partial(self._judged, self._covered.until(before_ns))
        made = self.ladder.close(sums, before_ns, judge)
        if not sums.height and made.verdicts.is_empty():
            return Output(found)
        seen, everyone = self._speaking([rows["flow"] for rows in sums], tallies)
        closed = Closed(everyone, made.ended.grown, made.ended.whole.hops, made.told, *tallies)
        flows = {"flows": owned_by(seen.drop("unseen"), self.versions)}
        verdicts = {"verdicts": made.verdicts}
        tables = {**found, **changed(made), **flows, **self._summed(sums), **verdicts}
        none = pl.Series(dtype=pl.UInt64)  # each was met when its first row came
        return Output(tables, rolled=(Rolled(closed, self.versions),), new=none)

    def _handed(self, sums: Sums, tallies: Tallied, before_ns: int | None) -> Output:
        """Rows of what no other partition is needed for, and what is judged elsewhere."""
        closed_ns = ALL_NS if before_ns is None else before_ns
        watched = self.health.taken(before_ns)
        speaking = [*(rows["flow"] for rows in sums), watched.flows]
        seen, everyone = self._speaking(speaking, tallies)
        handed = Handed(seen, sums, closed_ns, watched, self._covered)
        if not sums.height:
            return Output({}, handed=handed)
        told = Sums.none()
        closed = Closed(everyone, told.flows, told.hops, TABLES["verdicts"].blank, *tallies)
        return Output(self._summed(sums), handed=handed, rolled=(Rolled(closed, self.versions),))

    def _speaking(
        self, told: Sequence[pl.Series], tallies: Tallied
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The flows that are told of, and those that these or tallies do."""
        seen = self.known.of(pl.concat(told))
        return seen, self.known.of(pl.concat([seen["flow"], tallies[1]["flow"]]))

    def _summed(self, sums: Sums) -> Tables:
        """The rows of sums."""
        for topology, rows in self.versions.split(sums.hops):
            self.unknown_ids.count(rows, topology)
        return {"flow_intervals": sums.flows, "hop_intervals": sums.hops}
