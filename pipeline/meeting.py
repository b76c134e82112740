"""Where the intervals of all partitions meet, to be judged together: what compares flows is here.

Pure. An interval waits until every partition has closed it, so verdicts are those that one worker
of all flows would give, in whatever order partitions come to speak.
"""

import polars as pl

from collector import one_thread
from pipeline.covered import Covered
from pipeline.endpoint import owned_by
from pipeline.handed import Handed
from pipeline.health import TABLE as HEALTH
from pipeline.health import Health
from pipeline.judging import changed, judged
from pipeline.known_flows import KnownFlows
from pipeline.ladder import Ladder
from pipeline.order import ALL_NS
from pipeline.rolled import Rolled
from pipeline.rollup_rows import Closed
from pipeline.rung import filling
from pipeline.settings import PipelineSettings
from pipeline.sums import Sums, joined
from pipeline.tallies import NOTHING_TALLIED
from pipeline.topology import Topology
from pipeline.tuning import taken, tune_judging
from pipeline.versions import Versions
from pipeline.worker import Output

MOST_WAITING = 1_000_000
"""Rows of intervals that wait for partitions that are behind; of more all are judged that there
are, and what comes later is late."""


class Meeting:
    """Judges what partitions hand on: `add` each, then `close` once."""

    def __init__(
        self, settings: PipelineSettings, topology: Versions | Topology | None = None
    ) -> None:
        self.settings = settings
        self.versions = Versions.of(topology)
        self.ladder = Ladder(settings.lengths_ns, settings.lateness_ns)
        self.ladder.reach(self.versions.measured_ns)
        self.known = KnownFlows()
        self.health = Health(settings)
        self.reached: dict[int, int] = {}
        """How far each partition is that has spoken, ns."""
        self.covered: dict[int, Covered] = {}
        """When each of them had frames."""
        self.partitions = 0
        """How many there are, by whoever said most."""
        self.closed_ns: int | None = None
        self.impatient = 0
        self._met: list[pl.DataFrame] = []
        """Flows that were told of since `close`."""
        self._waiting: list[Sums] = []

    @property
    def counters(self) -> dict[str, int]:
        """What moved so far, by name: `too_late` and `revised` as those of a worker.

        `impatient` counts how often it judged without those that were behind.
        """
        return {
            "too_late": self.ladder.too_late, "revised": self.ladder.revised,
            "impatient": self.impatient,
        }  # fmt: skip

    @property
    def judged_ns(self) -> int | None:
        """The time by which everything is judged; None: nothing is, or all sources have ended."""
        return None if self.closed_ns == ALL_NS else self.closed_ns

    def renew(self, topology: Versions | Topology | None) -> None:
        """Take another topology for what is not judged yet."""
        self.versions = Versions.of(topology)
        self.ladder.reach(self.versions.measured_ns)

    def tune(self, settings: PipelineSettings) -> frozenset[str]:
        """Take other settings, as far as that needs no new state; those that were not taken."""
        self.settings, left = taken(self.settings, settings)
        tune_judging(self, self.settings)
        return left

    def add(self, partition: int, partitions: int, handed: Handed) -> None:
        """Take what one of so many partitions hands on."""
        self.partitions = max(self.partitions, partitions)
        before_ns = self.reached.get(partition)
        self.reached[partition] = handed.closed_ns
        self.covered[partition] = handed.covered
        if handed.flows.height:
            self._met.append(handed.flows)
        self.health.join(handed.watched)
        if not handed.sums.height:
            return
        sums = handed.sums
        if before_ns not in {None, ALL_NS}:
            late = pl.col("time_ns") + pl.col("interval_ns") <= before_ns
            self._waiting.append(filling(sums.where(late)))
            sums = sums.where(~late)
        self._waiting.append(sums)

    @one_thread
    def close(self) -> Output:
        """Rows of what can be judged by now."""
        if self._met:
            self.known.join(self._met, self._told)
            self._met = []
        before_ns = self._ready_ns()
        if before_ns is None:
            return Output({})
        sums = self._taken_out(before_ns)
        if not sums.height and before_ns == self.closed_ns:
            return Output({})
        self.closed_ns = before_ns
        until_ns = None if before_ns == ALL_NS else before_ns
        health = self.health.close(until_ns, self.known.rows, self.versions)
        found = {HEALTH: health} if health.height else {}
        covered = Covered.all_of(self.covered.values()).until(until_ns)
        made = self.ladder.close(
            sums,
            until_ns,
            lambda each: judged(each, self.known.of, self.versions, self.settings, covered),
        )
        if not sums.height and made.verdicts.is_empty():
            return Output(found)
        flows, ended = self.known.of(pl.concat([each["flow"] for each in sums])), made.ended
        closed = Closed(flows, ended.grown, ended.whole.hops, made.told, *NOTHING_TALLIED)
        told = {"flows": owned_by(flows.drop("unseen"), self.versions)}
        tables = {**found, **changed(made), **told, "verdicts": made.verdicts}
        return Output(tables, rolled=(Rolled(closed, self.versions),))

    def _ready_ns(self) -> int | None:
        """By when intervals have ended everywhere; None: not all partitions have spoken.

        Of too many rows that would wait still, it is by when they have ended anywhere.
        """
        ready_ns = None
        if self.partitions and len(self.reached) >= self.partitions:
            ready_ns = min(self.reached.values())
            if self.closed_ns not in {None, ALL_NS}:
                # One that is behind what was judged without it is late, and no step back.
                ready_ns = max(ready_ns, self.closed_ns or ready_ns)
        rows = sum(each.height for each in self._waiting)
        if rows > MOST_WAITING and self._beyond(ready_ns) > MOST_WAITING:
            self.impatient += 1
            return max(self.reached.values())
        return ready_ns

    def _beyond(self, ready_ns: int | None) -> int:
        """Rows that wait beyond a time."""
        if ready_ns is None:
            return sum(each.height for each in self._waiting)
        return sum(left.height for _, left in self._cut(ready_ns))

    def _cut(self, until_ns: int) -> list[tuple[Sums, Sums]]:
        """What waits, by whether it has ended by a time."""
        return [
            each.by(None if until_ns == ALL_NS else until_ns - each.interval_ns)
            for each in self._waiting if each.height
        ]  # fmt: skip

    def _taken_out(self, until_ns: int) -> Sums:
        """What waited and has ended, as one."""
        cut = self._cut(until_ns)
        self._waiting = [left for _, left in cut if left.height]
        return joined(ended for ended, _ in cut)

    def _told(self) -> pl.Series:
        """Flows that an interval tells of which waits, is open or may be judged anew."""
        return pl.concat([*self.ladder.flows, *(s["flow"] for w in self._waiting for s in w)])
