"""Means over time: the load of a hop over a whole interval, from exact counters and from packets.

Packets do not sample time evenly: a burst brings many, a pause none. What a port has sent is exact
between any two records, whatever passed unseen. And a port sends at its line rate whenever
anything waits, so that packets do sample evenly the time in which it is busy: the mean queue over
time is the mean over packets times the share of time in which the port was busy, which is its
utilisation. The same holds of the share of time in which a queue stands. A record is written when
its packet leaves the queue: while it is sent, as much comes as leaves where the queue does not
empty, so that half a packet is added for each that had to wait.

Before the first and after the last record of an interval the port counts as busy as between them
where that takes at most `GAP` times the time between records. It counts as idle where records that
come at random would leave so much time out with a probability of exp(-GAP) at most; after few
records that is far longer. Between these nobody can say, and the counters tell nothing.
"""

import polars as pl

from collector import at_once
from pipeline.cc.hop_record import JITTER_NS, MOST_SENT
from pipeline.fallen import FELL_NS
from pipeline.groups import HOP
from pipeline.load_unit import NANO
from pipeline.unit import BITS, SECOND

COUNTERS = ("seen", "ts", "sent")
GAP = 5.0
BURSTY = 0.8
"""Share of an interval in which the flows of a hop sent, below which they sent in bursts."""
UNEVEN, UNEVEN_NOISE = 0.7, 0.25
"""What a port can have sent as a share of the rate that packets met there, below which its flows
sent unevenly: of the smallest frames a capture lacks as much, what comes between them on the wire.
And the standard error of how long a queue stood then, as a share of it: each flow's packets are
spread otherwise over the time in which the port is busy."""
MOST_APART = 0.25
"""How far the clocks of hop and tap may differ over an interval, as a share of it, queues counted:
more is a clock that wrapped."""


def counters() -> list[pl.Expr]:
    """The counters of several rows of one hop as one, with `queue_u`, the queue's mean part.

    `left` is the share of packets that left others behind, `coming_u` half a packet's part, `fell`
    whether what was sent at a time is less than before it. `records` is how many there are at
    least: an acknowledgment may have brought each again.
    """
    once = pl.col("ts_first_ns") == pl.col("ts_last_ns")
    records = pl.when(once).then(1).otherwise(pl.max_horizontal(2, (pl.col("samples") + 1) // 2))
    counted = pl.col("samples").filter(pl.col("queue_u_sum_n").is_not_null()).sum()
    told = pl.col("samples") * pl.col("packet_bytes")
    left = (pl.col("waiting") * pl.col("packet_bytes")).sum() / told.sum()
    per_byte = pl.col("queue_u_sum_n").sum() / pl.col("queue_sum_bytes").sum() * NANO
    return [
        (pl.col("queue_u_sum_n").sum() / counted * NANO).alias("queue_u"),
        counted.alias("counted"),
        records.filter(pl.col("queue_u_sum_n").is_not_null()).sum().alias("records"),
        left.fill_nan(0.0).fill_null(0.0).alias("left"),
        (told.sum() / counted / 2 * per_byte).fill_nan(0.0).fill_null(0.0).alias("coming_u"),
        pl.col("begin_ns", "interval_ns").first(),
        *(pl.col(f"{name}_first_ns").min() for name in COUNTERS),
        *(pl.col(f"{name}_last_ns").max() for name in COUNTERS),
        pl.any_horizontal(
            (pl.col(f"sent_{end}_ns").sort_by(f"ts_{end}_ns").diff() < -JITTER_NS).any()
            for end in ("first", "last")
        ).alias("fell"),
    ]


def busy() -> pl.Expr:
    """Share of the interval in which a port sent, by what lies between its `counters` (`APART`).

    Null: they do not tell.
    """
    seen, span, sent = (pl.col(f"{name}_ns") for name in COUNTERS)
    before = pl.col("seen_first_ns") - pl.col("begin_ns")
    after = pl.col("begin_ns") + pl.col("interval_ns") - pl.col("seen_last_ns")
    # Polars divides by a column of one value as it multiplies by the reciprocal: always do so.
    most = GAP * (1.0 / (pl.col("records") - 1).clip(1))
    near, idle = span * most, span * (most.exp() - 1)
    first, last = (
        pl.when(edge <= near).then(edge).when(edge >= idle).then(0) for edge in (before, after)
    )
    edges = first + last
    known = pl.min_horizontal(span + edges, "interval_ns") * (1.0 / pl.col("interval_ns"))
    told = ~pl.col("fell") & (pl.col("sent_first_ns") > FELL_NS)
    apart = (span - seen).abs() <= MOST_APART * pl.col("interval_ns")
    likely = told & apart & (span > 0) & (sent >= 0) & (sent <= MOST_SENT * span)
    return pl.when(likely & (pl.col("records") > 1) & edges.is_not_null()).then(sent / span * known)


def by_counters() -> pl.Expr:
    """The load of a hop whose counters tell.

    The length of a queue falls off evenly: of packets that wait as large a share leaves others
    behind as of all packets waits, so that the share that waits is the root of both.
    """
    waits = pl.min_horizontal(pl.col("left").sqrt(), "busy")
    return pl.col("busy") * (1 + pl.col("queue_u") + waits * pl.col("coming_u"))


def measured(hops: pl.DataFrame) -> pl.DataFrame:
    """Hops with their `counters`: u_mean and standing share over time where these tell.

    `packet_u` stays the mean over packets.
    """
    told = hops.lazy().with_columns(*APART).with_columns(BUSY).with_columns(*OVER_TIME)
    return at_once(told)


def noise(samples: pl.Expr) -> pl.Expr:
    """Standard error of a standing share among so many samples."""
    share = pl.col("standing_share").clip(0.0, 1.0)
    return pl.when(samples > 0).then((share * (1 - share) / samples).sqrt())


APART = [(pl.col(f"{name}_last_ns") - pl.col(f"{name}_first_ns")).alias(f"{name}_ns")
         for name in COUNTERS]  # fmt: skip
BUSY = busy().alias("busy")
OVER_TIME = [
    pl.coalesce(by_counters(), "u_mean").alias("u_mean"),
    pl.col("u_mean").alias("packet_u"),
    pl.col("standing_share") * pl.col("busy").fill_null(1.0),
    (noise(pl.col("counted")) * pl.col("busy")).alias("standing_noise"),
]


def over_time(rows: pl.DataFrame, limits: pl.DataFrame) -> pl.DataFrame:
    """Headlines whose loads are means over the whole interval.

    Packets of a burst see the load of the burst: where a hop's flows sent in part of the interval
    only, it was empty in the rest. Its part is at least what flows surely brought to it, and a port
    with a queue sends at its rate, whatever it measured over a longer time (`burst_u`). Else what
    tags tell of its queue holds while the port is busy: for `rate_term` of the time.

    Flows that trickle between their bursts send in all of the interval, though next to no packet
    tells of most of it. Where taps at all ends show what a port sent at most (`limits`, as
    `throughput.utilisation`), and that is far less than what packets met, it was busy for as long,
    and its queue (`queue_term`, of packets) stood in that time.
    """
    here = ["time_ns", *HOP]
    most = limits.lazy().filter("whole").select(*here, pl.col("most").alias("at_most"))
    known = rows.lazy().join(most, on=here, how="left", maintain_order="left")
    brought = known.select(*MET, *BROUGHT).with_columns(PART)
    told = at_once(brought.with_columns(MORE, CALMER).with_columns(*UNSURE))
    counted = pl.col("contributors", "victims").fill_null(0)
    grown = rows.lazy().with_columns(BURST_LOAD, counted, *told[ADDED])
    grown = grown.with_columns(*GROWN, told["part"].alias("duty"), told["carried"])
    return at_once(grown.drop("calmer", "stood", "unsure"))


def brought() -> list[pl.Expr]:
    """Of headlines: whether flows came in bursts, and what they brought as a share of its rate."""
    capacity = pl.col("interval_ns") * pl.when(pl.col("capacity_bps") > 0).then("capacity_bps")
    carried, wire = (pl.col(f"{name}_bytes") * (BITS * SECOND) / capacity
                     for name in ("crossing", "wire"))  # fmt: skip
    return [
        (pl.col("duty") < BURSTY).fill_null(value=False).alias("bursts"),
        carried.alias("carried"),
        wire.clip(0.0, 1.0).alias("surely"),
    ]


def missed() -> pl.Expr:
    """By how much a load from counters grows.

    What flows brought may have passed before the first record, or after the last.
    """
    after = pl.when(pl.col("bursts") & (pl.col("surely") > pl.col("busy"))).then(
        pl.col("surely") / pl.col("busy")
    )
    return after.fill_null(1.0)


def calmer() -> pl.Expr:
    """The load of a hop whose flows sent unevenly; null: of others."""
    rate = pl.col("burst_u") - pl.col("queue_term")
    uneven = ~pl.col("bursts") & (pl.col("at_most") < UNEVEN * rate)
    return pl.when(uneven).then(pl.col("at_most") * (1 + pl.col("queue_term")))


def unsure() -> list[pl.Expr]:
    """How long a queue stood that tags tell of, as a share of packets: `stood`, and its error.

    Without taps at all ends it stood for as much of the time as of the packets at most. For less
    where these came while the port was busy: for as much of that as the port sent of its rate.
    """
    even = pl.col("at_most").is_null() & ~pl.col("bursts")
    apart = pl.when(even).then((1 - pl.col("rate_term")) / 2)
    uneven = pl.when(pl.col("calmer").is_not_null()).then(UNEVEN_NOISE)
    return [(1 - apart.fill_null(0.0)).alias("stood"), pl.coalesce(uneven, apart).alias("unsure")]


MET = ("duty", "busy", "burst_u", "queue_term", "rate_term", "at_most")
BROUGHT = brought()
PART = pl.when("bursts").then(pl.max_horizontal("duty", "surely")).otherwise(1.0).alias("part")
MORE = pl.when(pl.col("busy").is_null()).then("part").otherwise(missed()).alias("more")
CALMER = calmer().alias("calmer")
UNSURE = unsure()
ADDED = ["more", "calmer", "stood", "unsure"]
NOISE = pl.col("standing_share") * pl.col("unsure")
GROWN = [
    pl.coalesce("calmer", pl.col("u_mean") * pl.col("more")).alias("u_mean"),
    pl.col("standing_share") * pl.col("stood") * pl.col("more"),
    pl.max_horizontal("standing_noise", NOISE) * pl.col("more"),
    pl.col("queue_mean_bytes") * pl.col("more") * pl.col("busy").fill_null(1.0),
]
IDLE = (pl.col("queue_term") * (1 - pl.col("rate_term"))).fill_null(0.0)
"""What packets tell of the queue more than its mean over time: they come while the port is busy."""
BURST_LOAD = (
    pl.when((pl.col("duty") < BURSTY).fill_null(value=False))
    .then(pl.coalesce("burst_u", "u_mean"))
    .otherwise(pl.col("u_mean") - IDLE)
    .alias("u_mean")
)
