"""Samples counted by bucket, flow and interval until the interval is closed.

One row of a tally is one bucket of one metric: how many samples, the least and the most of them.
Counts, least and most add up in any order, so any split of the input gives the same rows.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.datatypes import DataTypeClass

from collector import arrow, kernel
from pipeline.groups import Ints, Word, hops, numbered, words
from pipeline.histogram import LAST, METRICS, bucket
from pipeline.path_samples import KEY, PATH_KEY, SOURCE, options, stacks, tags
from pipeline.signals import Signals

LINK_KEY = [*KEY, "node", "port"]
COUNTED = ["metric", "bucket"]
BANDWIDTH = [metric.name for metric in METRICS].index("abw")
FIRST_BUCKETS = np.array([metric.first for metric in METRICS])
NOT_TOLD = -1
LARGEST = (1 << 63) - 1
MOST_PARTS = 64
"""Batches whose tallies of one interval wait to be joined."""
KINDS: dict[str, DataTypeClass | pl.DataType] = {
    "time_ns": pl.Int64, "flow": pl.UInt64, "source": SOURCE, "node": pl.UInt32, "port": pl.UInt32,
    "point": pl.String, "metric": pl.UInt8, "bucket": pl.UInt8, "samples": pl.UInt64,
    "least": pl.Int64, "most": pl.Int64,
}  # fmt: skip
NEAR = 1.0
"""Buckets by which the means of two points may differ that are equally far along a path."""


class Open:
    """Tallies of intervals that are open, as the batches gave them; joined when they are closed."""

    def __init__(self, key: Sequence[str]) -> None:
        self.key = key
        self.parts: dict[int, list[pl.DataFrame]] = {}
        self.told: dict[int, list[pl.Series]] = {}

    @property
    def flows(self) -> pl.Series:
        """Every flow that is told of, each maybe more than once."""
        told = [flows for parts in self.told.values() for flows in parts]
        return pl.concat([blank(self.key)["flow"], *told])

    def add(self, counted: pl.DataFrame) -> None:
        """Take the tally of a batch, whose rows of an interval lie together."""
        times = counted["time_ns"].to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(times)) + 1).tolist(), len(times)]
        for begin, end in pairwise(cuts if len(times) else ()):
            start, part = int(times[begin]), counted[begin:end]
            parts = self.parts.setdefault(start, [])
            parts.append(part)
            flows = part["flow"].to_numpy()
            runs = pl.Series("flow", flows[np.diff(flows, prepend=~flows[:1]) != 0])
            self.told.setdefault(start, []).append(runs)
            if len(parts) > MOST_PARTS:
                parts[:] = [joined(parts, self.key)]
                self.told[start] = [pl.concat(self.told[start]).unique()]

    def close(self, before_ns: int | None) -> pl.DataFrame:
        """Take out the tallies of intervals that begin by a time; None: all."""
        ended = [start for start in self.parts if before_ns is None or start <= before_ns]
        for start in ended:
            del self.told[start]
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
        signals: Signals | None,
        base_rtt_ns: int = 0,
    ) -> None:
        """Count the hop loads and the observations of a batch, at the times of their rows.

        `signals` are the CSIG tags of these observations (`signals.placed_tags`).

        `base_rtt_ns` is T where it is known and the same of all paths, else 0.
        """
        links, path = stacks(loads, base_rtt_ns)
        paths = [path, options(rows)]
        if signals is not None:
            named, whole = tags(signals)
            links.append(named)
            paths.append(whole)
        self.links.add(self._counted(links, LINK_KEY))
        self.paths.add(self._counted([each for each in paths if each is not None], PATH_KEY))

    def close(self, before_ns: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take out the tallies of intervals that ended by `before_ns` (None: all): links, paths."""
        last_ns = None if before_ns is None else before_ns - self.interval_ns
        return self.links.close(last_ns), furthest(self.paths.close(last_ns))

    def _counted(self, parts: Sequence[pl.DataFrame], key: Sequence[str]) -> pl.DataFrame:
        """A tally of samples."""
        told = [part for part in parts if part.height]
        if not told:
            return blank(key)
        samples = pl.concat(told, how="vertical_relaxed")
        times = arrow.values(samples["time_ns"]) // self.interval_ns
        # A few words tell them apart, since every sample is looked up by them.
        what = (times - times.min()) * len(SOURCE.categories) + arrow.values(samples["source"])
        group, first = numbered(words(samples, ["flow", what, *place(samples, key)]))
        order = np.argsort(times[first], kind="stable")
        values = np.stack([arrow.values(samples[e.name], NOT_TOLD) for e in METRICS], axis=1)
        at, *counted = histograms(in_order(group, len(first)), values, FIRST_BUCKETS, order)
        columns = zip((*COUNTED, "samples", "least", "most"), counted, strict=True)
        own: pl.DataFrame = samples[list(key)][first[at]]
        begun = pl.Series("time_ns", times[first[at]] * self.interval_ns)
        named = [begun if each.name == "time_ns" else each.cast(KINDS[each.name]) for each in own]
        return pl.DataFrame(
            [*named, *(pl.Series(name, told, KINDS[name]) for name, told in columns)]
        )


@kernel
def in_order(group: Ints, groups: int) -> tuple[Ints, Ints]:
    """Rows by their group, and where those of each group begin; the last is their number."""
    begins = np.zeros(groups + 2, np.int64)
    for each in group:
        begins[each + 2] += 1
    for each in range(groups):
        begins[each + 2] += begins[each + 1]
    rows = np.empty(group.size, np.int64)
    for row in range(group.size):
        rows[begins[group[row] + 1]] = row
        begins[group[row] + 1] += 1
    return rows, begins


@kernel
def histograms(
    sorted_rows: tuple[Ints, Ints], values: Ints, first: Ints, order: Ints
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Buckets that samples fall into: group, metric, bucket, samples, the least and the most.

    Groups come in the `order` that is asked for; `values` are (sample, metric), below 0 not told.
    """
    rows, begins = sorted_rows
    own = np.empty(values.size, np.int32)
    kind, place = np.empty(values.size, np.uint8), np.empty(values.size, np.uint8)
    samples = np.empty(values.size, np.uint64)
    least, most = np.empty(values.size, np.int64), np.empty(values.size, np.int64)
    here = np.full(LAST + 1, -1, np.int64)
    count = 0
    for group in order:
        for metric in range(values.shape[1]):
            start = count
            for at in range(begins[group], begins[group + 1]):
                value = values[rows[at], metric]
                if value < 0:
                    continue
                number = bucket(value, first[metric])
                if here[number] < start:
                    here[number] = count
                    own[count], kind[count], place[count] = group, metric, number
                    samples[count], least[count], most[count] = 0, value, value
                    count += 1
                at_hand = here[number]
                samples[at_hand] += np.uint64(1)
                least[at_hand] = min(least[at_hand], value)
                most[at_hand] = max(most[at_hand], value)
    return (
        own[:count].copy(), kind[:count].copy(), place[:count].copy(),
        samples[:count].copy(), least[:count].copy(), most[:count].copy(),
    )  # fmt: skip


def pointed(part: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """A tally; of state from before points were told apart it is that of one without a name."""
    if "point" not in key or "point" in part.columns:
        return part
    return part.with_columns(pl.lit("").alias("point")).select(blank(key).columns)


def place(rows: pl.DataFrame, key: Sequence[str]) -> Sequence[str | Word]:
    """What tallies of one flow and kind of telemetry are told apart by."""
    return hops(rows) if "node" in key else ["point"]


def furthest(tally: pl.DataFrame) -> pl.DataFrame:
    """A tally of paths by flow and kind of telemetry: that of the point furthest along each path.

    There loads, utilisations and delays are largest, and bandwidths least: points before it see
    packets that have not met every hop yet. Points that are as far, but for `NEAR`, see the same
    packets at other times; of these it is the one with most samples, so that it is always the same.
    """
    if tally["point"].n_unique() <= 1:
        return tally.drop("point")
    sign = pl.when(pl.col("metric") == BANDWIDTH).then(-1).otherwise(1)
    told = pl.col("samples")
    far = (sign * pl.col("bucket").cast(pl.Int64) * told).sum() / told.sum()
    points = tally.group_by(PATH_KEY).agg(far.alias("far"), told.sum())
    near = points.filter(pl.col("far") >= pl.col("far").max().over(KEY) - NEAR)
    last = near.sort("samples", "point", descending=[True, False]).unique(
        KEY, keep="first", maintain_order=True
    )
    return tally.join(last[[*PATH_KEY]], on=PATH_KEY, how="semi").drop("point")


def blank(key: Sequence[str]) -> pl.DataFrame:
    """A tally of nothing."""
    names = [*key, *COUNTED, "samples", "least", "most"]
    return pl.DataFrame(schema={name: KINDS[name] for name in names})


def joined(parts: Sequence[pl.DataFrame], key: Sequence[str]) -> pl.DataFrame:
    """Tallies as one."""
    told = [pointed(part, key) for part in parts if part.height]
    if len(told) <= 1:
        return reduce(lambda _, part: part, told, parts[0])
    rows = pl.concat(told)
    source, metric, part = (
        arrow.values(rows[name]).astype(np.int64) for name in ("source", "metric", "bucket")
    )
    what = (source * len(METRICS) + metric) * (LAST + 1) + part
    group, first = numbered(words(rows, ["flow", what, *place(rows, key)]))
    counted = [rows[name].to_numpy() for name in ("samples", "least", "most")]
    columns = zip(("samples", "least", "most"), added(group, len(first), *counted), strict=True)
    return rows[first].with_columns(pl.Series(name, told) for name, told in columns)


@kernel
def added(
    group: Ints, groups: int, samples: NDArray[np.uint64], least: Ints, most: Ints
) -> tuple[NDArray[np.uint64], Ints, Ints]:
    """Samples of groups of rows, the least and the most of them."""
    count = np.zeros(groups, np.uint64)
    low, high = np.full(groups, LARGEST), np.zeros(groups, np.int64)
    for row in range(group.size):
        here = group[row]
        count[here] += samples[row]
        low[here] = min(low[here], least[row])
        high[here] = max(high[here], most[row])
    return count, low, high


NOTHING_TALLIED = blank(LINK_KEY), blank(KEY)
"""What `Tallies.close` gives where nothing was counted."""
