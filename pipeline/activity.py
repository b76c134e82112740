"""What each flow did in an interval, over all points that saw it."""

from functools import cache

import polars as pl

from collector import at_once
from pipeline.gaps import sent_unseen
from pipeline.load_unit import NANO
from pipeline.sharing import sending

KEY = ["time_ns", "flow", "interval_ns"]
MOST_SEEN = ("frames", "sampled_from", "unseen_bytes", "shed_frames")
"""What completeness is told by, of the point that saw most."""
AT_TOP = ("aecn_saturated",)
HOW = ("ecn_echo",)
WINDOWS = ("rwnd_acks", "rwnd_full", "rwnd_zero", "rwnd_unscaled", "rwnd_sum_bytes")
SAID = ("frames", "acks", "feedback", "feedback_backwards")
"""What speaks of a flow of which only acknowledgments were captured."""
UNDATED = pl.lit(None, pl.UInt64).alias("tagged_frames")
"""No tag tells of a time before it was seen, as far as it is told."""
STATE = ("U", "W", "Wc", "R", "alpha")


def activity(
    flow_intervals: pl.DataFrame, hop_intervals: pl.DataFrame, flows: pl.DataFrame
) -> pl.DataFrame:
    """One row a flow and interval in which it sent data.

    Where no data was captured an interval counts in which data was acknowledged that was not seen
    before either: trailing ACKs are of what was sent before. Of flows whose column `unseen` is true
    no frame was captured: for them one counts in which data was acknowledged, or telemetry
    reflected.

    Counts are those of the point that saw most. Marks are those of the point that saw most
    acknowledged, path sums those of the point furthest downstream, where they are largest, and none
    where not even there a router has written anything. State is that of the point that is most
    likely before the queues: the one that saw the fewest CE marks. What is in flight is what the
    point nearest the sender sees, where it is most; windows are those of the point that saw most of
    them filled.
    `spoken` is the number of frames that could tell of congestion, `points` that of the points that
    saw data, `own_duty` the share of the interval in which the flow sent, `mark_share` that of its
    bytes that were marked.
    """
    nobody = pl.Series("flow", [], pl.UInt64)
    unseen = flows.filter("unseen")["flow"] if "unseen" in flows.columns else nobody
    is_unseen = pl.col("flow").is_in(unseen.implode()) if len(unseen) else pl.lit(value=False)
    parts = [flow_intervals]
    if len(unseen):
        # That a window was advertised to it says nothing of whether a flow sent.
        told = pl.any_horizontal(pl.col(name).fill_null(0) > 0 for name in SAID)
        reflected = hop_intervals.filter(is_unseen)[[*KEY, "point"]]
        parts = [flow_intervals.filter(~is_unseen | told), reflected.unique(maintain_order=True)]
    rows = (
        pl.concat([part.lazy() for part in parts], how="diagonal_relaxed")
        .with_columns(pl.col("data_bytes", "data_frames", "ce_frames").fill_null(0))
        .sort(*KEY[:2], "ce_frames", "point", maintain_order=True)
        .group_by(KEY, maintain_order=True)
        .agg(over_points(frozenset(flow_intervals.columns)))
    )
    spoken = pl.when(pl.col("data_frames") > 0).then("data_frames").otherwise("acks")
    sent = pl.when(pl.col("slices") > 0).then(sending(pl.col("slices"), pl.col("data_frames")))
    here = rows.filter((pl.col("data_bytes") > 0) | is_unseen | pl.col("elsewhere"))
    also = (spoken.alias("spoken"), sent.alias("own_duty"), mark_share().alias("mark_share"))
    return at_once(here.with_columns(also))


@cache
def over_points(columns: frozenset[str]) -> list[pl.Expr]:
    """What points tell of a flow in an interval as one, of `columns` that they tell."""
    most, marks = pl.col("data_bytes").arg_max(), pl.col("acked_bytes").arg_max()
    furthest = pl.col("aecn_u_sum_n").arg_max()
    # Options that are 0 in all they say have met no router, or none with anything to say.
    told = (pl.col("aecn_u_sum_n").max() > 0) | (pl.col("aecn_congested_hops_max").max() > 0)
    fullest = (pl.col("rwnd_full") + pl.col("rwnd_zero")).arg_max()
    return [
        pl.col("bytes", "data_bytes", "data_frames", "slices", "point").get(most),
        (pl.col("data_bytes") > 0).sum().alias("points"),
        sent_unseen(columns).any().alias("elsewhere"),
        pl.col("acked_bytes", "acks").get(marks),
        # A counter may run ahead of what is acknowledged.
        pl.col("marked_bytes").clip(upper_bound=pl.col("acked_bytes")).get(marks),
        *(pl.col(name).get(marks) for name in HOW if name in columns),
        pl.col(STATE).drop_nulls().first(),
        pl.col("ce_frames", "inflight_bytes").max(),
        pl.when(told).then(pl.col("aecn_samples").get(furthest)).fill_null(0).alias("aecn_samples"),
        pl.when(told).then(pl.col("aecn_u_sum_n").max() * NANO).alias("aecn_u_sum"),
        *(pl.col(name).get(furthest).fill_null(0) for name in AT_TOP if name in columns),
        pl.when(told).then(pl.col("aecn_congested_hops_max").max()).alias("congested_hops"),
        pl.col("point").get(marks).alias("ack_point"),
        pl.col("point").get(pl.col("ce_frames").arg_max()).alias("ce_point"),
        pl.col("point").get(furthest).alias("aecn_point"),
        pl.col(WINDOWS).get(fullest),
        pl.col("point").get(fullest).alias("rwnd_point"),
        pl.when(told).then(pl.col("aecn_queue_delay_sum").get(furthest)).alias("aecn_queue_delay"),
        *(pl.col(name).get(most) for name in MOST_SEEN if name in columns),
        pl.col("tagged_frames").max() if "tagged_frames" in columns else UNDATED,
        pl.col("feedback_backwards").max().fill_null(0).alias("backwards"),
    ]


def mark_share() -> pl.Expr:
    """Share of bytes that were marked: by ECE on acknowledgments, or by CE on the data itself."""
    echoed = pl.col("marked_bytes") / pl.col("acked_bytes")
    carried = pl.col("ce_frames") / pl.col("data_frames")
    return pl.max_horizontal(
        pl.when(pl.col("acked_bytes") > 0).then(echoed),
        pl.when(pl.col("data_frames") > 0).then(carried),
    )
