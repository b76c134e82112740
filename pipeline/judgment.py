"""Whether a headline's hop is congested, how sure that is, and what cannot be true of it.

Columns of a headline: u_mean, standing_share, probability (that the hop is the right one), signal,
and what the flow did in the interval (`activity`).
"""

import polars as pl

from collector import at_once
from pipeline.completeness import completeness, parts
from pipeline.doubt import doubts
from pipeline.groups import HOP
from pipeline.kind import PATH, RECEIVER, SENDER, UNKNOWN, congested_kind
from pipeline.locate import QUEUE
from pipeline.marking import full_by_marks, likely_by_marks, unhindered
from pipeline.odds import odds
from pipeline.settings import PipelineSettings
from pipeline.throughput import FULL

STANDING_SHARE = 0.1
"""A standing queue for more than this share of an interval is congestion."""
SENDER_LIMITED = 0.5
"""A sender with less than this share of its window in flight, one packet more counted, is limited
by itself."""
FILLED = 0.5
"""Share of acknowledgments that found the window full, above which it held the flow back."""
NAMES = ("device", "interface", "stage", "orientation", "capacity_bps")
IDLE_U = 0.8
"""With nothing marked and the fullest hop below this load, hosts set the pace, not the network, if
no hop is out of sight."""
HARDLY = 0.1
"""Share of marked bytes up to which marks were few: the rest of a queue that drained, say."""
PACED_U = 0.95
"""Load of the fullest hop from which HPCC++ holds its senders back: eta (4.2 of its draft)."""
PAUSES = 0.5
"""Share of an interval in which a flow sends, below which it had nothing to send for most of it."""
LITTLE_ALPHA = 0.05
"""DCTCP's alpha below which the sender has met no full queue for long: it sets its own pace."""
OFF = {"int": 0.005, "csig": 0.02, "aecn": 0.05}
"""By how much a load may be off, by the signal that tells it: at the threshold either way is as
likely, and `OFF` above it congestion is e times as likely as none."""
BURST = 0.4
"""How likely a hop is congested whose flows sent in bursts that filled it."""
BELOW = {"int": 0.008}
"""By how much a signal tells less than the mean: INT's u' takes the smaller of two queues."""
EXACT_OFF, EXACT_NOISE = 0.003, 0.002
"""The same of a load from counters, and its standard error: half a packet at either edge of an
interval, and what comes while one is sent."""
STANDING_OFF = 0.03
"""The same of the share of time that a queue stood, where its standard error is not known; where it
is, half of that, since packets are spread evenly over the time in which a port is busy."""
LEAST_NOISE = 0.006
UNMARKED = 0.03
"""How likely congestion is where nothing tells."""
EITHER_END = 0.5
"""How likely the sender holds itself back where the receiver's window may be what does."""


def judged(rows: pl.DataFrame, settings: PipelineSettings, t_ns: float) -> pl.DataFrame:
    """Kind, confidence, completeness, plausibility of headlines; `t_ns`: `testimony.shortest_t`."""
    # Step by step: what an expression costs beside its rows grows with the square of its depth.
    rows = rows.with_columns(LACKS)
    sure = pl.Series("sure", certainty(rows, settings))
    found = rows.lazy().with_columns(
        is_congested(settings).alias("congested"), SHUT, *PARTS, *LIMITED
    )
    rows = at_once(found.with_columns(KIND, UNSCALED))
    found = rows.lazy().with_columns(COMPLETENESS, doubts(rows, t_ns), sure)
    return at_once(found.with_columns(*SHOWN, CONFIDENCE))


def window_is_shut() -> pl.Expr:
    """Whether the receiver's window held the flow back: it was full most of the time, or 0."""
    full = pl.col("rwnd_full") > FILLED * pl.col("rwnd_acks")
    return (full | (pl.col("rwnd_zero") > 0)).fill_null(value=False)


def may_be_shut() -> pl.Expr:
    """Whether the receiver's window may hold the flow back, whose scale is not known."""
    unscaled = pl.col("rwnd_unscaled") > FILLED * (pl.col("rwnd_acks") + pl.col("rwnd_unscaled"))
    return (unscaled & ~pl.col("congested") & ~pl.col("shut")).fill_null(value=False)


def limits() -> list[pl.Expr]:
    """What says of a sender that it sets its own pace."""
    marked = pl.col("marked_bytes").fill_null(0) > HARDLY * pl.col("acked_bytes").fill_null(0)
    whole = (pl.col("hops_seen") >= pl.col("hops")).fill_null(value=True)
    idle = (pl.col("u_mean") + pl.col("lacks_most") < IDLE_U) & ~marked & whole
    packet = pl.col("data_bytes") / pl.col("data_frames").clip(1)
    sparing = pl.col("inflight_bytes") + packet < SENDER_LIMITED * pl.col("W")
    sparing &= (pl.col("u_mean") + pl.col("lacks") < PACED_U).fill_null(value=True)
    unmarked = (pl.col("alpha") < LITTLE_ALPHA) & (pl.col("marked_bytes").fill_null(0) == 0)
    return [idle, sparing, unmarked, unhindered(), pl.col("own_duty") < PAUSES]


def lacks() -> list[pl.Expr]:
    """What a load lacks that is `bounded`: `lacks` at least, `lacks_most` at most; else 0.

    A queue lacks what its port sends: at least what flows surely bring, at most what it can. What a
    port sends lacks the queue of one that is full.
    """
    full = pl.when(pl.col("u_mean") >= FULL).then(1.0).otherwise(0.0)
    least = pl.min_horizontal(pl.col("least").fill_null(0.0), "most_sent")
    most = pl.when(QUEUE).then("most_sent").otherwise(full)
    return [
        pl.when(QUEUE).then(least).otherwise(0.0).alias("lacks"),
        pl.when("bounded").then(most).otherwise(0.0).alias("lacks_most"),
    ]


LACKS = lacks()
SHUT = window_is_shut().alias("shut")
UNSCALED = may_be_shut().alias("unscaled")
PARTS, COMPLETENESS = parts(), completeness()
LIMITED = [each.alias(f"limited{place}") for place, each in enumerate(limits())]
ITSELF = pl.any_horizontal(f"limited{place}" for place in range(len(LIMITED)))
KINDS = (
    (pl.col("congested") & pl.col("node").is_not_null(), congested_kind()),
    (pl.col("congested"), pl.lit(PATH)),
    (pl.col("shut"), pl.lit(RECEIVER)),
    (ITSELF, pl.lit(SENDER)),
    (pl.col("u_mean").is_not_null() | (pl.col("acked_bytes") > 0), pl.lit("not_congested")),
)
"""Kinds and when they hold, the first that does."""
KIND = pl.coalesce(*(pl.when(when).then(kind) for when, kind in KINDS), pl.lit(UNKNOWN)).alias(
    "kind"
)
SHOWN = [pl.when(pl.col("congested") | (pl.col("kind") != RECEIVER)).then(name).alias(name)
         for name in (*HOP, *NAMES)]  # fmt: skip
CONFIDENCE = (
    pl.when(pl.col("kind") != UNKNOWN)
    .then(
        pl.when("congested")
        .then(pl.col("probability") * pl.col("sure"))
        .when(pl.col("unscaled") & (pl.col("kind") == SENDER))
        .then((1 - pl.col("sure")) * EITHER_END)
        .otherwise(1 - pl.col("sure"))
    )
    .alias("confidence")
)


def is_congested(settings: PipelineSettings) -> pl.Expr:
    """By load, by a queue that stands, or where neither is known by marks."""
    noise = pl.when(pl.col("busy").is_not_null()).then(EXACT_NOISE).otherwise(0.0)
    least = pl.col("u_mean") + pl.col("lacks")
    loaded = (least - noise > settings.congested_u).fill_null(value=False)
    surely = pl.col("standing_share") - pl.col("standing_noise").fill_null(0.0)
    stands = (surely > STANDING_SHARE).fill_null(value=False)
    return loaded | stands | full_by_marks()


def certainty(rows: pl.DataFrame, settings: PipelineSettings) -> pl.Series:
    """Probability that the hop is congested."""
    least, most = (pl.col("u_mean") + pl.col(lacks) for lacks in ("lacks", "lacks_most"))
    over = least + pl.col("below") - settings.congested_u
    # Between its bounds a load is as likely one as another.
    between = ((most - settings.congested_u) / (most - least)).clip(0.0, 1.0)
    # Of a burst nothing else says how long the queue stood that it met.
    burst = (pl.col("duty") < 1.0) & pl.col("standing_share").is_null()
    burst &= pl.col("u_mean") > settings.congested_u * pl.col("duty")
    marks = BY_MARKS if (rows["signal"] == "ecn").any() else pl.lit(None, pl.Float64)
    told = rows.lazy().select(
        "u_mean", "standing_share", "duty", "lacks", "lacks_most", marks.alias("marked"), *SPREADS
    )
    between = pl.when(most > least).then(between).alias("between")
    told = told.select("marked", over / pl.col("off"), STANDS, burst.alias("burst"), between)
    return at_once(told.select(SURE)).to_series()


def spreads() -> list[pl.Expr]:
    """How far loads and queues may be off: `off` and `below`, `stands` with `stands_off`."""
    exact = pl.col("busy").is_not_null()
    off = pl.col("signal").replace_strict(OFF, default=0.05, return_dtype=pl.Float64)
    below = pl.col("signal").replace_strict(BELOW, default=0.0, return_dtype=pl.Float64)
    noise = pl.col("standing_noise")
    stands = pl.col("standing_share") - STANDING_SHARE - noise.fill_null(0.0) / 2
    return [
        pl.when(exact).then(EXACT_OFF).otherwise(off).alias("off"),
        pl.when(exact).then(0.0).otherwise(below).alias("below"),
        stands.alias("stands"),
        pl.coalesce(noise.clip(LEAST_NOISE) / 2, STANDING_OFF).alias("stands_off"),
    ]


SPREADS = spreads()
BY_MARKS = pl.when(pl.col("signal") == "ecn").then(likely_by_marks(STANDING_SHARE))
STANDS = (
    pl.when(pl.col("standing_share") > 0)
    .then(pl.col("stands") / pl.col("stands_off"))
    .alias("stands")
)
SURE = pl.max_horizontal(
    odds(pl.col("u_mean")),
    odds(pl.col("stands")),
    "marked",
    pl.when("burst").then(BURST),
    "between",
).fill_null(UNMARKED)
