"""What marks say of a port: for how long its queue stood, and whether it is full.

A queue that rises above the threshold and falls below it again has sent in between what came in
between, and what came was marked: so marked bytes are the time for which it stood, at line rate. Of
the bytes of a port the share that is marked, times the share of its rate that it sends, is the
share of time in which its queue stood above the threshold.

At a full port that marks at all a queue is kept up, however rarely it meets the threshold. And a
port that sends all that it can, where nothing before it holds its flows back, is full even if no
queue was long enough to mark.
"""

import polars as pl

from collector import at_once
from pipeline.groups import HOP
from pipeline.intervals import SLICES
from pipeline.locate import KEY
from pipeline.odds import odds
from pipeline.throughput import FAR_FROM_FULL, FULL, sent_bytes

STEADY = 0.8
"""Share of an interval in which the flows of a hop sent, from which they did not send in bursts."""
BRIM = 0.97
"""Utilisation from which a port that marks nothing is full."""
STANDING_OFF, FULL_OFF, BRIM_OFF = 0.01, 0.02, 0.01
"""By how much shares of time and utilisations may be off: at a threshold either side of it is as
likely, and so much above it the upper one is e times as likely."""
UNMARKED = 0.03
"""How likely congestion is of which no mark tells."""


def may_be_marked() -> pl.Expr:
    """Whether a flow's data may be marked: it was, or DCTCP's sender has heard that it was not."""
    hears = pl.col("alpha").is_not_null() & pl.col("U").is_null() & (pl.col("acked_bytes") > 0)
    return ((pl.col("mark_share") > 0) | hears).fill_null(value=False)


def marked_shares(crossing: pl.DataFrame, sent: pl.DataFrame) -> pl.DataFrame:
    """Share that is marked of the bytes that hops' flows sent and that may be marked.

    time_ns, hop, marked_share; `crossing` is as `sharing.crossing` gives it.
    """
    told = (
        sent.lazy()
        .filter(may_be_marked())
        .select(*KEY, pl.col("mark_share").alias("share"), sent_bytes().alias("whole"))
    )
    marked = (pl.col("share") * pl.col("whole")).sum() / pl.col("whole").sum()
    return at_once(
        crossing[[*KEY, *HOP]]
        .lazy()
        .join(told, on=KEY, how="inner", maintain_order="left")
        .group_by(["time_ns", *HOP], maintain_order=True)
        .agg(marked.alias("marked_share"))
    )


def with_marks(rows: pl.DataFrame, marked: pl.DataFrame, carried: pl.DataFrame) -> pl.DataFrame:
    """Headlines with what marks say of them.

    `most_sent` is the most that the hop may have sent of what it can; standing_share is by marks
    where nothing else tells it, of flows that were marked or saw the hop full.
    """
    here = ["time_ns", *HOP]
    limits = carried.lazy().select(*here, pl.when("whole").then("most").alias("seen"), "least")
    told = rows.lazy().join(marked.lazy(), on=here, how="left", maintain_order="left")
    told = told.join(limits, on=here, how="left", maintain_order="left")
    told = told.with_columns(MOST_SENT).with_columns(BUSY, STOOD).with_columns(*STANDING)
    return at_once(told)


def stood() -> pl.Expr:
    """For how long a queue stood by marks, of flows that were marked or saw the hop full."""
    met = (pl.col("mark_share") > 0) | (pl.col("u_mean") >= FAR_FROM_FULL)
    by_marks = (pl.col("signal") == "aecn") | (pl.col("signal") == "ecn")
    return pl.when(by_marks & met.fill_null(value=False)).then(
        pl.col("marked_share") * pl.col("most_sent")
    )


def busy() -> pl.Expr:
    """Tags sample the time in which a port is busy, less than that in which its flows send."""
    part = (pl.col("most_sent") / pl.col("duty")).clip(0.0, 1.0).fill_nan(1.0).fill_null(1.0)
    return pl.when(pl.col("signal") == "csig").then(part).otherwise(1.0)


MOST_SENT = pl.coalesce("seen", "duty", 1.0).clip(0.0, 1.0).alias("most_sent")
BUSY, STOOD = busy().alias("tagged"), stood().alias("stood")
STANDING = [
    pl.coalesce("stood", pl.col("standing_share") * pl.col("tagged")).alias("standing_share"),
    pl.col("standing_noise") * pl.col("tagged"),
]


def full_by_marks() -> pl.Expr:
    """Whether marks alone say that the hop is full; how long its queue stood is told apart."""
    steady = pl.col("duty") >= STEADY
    marks = (pl.col("mark_share") > 0) & (pl.col("most_sent") >= FULL)
    by_rate = pl.col("filled").is_not_null()
    return ((pl.col("signal") == "ecn") & steady & (marks | by_rate)).fill_null(value=False)


def likely_by_marks(standing: float) -> pl.Expr:
    """Probability that a hop of which only marks tell is congested.

    `standing` is the share of time from which a queue that stands is congestion.
    """
    stood = odds((pl.col("standing_share") - standing) * (1 / STANDING_OFF))
    full = odds((pl.col("most_sent") - FULL) * (1 / FULL_OFF))
    brim = odds((pl.col("least") - BRIM) * (1 / BRIM_OFF))
    steady = pl.col("duty") >= STEADY
    marks = pl.max_horizontal(stood, pl.when(steady).then(full))
    brim = pl.when(pl.col("least") >= BRIM).then(brim)
    by_rate = pl.coalesce(brim, "filled").clip(UNMARKED, 1 - UNMARKED)
    marked = pl.col("mark_share") > 0
    return pl.when(marked).then(marks).when(steady).then(by_rate).otherwise(UNMARKED)


def unhindered() -> pl.Expr:
    """Whether marks say that a sender by DCTCP sets its own pace.

    It would send more until it is marked: it was not, or it pauses, or no port could be full.
    """
    pauses = pl.col("slices").bitwise_count_ones() < STEADY * SLICES
    free = pl.col("most_sent") < FAR_FROM_FULL
    by_dctcp = pl.col("alpha").is_not_null() & pl.col("U").is_null()
    told = (pl.col("mark_share") == 0) | pauses | free
    return (
        by_dctcp & ~pl.col("signal").is_in(["int", "csig"]).fill_null(value=False) & told
    ).fill_null(value=False)
