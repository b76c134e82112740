"""Intervals of one length: open sums, and closed ones that late rows may still change.

An interval that has ended is judged once. Its sums are kept for the window of lateness: late rows
are added to them and the whole interval is judged anew. What comes later still is judged by itself.
"""

from typing import NamedTuple

import polars as pl

from pipeline.gaps import sent_bytes
from pipeline.open_rows import MOST_ROWS
from pipeline.sums import Sums, beside, joined

SENT = ("data_bytes", "data_frames", "acked_bytes")
"""What a flow sent, of which the point counts that saw most."""
MOST_KEPT = 4_000_000
"""Rows of closed intervals that are kept; of more the oldest go, and their window with them."""


class Ended(NamedTuple):
    """Sums of intervals that have ended: `late` ones add to `kept`, which was judged before.

    `alone` are late rows whose intervals are not kept any more.
    """

    fresh: Sums
    late: Sums
    kept: Sums
    alone: Sums

    @property
    def whole(self) -> Sums:
        """All that is to be judged, interval by interval; states that came in time hold."""
        return beside([self.fresh, joined([self.late, self.kept]), self.alone])

    @property
    def grown(self) -> pl.DataFrame:
        """What flows sent that was not told before, one row a flow and interval with `SENT`."""
        others = [each.flows for each in (self.fresh, self.alone)]
        if not self.late.height:
            return pl.concat(others, how="diagonal_relaxed")
        now, before = (
            each.flows.group_by("time_ns", "interval_ns", "flow", maintain_order=True).agg(
                sent_bytes(each.flows.columns).max(), pl.col(SENT[1:]).fill_null(0).max()
            )
            for each in (joined([self.late, self.kept]), self.kept)
        )
        both = now.join(before, on=["time_ns", "flow"], how="left", suffix="_before")
        more = both.select(
            "time_ns", "interval_ns", "flow",
            *(more_than_before(name) for name in SENT),
        )  # fmt: skip
        return pl.concat([*others, more], how="diagonal_relaxed")

    @property
    def news(self) -> tuple[Sums, Sums]:
        """What is new: late parts of intervals that were judged before, then the others."""
        return beside([self.late, self.alone]), self.fresh


class Rung:
    """See the module."""

    def __init__(self, interval_ns: int, lateness_ns: int) -> None:
        self.interval_ns = interval_ns
        self.lateness_ns = lateness_ns
        self._open: list[Sums] = []
        self._least = 0
        self.closed_ns: int | None = None
        self.floor_ns: int | None = None
        self._kept: list[Sums] = []

    @property
    def flows(self) -> pl.Series:
        """Every flow that an interval tells of which is open or kept, each maybe more than once."""
        known = [Sums.none(), *self._open, *self._kept]
        return pl.concat(rows["flow"] for each in known for rows in each)

    def keep_for(self, lateness_ns: int) -> None:
        """Keep intervals for so long after their end, from now on."""
        if not lateness_ns:
            self._kept, self.floor_ns = [], None
        elif not self.lateness_ns:
            self.floor_ns = self.closed_ns  # of what has ended until now nothing was kept
        self.lateness_ns = lateness_ns

    def close(self, late: Sums, fresh: Sums, before_ns: int | None) -> Ended:
        """Add sums of this or of a shorter length; take out what ended by `before_ns` (None: all).

        `late` are parts of shorter intervals that were judged before.
        """
        ended = self._over(late, fresh, before_ns)
        made = self._sorted_out(ended)
        until = before_ns
        if until is None and ended.height:
            until = self._ends(ended)  # all that there was has ended; another source may still come
        if until is not None:
            self.closed_ns = max(until, self.closed_ns or until)
        self._keep(made)
        return made

    def _over(self, late: Sums, fresh: Sums, before_ns: int | None) -> Sums:
        """What ended by a time, as one; what did not waits as it came, and is joined then."""
        last_ns = None if before_ns is None else before_ns - self.interval_ns
        if fresh.height and not late.height and fresh.interval_ns == self.interval_ns:
            ended, left = fresh.by(last_ns)
            self._open = [left] if left.height else []
            return ended
        news = (late.longer(self.interval_ns), fresh.longer(self.interval_ns))
        cut = [part.by(last_ns) for part in (news[0], *self._open, news[1])]
        self._open = [left for _, left in cut if left.height]
        if sum(part.height for part in self._open) > max(MOST_ROWS, 2 * self._least):
            self._open = [joined(self._open)]
            self._least = self._open[0].height
        return joined(ended for ended, _ in cut)

    def _sorted_out(self, ended: Sums) -> Ended:
        """What has ended, by whether its interval was closed before and is still kept."""
        nothing = Sums.none()
        if self.closed_ns is None or not ended.height:
            return Ended(ended, nothing, nothing, nothing)
        past, fresh = ended.by(self.closed_ns - self.interval_ns)
        if not past.height:
            return Ended(ended, nothing, nothing, nothing)
        floor_ns = self.closed_ns if self.floor_ns is None else self.floor_ns
        is_kept = pl.col("time_ns") > floor_ns - self.interval_ns
        late = filling(past.where(is_kept))
        kept = self._taken_out(late.times) if late.height else nothing
        return Ended(fresh, late, kept, past.where(~is_kept))

    def _taken_out(self, times: pl.Series) -> Sums:
        """The sums of intervals that begin at some times, which are kept no more."""
        here = pl.col("time_ns").is_in(times.implode())
        taken = beside([each.where(here) for each in self._kept])
        # Piece by piece: one that were all pieces would be forgotten only with the newest of them.
        self._kept = [rest for each in self._kept if (rest := each.where(~here)).height]
        return taken

    def _keep(self, ended: Ended) -> None:
        """Keep what may still change, and forget what may not."""
        if not self.lateness_ns or self.closed_ns is None:
            return
        self._kept += [each for each in (joined([ended.late, ended.kept]), ended.fresh)
                       if each.height]  # fmt: skip
        floor_ns = self.closed_ns - self.lateness_ns
        rows = sum(each.height for each in self._kept)
        while self._kept and (self._ends(self._kept[0]) <= floor_ns or rows > MOST_KEPT):
            gone = self._kept.pop(0)
            rows -= gone.height
            floor_ns = max(floor_ns, self._ends(gone))
        self.floor_ns = max(floor_ns, self.floor_ns or floor_ns)

    def _ends(self, sums: Sums) -> int:
        """When the last of some intervals ends."""
        return int(sums.times[-1]) + self.interval_ns


def more_than_before(name: str) -> pl.Expr:
    """By how much a number grew; data that comes late may be less than was acknowledged unseen."""
    before = pl.col(f"{name}_before").fill_null(0)
    return pl.max_horizontal(name, before) - before


def filling(late: Sums) -> Sums:
    """Late rows fill gaps: what they bring is not unseen any more.

    Frames before the first or after the last one that came in time fill none: of these it is off.
    """
    brought = -pl.col("data_bytes").cast(pl.Int64)
    return Sums(late.flows.with_columns(brought.alias("unseen_bytes")), late.hops)
