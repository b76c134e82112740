"""Which of a flow's possible paths fit the hops that it named, and which hops lie on all of them.

Paths are rows as `ways.paths` gives them: those of a flow together, path by path, hop by hop. The
compiled passes read hops as one word, node before port.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, kernel
from pipeline.groups import Ints, Words, hop
from pipeline.runs import begun

KEY = ["time_ns", "flow"]


def fitting(intervals: pl.DataFrame, named: pl.DataFrame, possible: pl.DataFrame) -> pl.DataFrame:
    """The paths of each flow-interval with most of the hops that it `named`, with its time.

    A hop that was named twice counts twice, and has two rows.
    """
    keys = intervals[KEY]
    begin, end = spans(keys["flow"], possible["flow"])
    rows = keys.with_row_index("row")
    told = named.join(rows, on=KEY, how="inner").sort("row")
    first = np.searchsorted(told["row"].to_numpy(), np.arange(keys.height + 1))
    at, row = chosen(
        begin,
        end,
        arrow.values(possible["path"]),
        hop(possible),
        first,
        hop(told),
    )
    return pl.concat([keys[row], possible.drop("flow")[at]], how="horizontal")


def crossed(ways: pl.DataFrame) -> pl.DataFrame:
    """The hops of each flow-interval's paths, each once: time_ns, flow, node, port, sure.

    A flow is `sure` to cross those of all its paths.
    """
    begins = np.append(np.flatnonzero(begun(ways, KEY)), ways.height)
    first, sure = each_once(begins, arrow.values(ways["path"]), hop(ways))
    rows = ways[[*KEY, "node", "port"]].with_columns(pl.Series("sure", sure))
    return rows.filter(pl.Series(first))


def common(possible: pl.DataFrame) -> pl.DataFrame:
    """The hops that lie on all paths of a flow: flow, node, port."""
    hops = possible[["flow", "node", "port"]]
    flow, path = (arrow.values(possible[name]) for name in ("flow", "path"))
    return hops.filter(pl.Series(on_all(flow, path, hop(possible))))


def spans(asked: pl.Series, flows: pl.Series) -> tuple[Ints, Ints]:
    """First row of each flow that is asked for and the first behind; the same where it has none.

    Of a flow whose rows do not lie together (two claim the same ends) the first ones count.
    """
    runs = flows.rle().struct.unnest()
    begins = runs.select(
        pl.col("value").alias("flow"), pl.col("len").cast(pl.Int64),
        begin=pl.col("len").cast(pl.Int64).cum_sum() - pl.col("len").cast(pl.Int64),
    ).unique("flow", keep="first", maintain_order=True)  # fmt: skip
    found = pl.DataFrame({"flow": asked}).join(begins, on="flow", how="left", maintain_order="left")
    begin, count = (found[name].fill_null(0).to_numpy() for name in ("begin", "len"))
    return begin, begin + count


@kernel
def chosen(
    begin: Ints, end: Ints, path: NDArray[np.uint32], hop: Words, first: Ints, named: Words
) -> tuple[Ints, Ints]:
    """Rows of the paths that fit best, and the flow-interval of each.

    The paths of one lie from `begin` to `end`, the hops that it named from `first` on.
    """
    most = 0
    for row in range(begin.size):
        most += (end[row] - begin[row]) * max(first[row + 1] - first[row], 1)
    at, own = np.empty(most, np.int64), np.empty(most, np.int64)
    count = 0
    for row in range(begin.size):
        here, best = count, 0
        place = begin[row]
        while place < end[row]:
            kept, fits, number = count, 0, path[place]
            while place < end[row] and path[place] == number:
                times = 0
                for each in range(first[row], first[row + 1]):
                    times += named[each] == hop[place]
                for _ in range(max(times, 1)):
                    at[count], own[count] = place, row
                    count += 1
                fits += times
                place += 1
            if fits < best:
                count = kept
            elif fits > best:
                at[here : here + count - kept] = at[kept:count]
                count, best = here + count - kept, fits
        own[here:count] = row
    return at[:count].copy(), own[:count].copy()


@kernel
def each_once(
    begins: Ints, path: NDArray[np.uint32], hop: Words
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each row is the first of its hop in its flow-interval, and if all paths cross that.

    `begins` are the first rows of the flow-intervals, and behind the last one.
    """
    first, sure = np.zeros(hop.size, np.bool_), np.zeros(hop.size, np.bool_)
    for interval in range(begins.size - 1):
        begin, end = begins[interval], begins[interval + 1]
        paths = 1
        for row in range(begin + 1, end):
            paths += path[row] != path[row - 1]
        for row in range(begin, end):
            before = begin
            while hop[before] != hop[row]:
                before += 1
            if before < row:
                continue
            through, last = 1, path[row]
            for other in range(row + 1, end):
                if hop[other] == hop[row] and path[other] != last:
                    through, last = through + 1, path[other]
            first[row], sure[row] = True, through == paths
    return first, sure


@kernel
def on_all(flow: Words, path: NDArray[np.uint32], hop: Words) -> NDArray[np.bool_]:
    """Whether each row is the first of a hop that lies on all paths of its flow."""
    found = np.zeros(flow.size, np.bool_)
    begin = 0
    while begin < flow.size:
        end = begin
        while end < flow.size and flow[end] == flow[begin]:
            end += 1
        for row in range(begin, end):
            if path[row] != path[begin]:
                break
            times = 0
            for other in range(begin, end):
                times += hop[other] == hop[row]
            found[row] = times == path[end - 1] - path[begin] + 1
        begin = end
    return found
