"""The verdicts of all lengths of intervals at once, out of the sums of the shortest.

What has ended at one length is added to the next longer one. No verdict is finer than what fed it:
what a hop's device measures too slowly for one length is judged at a longer one only, and where the
settings name none that is long enough there is one more (`reach`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from pipeline.doubt import TOO_FINE
from pipeline.revisions import Numbered, Revisions
from pipeline.rung import Ended, Rung
from pipeline.sums import Sums

Judge = Callable[[Sequence[Sums]], list[pl.DataFrame]]
"""Gives the verdicts on intervals of each of some lengths, the shortest first."""


class Judged(NamedTuple):
    """What a closing brought: rows of `verdicts` and of `verdict_revisions`, of all lengths.

    `ended` are the intervals of the shortest length, `told` all verdicts on them, those as well
    that are finer than what fed them; `alone` are those made of late rows alone.
    """

    verdicts: pl.DataFrame
    changes: pl.DataFrame
    ended: Ended
    told: pl.DataFrame


class Ladder:
    """Intervals by their length, the shortest first."""

    def __init__(self, lengths_ns: Sequence[int], lateness_ns: int) -> None:
        self.told_ns = tuple(lengths_ns)
        """The lengths that settings name."""
        self.lateness_ns = lateness_ns
        self.rungs: list[Rung] = []
        self.revisions: list[Revisions] = []
        self.too_late = 0
        for length in lengths_ns:
            self._add(length)

    @property
    def lengths_ns(self) -> tuple[int, ...]:
        """All lengths, the shortest first."""
        return tuple(rung.interval_ns for rung in self.rungs)

    @property
    def flows(self) -> list[pl.Series]:
        """Flows that an interval tells of which is open or may be judged anew."""
        return [rung.flows for rung in self.rungs]

    @property
    def revised(self) -> int:
        """Verdicts that late rows have changed."""
        return sum(each.count for each in self.revisions)

    def reach(self, measured_ns: int) -> None:
        """Have a length that is not shorter than the time over which a signal is measured."""
        longest = self.rungs[-1].interval_ns
        if measured_ns > longest:
            self._add(-(-measured_ns // longest) * longest)

    def keep_for(self, lateness_ns: int) -> None:
        """Have intervals judged anew for so long after their end, from now on."""
        self.lateness_ns = lateness_ns
        for rung, revisions in zip(self.rungs, self.revisions, strict=True):
            rung.keep_for(lateness_ns)
            revisions.keep(keeping=lateness_ns > 0)

    def close(self, sums: Sums, before_ns: int | None, judge: Judge) -> Judged:
        """Judge all intervals that ended by `before_ns`; `sums` are such of the shortest length."""
        closed = self._closed(sums, before_ns)
        every = judge([ended.whole for ended in closed])
        made: list[Numbered] = []
        finer = pl.col("plausibility").list.set_intersection(list(TOO_FINE)).list.len() > 0
        for rung, revisions, ended, told in zip(
            self.rungs, self.revisions, closed, every, strict=False
        ):
            coarse = told if rung is self.rungs[-1] else told.filter(~finer)
            again, alone = ended.late.times, ended.alone.times
            made.append(revisions.numbered(coarse, again, alone, before_ns))
            if rung.floor_ns is not None:
                revisions.forget(rung.floor_ns - rung.interval_ns)
        self.too_late += int(closed[0].alone.flows["frames"].sum())
        alone_ns = closed[0].alone.times
        return Judged(
            pl.concat([each.verdicts for each in made]).sort("time_ns", "flow", "interval_ns"),
            pl.concat([each.changes for each in made]),
            closed[0],
            every[0].with_columns(pl.col("time_ns").is_in(alone_ns.implode()).alias("alone")),
        )

    def _closed(self, sums: Sums, before_ns: int | None) -> list[Ended]:
        """What has ended of each length, as far as sums of the shortest length change any."""
        late, fresh = Sums.none(), sums
        closed = []
        for rung in self.rungs:
            closed.append(ended := rung.close(late, fresh, before_ns))
            late, fresh = ended.news
            if not late.height and not fresh.height:
                break
        return closed

    def _add(self, length_ns: int) -> None:
        self.rungs.append(Rung(length_ns, self.lateness_ns))
        self.revisions.append(Revisions(keeping=self.lateness_ns > 0))
