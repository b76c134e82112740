"""Verdicts on sums of intervals, each by the topology in force then, and rows of what changed."""

from collections.abc import Callable, Mapping

import polars as pl

from pipeline.ladder import Judged
from pipeline.revisions import TABLE as REVISIONS
from pipeline.settings import PipelineSettings
from pipeline.sums import Sums
from pipeline.tables import TABLES
from pipeline.verdict import verdicts
from pipeline.versions import Versions

Tables = Mapping[str, pl.DataFrame]
"""Rows of the store, by table."""


def judged(
    sums: Sums,
    known: Callable[[pl.Series], pl.DataFrame],
    versions: Versions,
    settings: PipelineSettings,
) -> pl.DataFrame:
    """Verdicts on intervals of one length; `known` gives the rows of flows."""
    if not sums.height:
        return TABLES["verdicts"].blank
    seen = known(pl.concat([rows["flow"] for rows in sums]))
    flows, hops = (dict(versions.split(rows)) for rows in sums)
    made = []
    for topology in {**flows, **hops}:
        own = flows.get(topology, sums.flows.clear())
        crossed = hops.get(topology, sums.hops.clear())
        made.append(verdicts(seen, own, crossed, topology, settings))
    return pl.concat(made).sort("time_ns", "flow")


def changed(made: Judged) -> Tables:
    """Verdicts that were changed by late rows, as they were and as they are now."""
    return {REVISIONS: made.changes} if made.changes.height else {}
