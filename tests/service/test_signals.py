"""What a flow did over time is told by the points that saw it, each of what it saw most of."""

import polars as pl

from service.routes.signals import SPEAKS, _of_each_point


def test_data_acknowledgments_and_the_load_of_the_path_have_points_of_their_own() -> None:
    """At the sender no router has filled Advanced ECN's option; ACKs may take another way."""
    rows = pl.DataFrame(
        {
            "time_ns": [0, 0, 0, 100, 100],
            "interval_ns": [100] * 5,
            "point": ["ack", "far", "near", "far", "near"],
            "data_bytes": [0, 900, 1000, 1000, 1000],
            "acked_bytes": [800, 0, 0, 0, 0],
            "ce_share": [0.2] * 3 + [0.0] * 2,
            "aecn_u_mean": [None, 2.1, 0.0, 2.0, 0.0],
            "aecn_u_sum": [None, 21.0, 0.0, 20.0, 0.0],
            "U": [1.5, None, None, None, None],
        }
    )
    others = {name for names in SPEAKS.values() for name in names} - {*rows.columns}
    told = _of_each_point(rows.with_columns(pl.lit(None).alias(name) for name in others))
    assert told["time_ns"].to_list() == [0, 100]
    assert told["data_bytes"].to_list() == [1000, 1000]
    assert told["aecn_u_mean"].to_list() == [2.1, 2.0]
    assert told["U"].to_list() == [1.5, None]
    assert told["acked_bytes"].to_list() == [800, None]


def test_of_points_that_saw_as_much_the_one_nearest_to_the_sender_tells_its_state() -> None:
    """Behind the queue, where marks are seen, what the sender knew is an estimate."""
    rows = pl.DataFrame(
        {
            "time_ns": [0, 0], "interval_ns": [100, 100], "point": ["edge", "leaf"],
            "data_bytes": [1000, 1000], "acked_bytes": [900, 900], "ce_frames": [0, 3],
            "ce_share": [0.3, 0.3], "aecn_u_sum": [0.0, 0.0], "alpha": [0.5, 0.7],
        }
    )  # fmt: skip
    for order in (rows, rows.reverse(), rows.with_columns(pl.col("point").reverse())):
        others = {name for names in SPEAKS.values() for name in names} - {*order.columns}
        told = _of_each_point(order.with_columns(pl.lit(None).alias(name) for name in others))
        assert told["alpha"].to_list() == [0.5]


def test_where_nothing_was_seen_nothing_is_told() -> None:
    names = {"point", "ce_share", "aecn_u_sum"} | {each for of in SPEAKS.values() for each in of}
    floats = dict.fromkeys(names - {"point"}, pl.Float64)
    nothing = pl.DataFrame(
        schema={"time_ns": pl.Int64, "interval_ns": pl.Int64, "point": pl.String, **floats}
    )
    assert _of_each_point(nothing).is_empty()
