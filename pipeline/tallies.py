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
MOST_PARTS = 64
"""Batches whose tallies of one interval wait to be joined."""
KINDS: dict[str, DataTypeClass | pl.DataType] = {
    "time_ns": pl.Int64, "flow": pl.UInt64, "source": SOURCE, "node": pl.UInt32, "port": pl.UInt32,
    "metric": pl.UInt8, "bucket": pl.UInt8, "samples": pl.UInt64, "least": pl.Int64,
    "most": pl.Int64,
}  # fmt: skip


class Open:
    """Tallies of intervals that are open, as the batches gave them; joined when they are closed."""

    def __init__(self, key: Sequence[str]) -> None:
        self.key = key
        self.parts: dict[int, list[pl.DataFrame]] = {}

    @property
    def flows(self) -> pl.Series:
        """Every flow that is told of, each maybe more than once."""
        told = [part["flow"] for parts in self.parts.values() for part in parts]
        return pl.concat([blank(self.key)["flow"], *told])

    def add(self, counted: pl.DataFrame) -> None:
        """Take the tally of a batch."""
        for (start,), part in counted.partition_by("time_ns", as_dict=True).items():
            parts = self.parts.setdefault(int(start), [])
            parts.append(part)
            if len(parts) > MOST_PARTS:
                parts[:] = [joined(parts, self.key)]

    def close(self, before_ns: int | None) -> pl.DataFrame:
        """Take out the tallies of intervals that begin by a time; None: all."""
        ended = [start for start in self.parts if before_ns is None or start <= before_ns]
        whole = [joined(self.parts.pop(start), self.key) for start in sorted(ended)]
        return pl.concat([blank(self.key), *whole])


class Tallies:
    """Open tallies of links and of paths."""

    def __init__(self, interval_ns: int) -> None:
        self.interval_ns = interval_ns
        self.links = Open(LINK_KEY)
        self.paths = Open(PATH_KEY)

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
        self.links.add(self._counted(links, LINK_KEY))
        self.paths.add(self._counted([each for each in paths if each is not None], PATH_KEY))

    def close(self, before_ns: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take out the tallies of intervals that ended by `before_ns` (None: all): links, paths."""
        last_ns = None if before_ns is None else before_ns - self.interval_ns
        return self.links.close(last_ns), self.paths.close(last_ns)

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
