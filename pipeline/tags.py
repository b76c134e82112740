"""Which hops CSIG's locators point at: shared locators, ties, what each signal says by itself.

Of `pipeline.locate` the shape of candidates; functions take rows of hop_intervals. Semantics.md
section 5: replacement is strict and after quantisation, so of hops in one bucket the most upstream
is named, and every later one may be as full.
"""

from functools import lru_cache

import polars as pl

from collector import at_once
from pipeline.groups import HOP
from pipeline.load_unit import NANO
from pipeline.locate import KEY, best, load, stood
from pipeline.own_scale import REMEMBERED
from pipeline.reserved import LOCATOR, PLACE, UNTOLD
from pipeline.signals import SOURCES
from pipeline.timed import noise
from pipeline.topology import Topology

CSIG_SOURCE = "^csig_(echo_)?(abw|utilization|delay)$"
"""Tags seen on data, and their reflections on ACKs: two views of one measurement."""
VIEW = [*KEY, "point", "echo"]
"""What tells views apart: where tags of a flow were read, and whether as they came or reflected."""
WHOLE = 255
"""More hops than a path has: what a tag has met that was read at its end."""
FEWER = 4
"""How much less one view may locate than another that is preferred to it: what a mirror misses."""
QUEUEING = 0.03
"""Queue, in base round trips, at which a port is as likely to be busy as not: a large packet."""
SECOND_BEST = 0.7
"""Queue of a hop where another one was the slowest, as a share of its queue where it was itself. It
is taken to be seen as often as not: of a hop that is seldom the slowest nothing else is known."""


def views(hops: pl.DataFrame) -> pl.DataFrame:
    """CSIG rows with their type of signal, and whether it was reflected: `echo`."""
    return at_once(hops.lazy().filter(IS_CSIG).with_columns(*OF_CSIG))


IS_CSIG = pl.col("source").str.contains(CSIG_SOURCE)
OF_CSIG = [
    pl.col("source").str.starts_with("csig_echo").alias("echo"),
    pl.col("source").str.split("_").list.last().alias("signal_type"),
    pl.col("point").cast(pl.String),
]


def heard(hops: pl.DataFrame, met: pl.DataFrame) -> pl.DataFrame:
    """CSIG rows of one view of each flow and interval, with their type of signal.

    A tag near its sender has met no hop yet: the view to hear is the one whose tags had `met` most
    hops, of those that located as much as others but for `FEWER`, then the one that located most.
    """
    rows = views(hops).lazy().with_columns(LOCATED)
    rows = rows.join(met.lazy(), on=VIEW, how="left", maintain_order="left").with_columns(FAR)
    merit = [pl.col("far").first(), pl.col("located").first(), pl.col("samples").sum()]
    return at_once(best(at_once(rows), VIEW[2:], merit).drop("met", "located", "far"))


LOCATED = pl.col("samples").filter(pl.col("port") != UNTOLD).sum().over(VIEW).alias("located")
ENOUGH = pl.col("located") * FEWER >= pl.col("located").max().over(KEY)
FAR = pl.when(ENOUGH).then(pl.col("met").fill_null(WHOLE)).otherwise(0).alias("far")


def shared(rows: pl.DataFrame, paths: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """The rows, those of a locator that several ports share once for each that the flow may cross.

    The samples are divided among these ports. A locator whose ports lie on no possible path stays
    as it was told.
    """
    summed = ("samples", "u_sum_n", "standing", "queue_sum_bytes", "stood_sum_n")
    rows = rows.with_columns(pl.col(summed).cast(pl.Float64))
    if topology is None or rows.is_empty():
        return rows
    groups = sharing(topology)
    if groups.is_empty():
        return rows
    crossed = paths.select(
        "flow", pl.col("node").alias("own_node"), pl.col("port").alias("own_port")
    )
    several = rows.with_row_index("row").join(
        groups,
        on=["signal_type", *HOP],
        how="inner",
        maintain_order="left_right",
    )
    if several.is_empty():
        return rows
    found = several.join(crossed, on=["flow", "own_node", "own_port"], how="semi")
    part = pl.col(summed) / pl.len().over("row")
    split = found.with_columns(
        part, pl.col("own_node").alias("node"), pl.col("own_port").alias("port")
    )
    rest = rows.with_row_index("row").join(found[["row"]].unique(), on="row", how="anti")
    return (
        pl.concat([rest, split.select(rest.columns)])
        .sort("row", *HOP, maintain_order=True)
        .drop("row")
    )


@lru_cache(REMEMBERED)
def sharing(topology: Topology) -> pl.DataFrame:
    """Locators that several ports share, as they are told (signal_type, node, port), by port."""
    told = topology.locators.filter(pl.col("ports") > 1).select(
        pl.col("t")
        .replace_strict(SOURCES, default=None, return_dtype=pl.String)
        .alias("signal_type"),
        pl.lit(LOCATOR, pl.UInt32).alias("node"),
        pl.col("lm").cast(pl.UInt32).alias("port"),
        pl.col("node").alias("own_node"),
        pl.col("port").alias("own_port"),
    )
    return told.unique(maintain_order=True)


def congestion_signals(rows: pl.DataFrame) -> pl.DataFrame:
    """Hops that locators name, from rows that were `heard`, with the load that their terms make.

    u' is the rate term of min(ABW/C) and the queue term of max(PD). A hop that is not named by one
    of them has less of that term than the hop that is, or as much (a tie): a hop with a queue sends
    at its rate, so that it gets the path's rate term as far as its queue says that it is busy.
    """
    terms = at_once(rows.lazy().with_columns(OF_TYPE).filter(TELLS)).lazy()
    path = terms.filter(~DELAY).group_by(KEY, maintain_order=True).agg(PATH_RATE)
    found = (
        terms.group_by([*KEY, *HOP], maintain_order=True)
        .agg(TERMS)
        .filter(pl.col("port") != UNTOLD)
        .join(path, on=KEY, how="left", maintain_order="left")
    )
    named = found.with_columns(QUEUE).with_columns(BUSY).with_columns(RATE).with_columns(*LOADS)
    own = ("rate", "rate_part", "queue", "queue_part", "path_rate", "queued", "busy_part")
    return at_once(of_all(named).drop(own))


def view() -> list[pl.Expr]:
    """The view that is heard: its point as `seen_at`, and whether it is of reflections."""
    return [pl.col("point").cast(pl.String).first().alias("seen_at"), pl.col("echo").first()]


def terms_of_hop() -> list[pl.Expr]:
    """The terms of one hop out of all its rows."""
    term, part = pl.col("u_sum_n") / pl.col("all") * NANO, pl.col("samples") / pl.col("all")
    return [
        term.filter(~DELAY).sum().alias("rate"),
        part.filter(~DELAY).sum().alias("rate_part"),
        term.filter(DELAY).sum().alias("queue"),
        part.filter(DELAY).sum().alias("queue_part"),
        pl.col("samples").filter(DELAY).sum().alias("queued"),
        (pl.col("u_max_n").max() * NANO).alias("u_max"),
        pl.when(QUEUED.any()).then(OCTETS.filter(QUEUED).sum()).alias("queue_mean_bytes"),
        (stood() / pl.col("all")).max().alias("standing_share"),
        pl.col("samples").sum(),
        (part.sum() / (DELAY.any().cast(pl.Int8) + (~DELAY).any())).alias("share"),
        pl.col("hop_index").min(),
        *view(),
    ]


OF_TYPE = pl.col("samples").sum().over([*KEY, "signal_type"]).alias("all")
DELAY = pl.col("signal_type") == "delay"
QUEUED = DELAY & pl.col("queue_sum_bytes").is_not_null()
OCTETS = pl.col("queue_sum_bytes") / pl.col("all")
"""Mean queue as the queue term is a mean: what names another hop, or none, tells none here."""
RATIO = (pl.col("signal_type") == "utilization").any().over(KEY)
TELLS = (pl.col("signal_type") != "abw") | ~RATIO.fill_null(value=False)
"""ABW and ABW/C say the same of a port: where both were seen, the ratio is taken."""
PATH_RATE = (pl.col("u_sum_n") / pl.col("all") * NANO).sum().alias("path_rate")
TERMS = terms_of_hop()


def longer_queue() -> pl.Expr:
    """Queue and queue term of a hop with what they had where another hop was the slowest."""
    unheard = pl.min_horizontal("queue_part", 1 - pl.col("queue_part")) / pl.col("queue_part")
    return pl.col("queue", "queue_mean_bytes") * (1 + SECOND_BEST * unheard.fill_nan(0.0))


def tied_rate() -> pl.Expr:
    """The rate term of a hop with what it has where it ties with the one that is named."""
    tie = pl.col("path_rate").fill_null(0.0) * (1 - pl.col("rate_part"))
    return pl.col("rate") + tie * pl.col("busy_part")


QUEUE, RATE = longer_queue(), tied_rate().alias("rate")
BUSY = (pl.col("queue") / (pl.col("queue") + QUEUEING)).alias("busy_part")
BURST = pl.col("rate") + (1 - pl.col("rate")).clip(0.0) * pl.col("busy_part") + pl.col("queue")
SENDS = pl.when(pl.col("path_rate").is_null()).then(1.0).otherwise(pl.col("rate").clip(0.0, 1.0))
"""Share of its rate that a port sends, as packets met it; 1 where no tag tells."""
LOADS = [
    (pl.col("rate") + pl.col("queue")).alias("u_mean"),
    BURST.alias("burst_u"),
    pl.col("queue").alias("queue_term"),
    SENDS.alias("rate_term"),
    pl.lit("csig").alias("signal"),
]


def of_all(named: pl.LazyFrame) -> pl.LazyFrame:
    """Hops with one load and queue each: that of all flows that name it, the more the oftener.

    A flow that rarely names a hop knows least of it: it missed what was less than elsewhere. A
    locator that no topology knows may be another hop on each path.
    """
    here = ["time_ns", *HOP, pl.when(pl.col("node") >= PLACE).then("flow")]
    weight = pl.col("samples") * pl.col("share") ** 2
    part = weight / weight.sum().over(here)
    loads = ("u_mean", "burst_u", "queue_term", "rate_term", "standing_share")
    queued = pl.col("queued").sum().over(here)
    queue = pl.col("queue_mean_bytes")
    told = pl.when(queue.is_not_null().any().over(here))
    return named.with_columns(
        *((pl.col(name).fill_null(0.0) * part).sum().over(here) for name in loads),
        told.then((queue.fill_null(0.0) * part).sum().over(here)).alias("queue_mean_bytes"),
        queued.alias("queued"),
    ).with_columns(noise(pl.col("queued")).alias("standing_noise"))


def by_signal(rows: pl.DataFrame) -> pl.DataFrame:
    """Hops that each CSIG signal names by itself; probability is the share of samples there."""
    named = rows.lazy().with_columns(SIGNAL)
    found = named.group_by([*OF_SIGNAL, *HOP], maintain_order=True).agg(MEANS)
    return at_once(found.with_columns(PART).filter(pl.col("port") != UNTOLD))


OF_SIGNAL = [*KEY, "signal"]
SIGNAL = (pl.lit("csig_") + pl.col("signal_type")).alias("signal")
MEANS = [*load(), *view()]
PART = (pl.col("samples") / pl.col("samples").sum().over(OF_SIGNAL)).alias("probability")


def bounds(rows: pl.DataFrame) -> pl.DataFrame:
    """What the terms say of the load of a flow's path: time_ns, flow, low, high, samples.

    Rate and queue term may come from two ports: the load is at least the larger of them, and at
    most their sum (semantics.md section 3).
    """
    delay = pl.col("signal_type") == "delay"
    terms = (
        rows.lazy()
        .group_by([*KEY, delay.alias("delay")], maintain_order=True)
        .agg(
            (pl.col("u_sum_n").sum() / pl.col("samples").sum() * NANO).alias("term"),
            pl.col("samples").sum(),
        )
    )
    path = terms.group_by(KEY, maintain_order=True).agg(
        pl.col("term").max().alias("low"),
        pl.col("term").sum().alias("high"),
        pl.col("samples").sum().cast(pl.UInt64),
    )
    return at_once(path)
