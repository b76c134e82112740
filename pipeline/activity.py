"""What each flow did in an interval, over all points that saw it."""

import polars as pl

from pipeline.load_unit import NANO

KEY = ["time_ns", "flow", "interval_ns"]
STATE = ("U", "W", "Wc", "R", "alpha", "inflight_bytes")


def activity(flow_intervals: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """One row a flow and interval in which it sent data, or, unseen, had data acknowledged.

    Counts are those of the point that saw most. Marks are those of the point that saw most
    acknowledged, path sums those of the point furthest downstream, where they are largest. State is
    that of the point that is most likely before the queues: the one that saw the fewest CE marks.
    `spoken` is the number of frames that could tell of congestion.
    """
    unseen = (
        flows.filter("unseen")["flow"]
        if "unseen" in flows.columns
        else pl.Series([], dtype=pl.UInt64)
    )
    most, marks = pl.col("data_bytes").arg_max(), pl.col("acked_bytes").arg_max()
    furthest = pl.col("aecn_u_sum_n").arg_max()
    rows = (
        flow_intervals.with_columns(pl.col("data_bytes", "data_frames", "ce_frames").fill_null(0))
        .sort(*KEY[:2], "ce_frames", "point")
        .group_by(KEY, maintain_order=True)
        .agg(
            pl.col("data_bytes", "data_frames", "point").get(most),
            pl.col("acked_bytes", "marked_bytes", "acks").get(marks),
            pl.col(STATE).drop_nulls().first(),
            pl.col("ce_frames").max(),
            pl.col("aecn_samples").get(furthest).fill_null(0),
            (pl.col("aecn_u_sum_n").max() * NANO).alias("aecn_u_sum"),
        )
    )
    acknowledged = pl.col("flow").is_in(unseen.implode()) & (pl.col("acked_bytes") > 0)
    spoken = pl.when(pl.col("data_frames") > 0).then("data_frames").otherwise("acks")
    return rows.filter((pl.col("data_bytes") > 0) | acknowledged).with_columns(
        spoken.alias("spoken")
    )


def mark_share() -> pl.Expr:
    """Share of bytes that were marked: by ECE on acknowledgments, or by CE on the data itself."""
    echoed = pl.col("marked_bytes") / pl.col("acked_bytes")
    carried = pl.col("ce_frames") / pl.col("data_frames")
    return pl.max_horizontal(
        pl.when(pl.col("acked_bytes") > 0).then(echoed),
        pl.when(pl.col("data_frames") > 0).then(carried),
    )
