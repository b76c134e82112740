"""Samples counted by bucket, flow and interval until the interval is closed.

One row of a tally is one bucket of one metric: how many samples, the least and the most of them.
Counts, least and most add up in any order, so any split of the input gives the same rows.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline.histogram import METRICS, bucket
from pipeline.path_samples import KEY, SOURCE, options, stacks, tags

PATH_KEY = list(KEY)
LINK_KEY = [*KEY, "node", "port"]
COUNTED = ["metric", "bucket"]
KINDS: dict[str, DataTypeClass | pl.DataType] = {
    "time_ns": pl.Int64, "flow": pl.UInt64, "source": SOURCE, "node": pl.UInt32, "port": pl.UInt32,
    "metric": pl.UInt8, "bucket": pl.UInt8, "samples": pl.UInt64, "least": pl.Int64,
    "most": pl.Int64,
}  # fmt: skip


class Tallies:
    """Open tallies of links and of paths."""

    def __init__(self, interval_ns: int) -> None:
        self.interval_ns = interval_ns
        self.links = blank(LINK_KEY)
        self.paths = blank(PATH_KEY)

    def add(
        self,
        loads: pl.DataFrame,
        rows: pl.DataFrame,
        placed: Mapping[str, pl.DataFrame],
        base_rtt_ns: int = 0,
    ) -> None:
        """Count the hop loads and the observations of a batch, at the times of their rows.

        `placed` are the CSIG tags of these observations (`signals.placed_tags`).

        `base_rtt_ns` is T where it is known and the same of all paths, else 0.
        """
        links, path = stacks(loads, base_rtt_ns)
        paths = [path, options(rows)]
        for prefix, signals in placed.items():
            named, whole = tags(signals, prefix)
            links.append(named)
            paths.append(whole)
        self.links = joined([self.links, self._counted(links, LINK_KEY)], LINK_KEY)
        told = [each for each in paths if each is not None]
        self.paths = joined([self.paths, self._counted(told, PATH_KEY)], PATH_KEY)

    def close(self, before_ns: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take out the tallies of intervals that ended by `before_ns` (None: all): links, paths."""
        ended = pl.lit(value=True)
        if before_ns is not None:
            ended = pl.col("time_ns") <= before_ns - self.interval_ns
        closed = self.links.filter(ended), self.paths.filter(ended)
        self.links, self.paths = self.links.filter(~ended), self.paths.filter(~ended)
        return closed

    def _counted(self, parts: Sequence[pl.DataFrame], key: Sequence[str]) -> pl.DataFrame:
        """A tally of samples."""
        told = [part for part in parts if part.height]
        if not told:
            return blank(key)
        start = pl.col("time_ns") - pl.col("time_ns") % self.interval_ns
        samples = pl.concat(told, how="vertical_relaxed")
        wide = samples.lazy().with_columns(start.alias("time_ns"))
        counted = [self._metric(wide, number, key) for number in range(len(METRICS))]
        return pl.concat(pl.collect_all(counted))

    @staticmethod
    def _metric(samples: pl.LazyFrame, number: int, key: Sequence[str]) -> pl.LazyFrame:
        """The rows of one metric."""
        metric = METRICS[number]
        value = pl.col(metric.name)
        return (
            samples.select(*key, value)
            .drop_nulls(metric.name)
            .group_by(*key, bucket(value, metric).alias("bucket"))
            .agg(
                pl.len().cast(pl.UInt64).alias("samples"),
                value.min().alias("least"),
                value.max().alias("most"),
            )
            .select(
                *key, pl.lit(number, pl.UInt8).alias("metric"), "bucket", "samples", "least", "most"
            )
        )


def blank(key: Sequence[str]) -> pl.DataFrame:
    """A tally of nothing."""
    names = [*key, *COUNTED, "samples", "least", "most"]
    return pl.DataFrame(schema={name: KINDS[name] for name in names})


def joined(parts: Sequence[pl.DataFrame], key: Sequence[str]) -> pl.DataFrame:
    """Tallies as one."""
    told = [part for part in parts if part.height]
    if len(told) <= 1:
        return reduce(lambda _, part: part, told, parts[0])
    return (
        pl.concat(told)
        .group_by(*key, *COUNTED)
        .agg(pl.col("samples").sum(), pl.col("least").min(), pl.col("most").max())
    )
