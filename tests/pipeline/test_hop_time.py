"""When hops saw a packet that two taps saw, worked by hand."""

import polars as pl
import pytest

from pipeline.hop_time import hop_times, time_at

FIRST, OWN, GBPS = 1_000, 101_000, 10**9
NUMBERS = {"hop_count": pl.UInt8, "h0_qlen_bytes": pl.UInt32, "h1_qlen_bytes": pl.UInt32}


def loads(**more: int | None) -> pl.DataFrame:
    """A stack of three hops; the last waited 20 us by its latency, the one before 30 by queue."""
    row: dict[str, int | None] = {
        "time_ns": FIRST, "own_ns": OWN, "hop_count": 3,
        "h0_qlen_bytes": 5_000, "h0_b_bps": GBPS,
        "h1_qlen_bytes": 3_750, "h1_b_bps": GBPS,
        "h2_latency_ns": 20_000,
    }  # fmt: skip
    return pl.DataFrame([row | more], schema_overrides=NUMBERS)


def times(rows: pl.DataFrame) -> list[int]:
    """The hops' times of the only row."""
    told = hop_times(rows, 3)
    return [told.select(time_at(told, hop)).item() for hop in range(3)]


def test_a_hop_saw_a_packet_as_long_before_the_tap_as_the_hops_behind_held_it() -> None:
    assert times(loads()) == [OWN - 50_000, OWN - 20_000, OWN]


def test_no_hop_saw_a_packet_before_its_first_sight() -> None:
    assert times(loads(h1_qlen_bytes=75_000)) == [FIRST, OWN - 20_000, OWN]


@pytest.mark.parametrize("queue", [None, 1 << 31])
def test_behind_a_hop_that_tells_no_wait_first_sight_stands(queue: int | None) -> None:
    """None that a packet has, that is."""
    assert times(loads(h1_qlen_bytes=queue)) == [FIRST, OWN - 20_000, OWN]


def test_hops_that_a_stack_has_not_hold_nobody() -> None:
    assert times(loads(hop_count=2))[:2] == [OWN - 30_000, OWN]


def test_one_tap_alone_tells_one_time() -> None:
    rows = loads().drop("own_ns")
    assert hop_times(rows, 3).columns == rows.columns
    assert rows.select(time_at(rows, 2)).item() == FIRST
