"""Health: watches the telemetry of all flows; an interval that has ended brings its findings.

State is bounded: tallies of open intervals and totals by path (`tally.MOST_KEYS`), and what was
seen last of `copies.PLACES` packets.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from pipeline.decided import DECISIONS
from pipeline.health import changes as tag_changes
from pipeline.health import sights as tag_sights
from pipeline.health.beside import WAIT_NS, Beside
from pipeline.health.comparison import clocks, under_reporting
from pipeline.health.coverage import coverage
from pipeline.health.deployment import deployment
from pipeline.health.edges import other_edges
from pipeline.health.finding import TABLE
from pipeline.health.found import Found, rows_of
from pipeline.health.pairs import Pairs
from pipeline.health.place import Places
from pipeline.health.rules import rules
from pipeline.health.scene import PATH_KEY, PORT_KEY, Scene, by_port
from pipeline.health.tally import FIRST, Tally, counted, joined
from pipeline.health.watched import Watched
from pipeline.order import NEVER
from pipeline.settings import PipelineSettings
from pipeline.tables import TABLES
from pipeline.topology import Topology
from pipeline.unit import SECOND
from pipeline.versions import Versions

FORGET_NS = 10 * SECOND
"""Handshakes that are older are not waited for again."""
RECOGNISED = ("set", "handshake", "reactions")
"""How a dialect was found where it was found at all (`memory.Basis`)."""
DECIDED = ("time_ns", "source", "frame", "flow", "dialect", "basis")
"""What is read of decisions."""
COUNTED = ("sights", "changes", "begun", "dialects")
"""Tallies of frames and of decisions, and not of stretches."""
FOUND = pl.Series(RECOGNISED, dtype=DECISIONS["basis"]).implode()
IS_RECOGNISED = pl.col("basis").is_in(FOUND) & pl.col("dialect").is_not_null()


class Health:
    """Takes ordered observations without copies, and gives rows of the table `telemetry_health`."""

    def __init__(self, settings: PipelineSettings) -> None:
        self.interval_ns = settings.health_ns
        self.may_tag = settings.csig_hosts
        self.places = Places(None)
        self.pairs = Pairs(settings.copies_ns)
        self.beside = Beside()
        self.sights = Tally(*tag_sights.KEY, kept=())
        self.changes = Tally(*tag_changes.KEY)
        self.against = Tally("port", "by")
        self.edges = Tally("port", "t", "s")
        self.begun = Tally("point", "flow", kept=())
        self.dialects = Tally("flow", "dialect", kept=())
        self.judged_by: Topology | None = None
        self.closed_ns = NEVER
        self._forget()

    def _forget(self) -> None:
        """Begin all totals anew: they are of one topology."""
        self.paths, self.ports, self.handshakes = pl.DataFrame(), pl.DataFrame(), pl.DataFrame()
        self.changes.total = self.against.total = self.edges.total = pl.DataFrame()

    def add(
        self,
        rows: pl.DataFrame,
        decisions: pl.DataFrame,
        topology: Topology | None,
        base_rtt_ns: int,
    ) -> None:
        """Count ordered observations, and what their senders decided, under one topology."""
        if not self.interval_ns or rows.is_empty():
            return
        rows, places = self._cut(rows), self._places(topology)
        pairs = self.pairs.of(rows)
        if pairs.height:
            pairs = tag_changes.ordered(pairs)
            self.changes.add(self._named(tag_changes.changes(pairs, self.interval_ns)))
            pairs = self._sources(
                self._points(self._points(pairs, "a_point"), "z_point"), "z_source"
            )
        data = tag_sights.data_rows(rows)
        self.sights.add(tag_sights.sights(data, places.slowest_bps, base_rtt_ns))
        self.begun.add(tag_sights.handshakes(rows))
        self.beside.add(rows, pairs, places)
        if decisions.height:
            told = decisions[[*DECIDED]].filter(IS_RECOGNISED)
            seen = counted(self._cut(told), ["interval", "flow", "dialect"])
            self.dialects.add(seen.with_columns(pl.col("dialect").cast(pl.String)))

    def taken(self, before_ns: int | None) -> Watched:
        """Take out the intervals that ended by a time, None: all, for whoever judges them."""
        ended = {
            name: getattr(self, name).taken(before_ns, self.interval_ns) for name in COUNTED
        }  # fmt: skip
        return Watched.of(ended | self.beside.taken())

    def join(self, watched: Watched) -> None:
        """Take what was taken out elsewhere."""
        for name in COUNTED:
            getattr(self, name).add(getattr(watched, name))
        self.beside.join(watched)

    def close(self, before_ns: int | None, flows: pl.DataFrame, versions: Versions) -> pl.DataFrame:
        """Findings of the intervals that ended by a time, None: of all; `flows` are those known."""
        made = TABLES[TABLE].blank
        if not self.interval_ns:
            return made
        stretches = self.beside.close(before_ns)
        before_ns = None if before_ns is None else before_ns - WAIT_NS
        if stretches.height:
            self.against.add(self._summed(stretches))
        if self.beside.buckets.height:
            cut = self._cut(self.beside.buckets).drop("bin", "time_ns", "free")
            self.edges.add(joined([cut], self.edges.key))
        tallies = (
            self.sights, self.changes, self.against, self.edges, self.begun, self.dialects,
        )  # fmt: skip
        starts = sorted(set().union(*(tally.starts() for tally in tallies)))
        ended = [
            start for start in starts if before_ns is None or start + self.interval_ns <= before_ns
        ]
        parts = []
        for start in ended:
            found = self._judged(self._scene(start, flows, self._in_force(start, versions)))
            late = start + self.interval_ns <= self.closed_ns
            parts.append(rows_of(found, start, self.interval_ns, 0 if late else 1))
            self.closed_ns = max(self.closed_ns, start + self.interval_ns)
        return pl.concat([made, *parts])

    def _places(self, topology: Topology | None) -> Places:
        """Places of a topology; those asked for last are remembered."""
        if topology != self.places.topology:
            self.places = Places(topology)
        return self.places

    def _in_force(self, start: int, versions: Versions) -> Places:
        """What is known of an interval's places: nothing where the topology changed inside.

        A change begins the totals anew.
        """
        first, last = (versions.at(time) for time in (start, start + self.interval_ns - 1))
        steady = first is None or first == last
        if last != self.judged_by or not steady:
            self._forget()
            self.judged_by = last
        return self._places(last if steady else None)

    def _judged(self, scene: Scene) -> Iterator[Found]:
        """Findings of one interval."""
        if scene.sights.height:
            yield from coverage(scene)
            yield from rules(scene)
            yield from under_reporting(scene)
            yield from other_edges(scene)
            yield from deployment(scene)
        yield from clocks(scene)

    def _scene(self, start: int, flows: pl.DataFrame, places: Places) -> Scene:
        """Take out one interval and bring the totals up to it."""
        seen, begun = self.sights.close(start), self.begun.close(start)
        dialects = self.dialects.close(start)
        told = [part["flow"] for part in (seen, begun, dialects) if part.height]
        ends = places.attached(
            flows.filter(pl.col("flow").is_in(pl.concat(told).implode())) if told else flows.clear()
        )
        seen, begun, dialects = (
            part.join(ends, on="flow", how="left", maintain_order="left") if part.height else part
            for part in (seen, begun, dialects)
        )
        self.paths = joined([self.paths, joined([seen], PATH_KEY)], PATH_KEY)
        self.ports = joined([self.ports, by_port(seen)], PORT_KEY)
        self.handshakes = joined([self.handshakes, begun], ["point", "flow", "dst"])
        if self.handshakes.height:
            young = pl.col("last_ns") >= start - FORGET_NS
            self.handshakes = self.handshakes.filter(young)
        return Scene(
            places=places, sights=seen, changes=self.changes.close(start),
            beside=self.against.close(start), buckets=self.edges.close(start), paths=self.paths,
            ports=self.ports,
            changed=self.changes.total, against=self.against.total, edges=self.edges.total,
            begun=self.handshakes,
            dialects=dialects, may_tag=self.may_tag,
        )  # fmt: skip

    def _cut(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the interval that they fall into."""
        start = pl.col("time_ns") - pl.col("time_ns") % self.interval_ns
        return rows.with_columns(start.alias("interval"))

    def _named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Numbers of points and sources as their names."""
        rows = self._points(self._points(rows, "point"), "before")
        return self._sources(self._sources(rows, "source"), "before_source")

    def _sources(self, rows: pl.DataFrame, name: str) -> pl.DataFrame:
        """The numbers of one column of sources as their names."""
        sources = np.array([*self.pairs.sources.known] or [""], dtype=object)
        column = pl.Series(name, sources[rows[name].to_numpy()].tolist(), pl.String)
        return rows.with_columns(column)

    def _points(self, rows: pl.DataFrame, name: str) -> pl.DataFrame:
        """The numbers of one column of points as their names."""
        points = np.array([*self.pairs.points.known] or [""], dtype=object)
        column = pl.Series(name, points[rows[name].to_numpy()].tolist(), pl.String)
        return rows.with_columns(column)

    def _summed(self, stretches: pl.DataFrame) -> pl.DataFrame:
        """Stretches by interval and port."""
        counts = ("n", "low_n", "silent_n", "bare_n")
        absent = [pl.lit(0, pl.Int64).alias(n) for n in counts if n not in stretches.columns]
        return (
            self._cut(stretches.with_columns(absent))
            .group_by("interval", "port", "by", maintain_order=True)
            .agg(pl.col(counts).sum(), pl.col(FIRST).first())
        )
