"""Times in which live sources captured less than came by: rows of the store, and what they say.

A source says what it lost, and when it began (`collector.Loss`). When it was heard of last before
it began is known here; the time between is a gap in which all was lost. A source that begins for
the first time leaves none.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from collector import Batch
from pipeline.asked import Asked
from pipeline.health.finding import BY_NAME, YES
from pipeline.health.finding import TABLE as HEALTH
from pipeline.question import time_text
from pipeline.tables import TABLES
from pipeline.unit import SECOND

if TYPE_CHECKING:  # who asks about gaps needs nothing of what judges
    from pipeline.worker import Worker

NAME = "capture_gaps"
LIVES = "captures"
TELL_NS = SECOND
"""Least time between two rows that say how far a source has come."""
MOST_GAPS = 10_000
"""Newest gaps that an answer takes into account."""
NAMED_GAPS = 3
"""Gaps that an answer names; of more it says how many."""
Heard = Callable[[str, int], int | None]
"""When a source was heard of last before a time, ns since 1970; None: it was not."""


def gap_rows(batch: Batch, heard: Heard) -> dict[str, pl.DataFrame]:
    """What a source lost before a batch: rows of `NAME`, and the findings; none without a loss."""
    rows = []
    for loss in batch.losses:
        from_ns = heard(batch.source, loss.to_ns) if loss.from_ns is None else loss.from_ns
        if from_ns is not None and from_ns < loss.to_ns:
            rows.append((from_ns, loss.to_ns, batch.source, loss.frames, loss.of))
    if not rows:
        return {}
    gaps = pl.DataFrame(rows, TABLES[NAME].schema, orient="row")
    return {NAME: gaps, HEALTH: _findings(gaps)}


def _findings(gaps: pl.DataFrame) -> pl.DataFrame:
    """Gaps as findings about their sources."""
    known = BY_NAME["not_captured"]
    told = {
        "kind": "source", "finding": known.name, "class": known.kind, "verdict": YES,
        "tells": known.tells,
    }  # fmt: skip
    return gaps.select(
        "time_ns",
        (pl.col("to_ns") - pl.col("time_ns")).alias("interval_ns"),
        pl.col("source").alias("subject"),
        pl.col("lost").fill_null(1).alias("count"),
        pl.struct("lost", "frames").struct.json_encode().alias("evidence"),
        pl.lit(0, pl.UInt64).alias("revision"),
        **{name: pl.lit(value) for name, value in told.items()},
    ).select(TABLES[HEALTH].schema.names())


def never(_source: str, _before_ns: int) -> int | None:
    """Nobody heard of any source."""
    return None


def stored_last(store: Asked) -> Heard:
    """How far a source came whose rows are stored."""

    def heard(source: str, before_ns: int) -> int | None:
        told = store.query("capture_reached", source=source, before_ns=before_ns)
        reached: int | None = told["reached_ns"].item()
        return reached

    return heard


def heard_by(worker: "Worker", stored: Heard = never) -> Heard:
    """When a worker heard of a source last; of one that it does not know, when rows were stored."""

    def heard(source: str, before_ns: int) -> int | None:
        reached = worker.order.reached.get(source)
        return stored(source, before_ns) if reached is None else min(reached, before_ns)

    return heard


class Lives:
    """Says of live sources how far they have come, once in a while."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, int], int] = {}

    def rows(self, batch: Batch, stored_ns: int) -> dict[str, pl.DataFrame]:
        """Rows of `LIVES` for a batch; `stored_ns`: what is before is stored, with this one.

        None of a source that is not live, or that was told of a moment ago. The first ones also
        say that the source began, for what is stored before all else (`begun`).
        """
        if batch.reached_ns is None or batch.ended:
            return {}
        stream, reached = batch.stream, min(batch.reached_ns, stored_ns)
        reached = max(reached, batch.epoch)
        if reached < self._told.get(stream, batch.epoch - TELL_NS) + TELL_NS:
            return {}
        times = [reached] if stream in self._told else sorted({batch.epoch, reached})
        self._told[stream] = reached
        told = [(batch.epoch, batch.source, each) for each in times]
        return {LIVES: pl.DataFrame(told, TABLES[LIVES].schema, orient="row")}


def begun(tables: Mapping[str, pl.DataFrame]) -> Iterator[dict[str, pl.DataFrame]]:
    """What of some rows is to be stored before the rest, in this order; often nothing.

    First the gaps behind which sources began, then that they began: who dies while the rest is
    stored is known to have captured, so that the next one tells of the gap behind it.
    """
    if (gaps := tables.get(NAME)) is not None and gaps.height:
        yield {NAME: gaps}
    if (lives := tables.get(LIVES)) is not None:
        first = lives.filter(pl.col("reached_ns") == pl.col("time_ns"))
        if first.height:
            yield {LIVES: first}


class Captured(NamedTuple):
    """What of a time was captured: a share, and the gaps that touch it, the earliest first."""

    share: float
    gaps: list[dict[str, Any]]

    @property
    def said(self) -> list[str]:
        """A sentence for each gap, of many for the longest."""
        return sentences(self.gaps)


def captured(
    gaps: pl.DataFrame, from_ns: int, to_ns: int, sources: Collection[str] | None = None
) -> Captured:
    """What was captured of a time, by rows of query `capture_gaps`.

    Of several `sources` (None: all that have gaps) the one that missed most counts. A gap of which
    it is known how much was lost counts by that share.
    """
    # Plain rows: few gaps touch a window, and expressions wait for the threads that judge.
    here = sorted(
        (gap for gap in touching(gaps, from_ns, to_ns)
         if sources is None or gap["source"] in sources),
        key=lambda gap: (gap["from_ns"], gap["source"]),
    )  # fmt: skip
    told_ns: dict[str, int] = {}
    missed_ns: Counter[str] = Counter()
    for gap in here:
        source, until_ns = gap["source"], gap["to_ns"]
        known = gap["lost"] is not None and gap["frames"]
        share = gap["lost"] / gap["frames"] if known else 1.0
        # Who dies before it has stored anything leaves a gap inside the next one.
        before_ns = told_ns.get(source, from_ns)
        lacks_ns = min(until_ns, to_ns) - max(gap["from_ns"], before_ns, from_ns)
        missed_ns[source] += max(lacks_ns, 0) * share
        told_ns[source] = max(until_ns, before_ns)
    most = max(missed_ns.values(), default=0.0) / (to_ns - from_ns)
    return Captured(1.0 - min(most, 1.0), here)


def touching(gaps: pl.DataFrame, from_ns: int, to_ns: int) -> list[dict[str, Any]]:
    """The gaps that touch a time."""
    if gaps.is_empty():
        return []
    touch = (gaps["to_ns"].to_numpy() > from_ns) & (gaps["from_ns"].to_numpy() < to_ns)
    numbers = np.flatnonzero(touch)
    if not len(numbers):
        return []
    first = int(numbers[0])
    near = gaps.slice(first, int(numbers[-1]) + 1 - first).rows(named=True)
    return [near[number - first] for number in numbers]


def gaps_of(store: Asked) -> pl.DataFrame:
    """The newest gaps that a store has."""
    return store.query("capture_gaps", rows=MOST_GAPS)


def sentences(gaps: Sequence[Mapping[str, Any]]) -> list[str]:
    """What gaps say, one after the other, the longest of many."""
    longest = sorted(gaps, key=lambda gap: gap["from_ns"] - gap["to_ns"])[:NAMED_GAPS]
    said = [_sentence(gap) for gap in longest]
    rest = len(gaps) - len(said)
    return [*said, f"{rest:,} more gaps in what was captured"] if rest else said


def _sentence(gap: Mapping[str, Any]) -> str:
    during = f"from {time_text(gap['from_ns'])} to {time_text(gap['to_ns'])}"
    if gap["lost"] is None:
        return f"{gap['source']} was not captured {during}"
    return f"{gap['source']} lost {gap['lost']:,} of {gap['frames']:,} frames {during}"
