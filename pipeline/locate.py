"""Which hop each kind of telemetry points at: candidates with their hop load and probability.

Every function takes interval tables (`pipeline.tables`) and gives one row a candidate hop:
time_ns, flow, signal, node, port, u_mean, u_max, queue_mean_bytes, standing_share, samples,
probability. Rows keep the order of the tables, so that sums of floats are the same at every run.
"""

from collections.abc import Sequence
from functools import cache

import polars as pl

from collector import at_once
from pipeline.groups import HOP
from pipeline.load_unit import NANO
from pipeline.portion import portions
from pipeline.reporter import REPORTER, is_reporter
from pipeline.reserved import PLACE
from pipeline.tables import TABLES
from pipeline.timed import counters, measured
from pipeline.told_samples import BOUND

KEY = ["time_ns", "flow"]
SHARPNESS, EXACT = 0.03, 0.004
"""Difference of hop load at which one hop is e times as likely as another, by samples and by
counters."""

IS_INT = pl.col("source").is_in(("int", BOUND))
VIEW = (
    pl.when(is_reporter(pl.col("point")))
    .then(pl.lit(REPORTER))
    .otherwise(pl.col("point").cast(pl.String))
)
ALONE = pl.when(pl.col("node") >= PLACE).then("flow")
"""A hop that only its place names is another one on each path."""
QUEUE = (pl.col("bounded") & pl.col("queue_u").is_finite()).fill_null(value=False)
"""Whether a hop's load is the queue's part alone."""
LEAST_OF_CLASS = 20
"""Packets of a class that tell how long its queue is."""


def load() -> list[pl.Expr]:
    """Sums over partial rows of one candidate as its mean load, largest load and mean queue.

    The queue is that of rows that tell one; where none does it is null.
    """
    samples = pl.col("samples").sum()
    of_queue = pl.col("samples").filter(pl.col("queue_sum_bytes").is_not_null()).sum()
    return [
        (pl.col("u_sum_n").sum() / samples * NANO).alias("u_mean"),
        (pl.col("u_max_n").max() * NANO).alias("u_max"),
        pl.when(of_queue > 0)
        .then(pl.col("queue_sum_bytes").sum() / of_queue)
        .alias("queue_mean_bytes"),
        (stood().sum() / samples).alias("standing_share"),
        samples.alias("samples"),
        pl.col("hop_index").min(),
    ]


def most() -> list[pl.Expr]:
    """What partial rows tell at most of a port: how much it sends, and how long its queue is.

    Of the fullest sample the queue's part is at most that of the longest queue.
    """
    longest, queue_u = pl.col("queue_max_bytes"), pl.col("queue_u_sum_n")
    part = longest * (queue_u / pl.col("queue_sum_bytes")) * NANO
    silent = longest.is_null() & queue_u.is_null()
    part = pl.when(silent | (longest == 0)).then(0.0).otherwise(part)
    return [
        (pl.col("u_max_n") * NANO - part).max().alias("rate_most"),
        longest.max().alias("queue_most_bytes"),
    ]


MOST = most()


def stood() -> pl.Expr:
    """Samples with a standing queue, or how many there likely are where a bucket leaves it open."""
    return pl.coalesce(pl.col("stood_sum_n") * NANO, "standing")


def probability(rows: pl.DataFrame, sharpness: pl.Expr) -> pl.Series:
    """Softmax of the hop loads of one flow and interval."""
    least = sharpness.max().over(KEY)
    weight = ((pl.col("u_mean") - pl.col("u_mean").max().over(KEY)) / least).exp()
    return portions(rows, KEY, weight)


def best(rows: pl.DataFrame, view: Sequence[str], merit: Sequence[pl.Expr]) -> pl.LazyFrame:
    """The rows of one view of each flow and interval: the one of most merit, the first first."""
    told = rows.lazy()
    judged = told.group_by([*KEY, *view], maintain_order=True).agg(
        one.alias(f"merit{place}") for place, one in enumerate(merit)
    )
    merits = [f"merit{place}" for place in range(len(merit))]
    chosen = judged.sort(
        *merits, *view, descending=[True] * len(merits) + [False] * len(view)
    ).unique(KEY, keep="first", maintain_order=True)
    key = [*KEY, *view]
    return told.join(chosen.select(key), on=key, how="semi", maintain_order="left")


def inband(hops: pl.DataFrame, sent: pl.DataFrame | None = None) -> pl.DataFrame:
    """Hops of INT stacks, from the point that saw most of the path (then most samples).

    What switches report is seen from one point, whichever they are. A hop has one load: that of all
    flows that measured it in the interval, over time where their counters tell (`timed`), else by
    their samples (`packet_u` always); bounds count where nothing else does, and the hop is
    `bounded` then, by its queue where `queue_u` is told. `busy` is the share of time in which it
    sent, `seen_at` the point (or `REPORTER`). `sent` (`activity`) tells how long packets are. Of a
    flow's samples `rate_most` is what the fullest sends at least, null where its queue's part is
    not told, and `queue_most_bytes` the longest queue.
    """
    rows = hops.filter(IS_INT)
    return nothing_inband() if rows.is_empty() else hops_of_stacks(rows, sent)


@cache
def nothing_inband() -> pl.DataFrame:
    """What is found where there are no INT stacks."""
    return hops_of_stacks(TABLES["hop_intervals"].blank, None)


def hops_of_stacks(rows: pl.DataFrame, sent: pl.DataFrame | None) -> pl.DataFrame:
    """The same of rows of INT stacks alone."""
    begin = [] if "begin_ns" in rows.columns else [pl.col("time_ns").alias("begin_ns")]
    rows = rows.with_columns(VIEW.alias("view"), ALONE.alias("alone"), *begin)
    merit = [pl.struct(HOP).n_unique(), pl.col("samples").sum()]
    mine = at_once(best(rows, ["view"], merit))
    found = (
        mine.lazy()
        .group_by([*KEY, *HOP, "alone"], maintain_order=True)
        .agg(*load(), *MOST, pl.col("view").first().alias("seen_at"))
    )
    here = ["time_ns", *HOP, "alone"]
    pooled = over_flows(with_packets(mine, sent), here)
    rows = at_once(
        found.drop("u_mean", "standing_share")
        .join(pooled.lazy(), on=here, how="left", nulls_equal=True, maintain_order="left")
        .drop("alone")
    )
    return rows.with_columns(pl.lit("int").alias("signal"), probability(rows, sharpness()))


def sharpness() -> pl.Expr:
    """Difference of hop load at which one hop is e times as likely as another."""
    return pl.when(pl.col("busy").is_null()).then(SHARPNESS).otherwise(EXACT)


def by_lower_ends(rows: pl.DataFrame, carried: pl.DataFrame) -> pl.DataFrame:
    """Hops of INT stacks with probabilities by the least that their loads can be.

    Of a queue that is what flows surely bring besides (`carried`, as `throughput.utilisation`).
    """
    if not rows["bounded"].any():
        return rows
    here = ["time_ns", *HOP]
    brought = rows[[*here]].join(carried, on=here, how="left", maintain_order="left")["least"]
    brought = brought.fill_null(0.0).clip(0.0, 1.0)
    least = pl.col("u_mean") + pl.when(QUEUE).then(brought).otherwise(0.0)
    return rows.with_columns(probability(rows.with_columns(least.alias("u_mean")), sharpness()))


def over_flows(rows: pl.DataFrame, here: Sequence[str]) -> pl.DataFrame:
    """The load of each hop by all rows that tell of it, or by their bounds alone.

    Queues of several classes are told by each class's packets: the port's is at least the longest.
    """
    bound = pl.col("source") == BOUND
    counting = rows.filter(~bound | bound.all().over(here))
    whole = counting.group_by(here, maintain_order=True).agg(
        *load()[:5], *counters(), bound.all().alias("bounded")
    )
    # Where some tell a queue and others what the port sends their mean is neither.
    whole = whole.with_columns((pl.col("counted") == pl.col("samples")).alias("of_queue"))
    queue = pl.when("of_queue").then("queue_u").alias("queue_u")
    return measured(with_longest(whole, counting, here)).select(
        *here, "u_mean", "packet_u", "standing_share", "standing_noise", "busy", "bounded", queue
    )


def with_longest(whole: pl.DataFrame, rows: pl.DataFrame, here: Sequence[str]) -> pl.DataFrame:
    """The loads of hops, those of the class with most where several have `LEAST_OF_CLASS` rows."""
    several = rows.filter((pl.col("dscp") != pl.col("dscp").first()).any().over(here))
    if several.is_empty():
        return whole
    classes = (
        several.group_by([*here, "dscp"], maintain_order=True)
        .agg(*load()[:5], *counters())
        .filter(pl.col("samples") >= LEAST_OF_CLASS)
    )
    most = classes.group_by(here, maintain_order=True).agg(
        pl.col("u_mean", "queue_u").max(),
        pl.col("standing_share", "counted").get(pl.col("standing_share").arg_max()),
    )
    names = [name for name in most.columns if name not in here]
    return whole.join(
        most, on=here, how="left", nulls_equal=True, maintain_order="left", suffix="_most"
    ).select(
        pl.coalesce(f"{name}_most", name).alias(name) if name in names else name
        for name in whole.columns
    )


def with_packets(rows: pl.DataFrame, sent: pl.DataFrame | None) -> pl.DataFrame:
    """The rows with `packet_bytes`, the length of the flow's frames (0: not told), and `dscp`."""
    if sent is None:
        return rows.with_columns(pl.lit(0.0).alias("packet_bytes"), pl.lit(0).alias("dscp"))
    length = pl.when(pl.col("data_frames") > 0).then(pl.col("bytes") / pl.col("data_frames"))
    known = pl.col("dscp") if "dscp" in sent.columns else pl.lit(0)
    told = sent.select(*KEY, length.fill_null(0.0).alias("packet_bytes"), known)
    return rows.join(told, on=KEY, how="left", maintain_order="left").with_columns(
        pl.col("packet_bytes").fill_null(0.0), pl.col("dscp").fill_null(0)
    )


def loads(located: pl.DataFrame) -> pl.DataFrame:
    """Load of each hop in each interval over all flows that located it: load, standing_share.

    `measured` says whether INT tells it, `bounded` that this is a part of it.
    """
    here = ["time_ns", *HOP]
    measured = located.lazy().filter(pl.col("signal") == "int")
    by_locator = located.lazy().filter(pl.col("signal") == "csig")
    bounds = by_locator.join(measured.select(here), on=here, how="anti", maintain_order="left")
    # A flow that rarely names a hop knows least of it: it missed what was less than elsewhere.
    weight = pl.col("samples") * pl.col("share").fill_null(1.0) ** 2
    return at_once(
        pl.concat([measured, bounds], how="diagonal_relaxed")
        .sort(*here, "flow")
        .group_by(here, maintain_order=True)
        .agg(
            ((pl.col("u_mean") * weight).sum() / weight.sum()).alias("load"),
            ((pl.col("standing_share") * weight).sum() / weight.sum()).alias("standing_share"),
            (pl.col("signal") == "int").any().alias("measured"),
            pl.col("bounded").fill_null(value=False).any(),
        )
    )
