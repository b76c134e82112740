"""What marks say of a port, and what flows that were not marked fill."""

from typing import Any

import polars as pl
import pytest

from pipeline.activity import mark_share
from pipeline.filling import FOUND, brimming, needed
from pipeline.marking import full_by_marks, likely_by_marks, marked_shares, unhindered, with_marks

HOP = {"time_ns": 0, "node": 1, "port": 1}
FLOW = {
    "time_ns": 0, "flow": 1, "data_frames": 100, "data_bytes": 1_000, "bytes": 1_100,
    "acked_bytes": 1_000, "marked_bytes": 0, "ce_frames": 0, "alpha": 0.1, "U": None,
    "slices": (1 << 32) - 1, "interval_ns": 1_000,
}  # fmt: skip
NUMBERS = {"time_ns": pl.Int64, "flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32,
           "slices": pl.UInt32, "U": pl.Float64, "standing_share": pl.Float64}  # fmt: skip


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    kinds = {name: kind for name, kind in NUMBERS.items() if name in rows[0]}
    made = pl.DataFrame(rows, schema_overrides=kinds)
    told = "acked_bytes" in made.columns
    return made.with_columns(mark_share().alias("mark_share")) if told else made


def carried(**limits: float | bool) -> pl.DataFrame:
    told = {"least": 0.0, "most": 1.0, "whole": True, "capacity_bps": 10_000_000_000}
    return frame({**HOP, **told, **limits})


def headline(**told: Any) -> pl.DataFrame:
    row = {**FLOW, **HOP, "signal": "ecn", "duty": 1.0, "u_mean": None, "standing_share": None,
           "standing_noise": None, "filled": None, "u": None, **told}  # fmt: skip
    return frame(row).with_columns(pl.col("u_mean", "filled", "standing_noise").cast(pl.Float64))


def test_marked_bytes_are_the_time_for_which_a_queue_stood() -> None:
    """Half of the bytes of a port that sends a third of its rate: a sixth of the time."""
    sent = frame({**FLOW, "marked_bytes": 1_000}, {**FLOW, "flow": 2})
    crossing = frame({**HOP, "flow": 1}, {**HOP, "flow": 2})
    marked = marked_shares(crossing, sent)
    assert marked["marked_share"].to_list() == [0.5]
    rows = with_marks(headline(marked_bytes=1_000), marked, carried(most=1 / 3))
    assert rows["standing_share"].item() == pytest.approx(1 / 6)
    assert rows.select(likely_by_marks(0.1)).item() > 0.99
    calm = with_marks(headline(marked_bytes=1_000), marked, carried(most=0.1))
    assert calm.select(likely_by_marks(0.1)).item() < 0.01
    assert not calm.select(full_by_marks()).item()


def test_a_flow_that_met_nothing_says_nothing_of_others_queues() -> None:
    sent = frame({**FLOW, "marked_bytes": 1_000}, {**FLOW, "flow": 2})
    marked = marked_shares(frame({**HOP, "flow": 1}, {**HOP, "flow": 2}), sent)
    rows = with_marks(headline(signal="aecn", u_mean=0.2), marked, carried())
    assert rows["standing_share"].item() is None


@pytest.mark.parametrize(
    ("most", "full"), [(1.0, True), (0.5, False)], ids=["may be full", "cannot be"]
)
def test_a_port_that_marks_rarely_is_full_if_it_may_be(most: float, *, full: bool) -> None:
    none = marked_shares(frame({**HOP, "flow": 9}), frame(FLOW))
    rows = with_marks(headline(marked_bytes=20), none, carried(most=most))
    assert rows.select(full_by_marks()).item() is full
    assert (rows.select(likely_by_marks(0.1)).item() > 0.9) is full
    assert rows.select(unhindered()).item() is not full


def test_without_taps_at_all_ends_a_port_may_be_full_of_what_is_not_seen() -> None:
    none = marked_shares(frame({**HOP, "flow": 9}), frame(FLOW))
    rows = with_marks(headline(marked_bytes=20), none, carried(most=0.1, whole=False))
    assert rows["most_sent"].item() == 1.0
    assert rows.select(full_by_marks()).item()


WAYS = frame(*({**HOP, "flow": flow, "path": 0, "place": 0} for flow in (1, 2)))


def test_a_brimming_port_is_full_without_marks() -> None:
    calm = frame(FLOW)
    found = brimming(calm, WAYS, carried(least=0.99))
    assert found.schema == FOUND
    assert found.rows() == [(0, 1, 1, 1, 1.0, 1.0)]
    assert brimming(calm, WAYS, carried(least=0.9)).is_empty()
    two = pl.concat([WAYS, WAYS.with_columns(path=pl.lit(1, pl.Int64), node=pl.lit(7, pl.UInt32))])
    assert brimming(calm, two, carried(least=0.99)).is_empty()


@pytest.mark.parametrize(
    ("most", "held", "found"), [(1.0, 0.9, 1), (2.0, 0.9, 0), (1.0, 0.4, 0), (0.5, 0.9, 0)]
)
def test_a_flow_without_which_a_full_port_would_not_be_fills_it(
    most: float, held: float, found: int
) -> None:
    """It sends 8.8 of 10 Gb/s."""
    others = frame({**HOP, "probability": held})
    rows = needed(frame(FLOW), WAYS, carried(most=most), others, frame(FLOW))
    assert rows.height == found
    assert rows.schema == FOUND
    assert rows["filled"].to_list() == [held] * found


def test_tags_sample_the_time_in_which_a_port_is_busy() -> None:
    """Half of the packets met a queue at a port that can have sent a fifth of its rate at most."""
    none = marked_shares(frame({**HOP, "flow": 9}), frame(FLOW))
    told = headline(signal="csig", standing_share=0.5, standing_noise=0.05)
    row = with_marks(told, none, carried(most=0.2)).row(0, named=True)
    assert (row["standing_share"], row["standing_noise"]) == pytest.approx((0.1, 0.01))
