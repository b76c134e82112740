"""How likely a queue stood of which a delay in a bucket is all that is told."""

import polars as pl
import pytest

from pipeline.standing import Standing, stood

CAPACITY_BPS = 8_000_000_000
"""A byte takes a nanosecond."""
THRESHOLD = 40_000
PACKET = 1_000


def chance(
    least_ns: float,
    most_ns: float | None,
    packet: int = PACKET,
    capacity: int | None = CAPACITY_BPS,
) -> float:
    row = pl.DataFrame(
        {"least_ns": [least_ns], "most_ns": [most_ns], "packet_bytes": [packet],
         "capacity_bps": [capacity]},
        schema_overrides={"most_ns": pl.Float64, "capacity_bps": pl.Int64},
    )  # fmt: skip
    return float(stood(row, Standing(1.0, THRESHOLD)).item())


@pytest.mark.parametrize(
    ("least", "most", "told"),
    [
        (30_000.0, 40_000.0, 0.0),  # the whole bucket is below
        (41_000.0, 50_000.0, 1.0),  # above, whatever is left of the packet that is sent
        (30_000.0, 50_000.0, 0.475),  # of two halves the upper one, less half a packet
        (40_500.0, 40_500.0, 0.5),  # half of the packets leave less than that to wait for
        (50_000.0, None, 1.0),  # the last bucket has no end
    ],
)
def test_a_bucket_is_the_threshold_s_as_far_as_it_lies_above(
    least: float, most: float | None, told: float
) -> None:
    assert chance(least, most) == pytest.approx(told, abs=0.001)


def test_of_a_packet_of_unknown_length_none_is_left() -> None:
    assert chance(40_100.0, 40_200.0, packet=0) == 1.0
    assert chance(39_900.0, 40_100.0, packet=0) == pytest.approx(0.5)


def test_nothing_stands_at_a_port_whose_rate_is_not_known() -> None:
    assert chance(90_000.0, 90_128.0, capacity=None) == 0.0
