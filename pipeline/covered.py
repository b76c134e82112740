"""Of which part of an interval frames were captured: it may begin before them, or end after them.

Pure. A capture of 30 ms lies in an interval of 100 ms, and what lasted for all of it would count
as a burst: so while verdicts are made the first interval begins with the first frame that was
captured and the last one ends with the last. They keep their `time_ns`, by which intervals are
told apart, while `interval_ns` and `begin_ns` are those of the part. One shorter than `LEAST_NS`,
or than signals are measured over, counts as so long. In between nothing tells a pause from a
capture that stopped.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from pipeline.intervals import SLICES
from pipeline.order import ALL_NS, NEVER
from pipeline.sums import Sums

LEAST_NS = 1_000_000
"""The shortest part that says how loaded a port was: a hundred round trips in a fabric."""


class Part(NamedTuple):
    """An interval of which a part was captured: beginning and length of both, ns."""

    whole: tuple[int, int]
    part: tuple[int, int]

    def rows(self, later_ns: int = 0) -> pl.Expr:
        """Which rows are of it, that may begin so much later."""
        return pl.col("time_ns") == self.whole[0] + later_ns


class Covered(NamedTuple):
    """When frames were captured: from the first, to the last or on to `ALL_NS`.

    It begins at `ALL_NS` where none was captured yet, or it is not known when.
    """

    from_ns: int = ALL_NS
    to_ns: int = ALL_NS

    def until(self, before_ns: int | None) -> Self:
        """The same for who judges what ended by a time; None: all, as nothing comes any more."""
        return self if before_ns is None else self._replace(to_ns=ALL_NS)

    @classmethod
    def all_of(cls, several: Iterable[Self]) -> Self:
        """When any of several captures had frames."""
        starts, ends = zip(*several, strict=True)
        return cls(min(starts), max(ends))

    def parts(self, sums: Sums, least_ns: int = 0) -> list[Part]:
        """Intervals that were captured in part, each as long as `least_ns` at least."""
        if not sums.height:
            return []
        length = sums.interval_ns
        least = min(max(least_ns, LEAST_NS), length)
        from_ns = NEVER if self.from_ns == ALL_NS else self.from_ns
        starts = {time - time % length for time in self if NEVER < time < ALL_NS}
        made = []
        for begin in sorted(starts):
            end = begin + length
            first = max(min(from_ns, end - least), begin)
            last = min(max(self.to_ns, first + least), end)
            if last - first < length and sums.begins(begin):
                made.append(Part((begin, length), (first, last - first)))
        return made


def cut(sums: Sums, parts: Sequence[Part]) -> Sums:
    """Sums of one length with such intervals as long as they were captured.

    Hops say in `begin_ns` when what was captured of them begins.
    """
    flows, hops = sums
    hops = hops.with_columns(pl.col("time_ns").alias("begin_ns"))
    for each in parts:
        first, length = each.part
        slices = stretched(flows["slices"], each)
        flows = flows.with_columns(
            where(each.rows(), slices, "slices"), where(each.rows(), length, "interval_ns")
        )
        hops = hops.with_columns(
            where(each.rows(), first, "begin_ns"), where(each.rows(), length, "interval_ns")
        )
    return Sums(flows, hops)


def restored(rows: pl.DataFrame, parts: Sequence[Part], later_ns: int = 0) -> pl.DataFrame:
    """Rows of what was `cut`, with the lengths of whole intervals; they may begin so much later."""
    for each in parts:
        rows = rows.with_columns(where(each.rows(later_ns), each.whole[1], "interval_ns"))
    return rows


def where(here: pl.Expr, told: int | pl.Series, name: str) -> pl.Expr:
    """A column with other values in some rows."""
    value = told if isinstance(told, pl.Series) else pl.lit(told, pl.Int64)
    return pl.when(here).then(value).otherwise(name).alias(name)


def stretched(slices: pl.Series, part: Part) -> pl.Series:
    """The slices of an interval with data as slices of its part."""
    (begin, whole), (first, length) = part
    number = np.arange(SLICES)
    place = ((first - begin) * 2 * SLICES + (2 * number + 1) * length) // (2 * whole)
    held = slices.fill_null(0).to_numpy().astype(np.uint64)
    bits = (held[:, None] >> place.astype(np.uint64)) & np.uint64(1)
    made = np.bitwise_or.reduce(bits << number.astype(np.uint64), axis=1)
    known = pl.Series("slices", made.astype(np.uint32))
    return known.set(slices.is_null(), None)
