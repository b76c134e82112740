"""Verdicts on sums of intervals, each by the topology in force then, and rows of what changed.

To judge takes mostly the same time however few rows there are, so that intervals of all lengths
that ended are judged at once. No interval knows of another: they are told apart by their time, and
those of longer lengths, which begin when shorter ones do, by some nanoseconds more (`apart`).
Those that were captured in part are as long as that part meanwhile (`covered`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from collector import at_once
from pipeline.covered import Covered, cut, restored
from pipeline.ladder import Judged
from pipeline.revisions import TABLE as REVISIONS
from pipeline.settings import PipelineSettings
from pipeline.sums import Sums, beside
from pipeline.tables import TABLES
from pipeline.topology import Topology
from pipeline.verdict import verdicts
from pipeline.versions import Versions

Tables = Mapping[str, pl.DataFrame]
"""Rows of the store, by table."""


def judged(
    lengths: Sequence[Sums],
    known: Callable[[pl.Series], pl.DataFrame],
    versions: Versions,
    settings: PipelineSettings,
    covered: Covered,
) -> list[pl.DataFrame]:
    """Verdicts on intervals of each length, the shortest first; `known` gives the rows of flows.

    Frames were captured in the time that is `covered`.
    """
    there = [sums for sums in lengths if sums.height]
    if not there:
        return [TABLES["verdicts"].blank for _ in lengths]
    seen = known(pl.concat([rows["flow"] for sums in there for rows in sums]))
    in_part = [covered.parts(sums, versions.measured_ns) for sums in lengths]
    parts: dict[Topology | None, list[Sums]] = {}
    for place, sums in enumerate(lengths):
        for topology, own in by_topology(sums, versions):
            parts.setdefault(topology, []).append(apart(cut(own, in_part[place]), place))
    made = [verdicts(seen, *beside(own), topology, settings) for topology, own in parts.items()]
    rows = pl.concat(made)
    for place, each in enumerate(in_part):
        rows = restored(rows, each, place)
    rows = at_once(rows.lazy().with_columns(begin().alias("time_ns")).sort("time_ns", "flow"))
    return [
        rows.filter(pl.col("interval_ns") == sums.interval_ns) if sums.height else rows.clear()
        for sums in lengths
    ]


def begin() -> pl.Expr:
    """When an interval begins: at a multiple of its length."""
    return pl.col("time_ns") - pl.col("time_ns") % pl.col("interval_ns")


def by_topology(sums: Sums, versions: Versions) -> Iterator[tuple[Topology | None, Sums]]:
    """Sums by the topology that is in force at their time."""
    flows, hops = (dict(versions.split(rows)) if rows.height else {} for rows in sums)
    for topology in {**flows, **hops}:
        yield (
            topology,
            Sums(flows.get(topology, sums.flows.clear()), hops.get(topology, sums.hops.clear())),
        )


def apart(sums: Sums, place: int) -> Sums:
    """The sums of the length at a `place` of all lengths, none of which begins when another does.

    `begin` tells when they do.
    """
    if not place:
        return sums
    later = pl.col("time_ns") + place
    return Sums(*(rows.with_columns(later) for rows in sums))


def changed(made: Judged) -> Tables:
    """Verdicts that were changed by late rows, as they were and as they are now."""
    return {REVISIONS: made.changes} if made.changes.height else {}
