"""Closed intervals that are to become rows of seconds: added up when these are stored, not before.

What is stored together is made together, once in two seconds of live frames and not with each
verdict: it takes as long for few intervals as for many, and nobody waits for it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from collector import one_thread
from pipeline.judging import Tables
from pipeline.rollup_rows import Closed, summed
from pipeline.rung import SENT
from pipeline.versions import Versions

INTERVAL = ["time_ns", "interval_ns", "flow"]
NARROW = 8
"""Rows of tallies, which most are, that take the room of one observation."""


class Rolled(NamedTuple):
    """What is known of closed intervals, and the topologies to read it by."""

    closed: Closed
    versions: Versions

    @property
    def height(self) -> int:
        """How many rows of observations would take the room of those that wait."""
        return sum(frame.height for frame in self.closed[1:]) // NARROW


@one_thread
def rows_of(parts: Sequence[Rolled]) -> Tables:
    """The rows of `link_seconds` and `path_seconds` of intervals that were closed in this order."""
    found: dict[str, list[pl.DataFrame]] = {}
    for run in runs(parts):
        for name, rows in summed(together(run), run[-1].versions).items():
            found.setdefault(name, []).append(rows)
    return {name: pl.concat(rows) for name, rows in found.items()}


def runs(parts: Sequence[Rolled]) -> list[list[Rolled]]:
    """Parts that follow each other under the same topologies."""
    made: list[list[Rolled]] = []
    for part in parts:
        if made and made[-1][-1].versions is part.versions:
            made[-1].append(part)
        else:
            made.append([part])
    return made


def together(parts: Sequence[Rolled]) -> Closed:
    """What is known of all; of each flow what was known last, and the last verdicts on it all."""
    if len(parts) == 1:
        return parts[0].closed
    sent = [part.closed.flow_intervals for part in parts]
    flows, rows, hops, verdicts, *tallies = (
        pl.concat(frames, how="diagonal_relaxed")
        for frames in zip(*(part.closed for part in parts), strict=True)
    )
    return Closed(
        flows.unique("flow", keep="last", maintain_order=True),
        rows if apart(sent) else all_sent(sent),
        hops,
        newest(verdicts),
        *tallies,
    )


def newest(verdicts: pl.DataFrame) -> pl.DataFrame:
    """The last verdict on each interval of a flow; one made of late rows `alone` yields to any."""
    if "alone" in verdicts.columns:
        by_alone = pl.col("alone").fill_null(value=False)
        verdicts = verdicts.sort(by_alone, descending=True, maintain_order=True)
    return verdicts.unique(INTERVAL, keep="last", maintain_order=True)


def apart(closings: Sequence[pl.DataFrame]) -> bool:
    """Whether no two closings tell of the same interval: nothing came late."""
    told = [set(each["time_ns"].unique()) for each in closings]
    return sum(map(len, told)) == len(set().union(*told))


def all_sent(closings: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What flows sent by interval, of closings of which the later ones tell what came besides.

    Of one closing it is what the point saw that saw most.
    """
    told = [
        each.group_by(INTERVAL, maintain_order=True).agg(pl.col(SENT).fill_null(0).max())
        for each in closings
    ]
    return pl.concat(told).group_by(INTERVAL, maintain_order=True).agg(pl.col(SENT).sum())
