"""Means over time: bursts and pauses count as long as they last, not as packets see them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from pipeline.fallen import FELL_NS
from pipeline.locate import inband
from pipeline.timed import over_time

RowsOf = Callable[[str, Iterable[Mapping[str, Any]]], pl.DataFrame]
INTERVAL_NS = 1_000_000


def hop(first: int, last: int, sent: int, **more: Any) -> dict[str, Any]:
    """A row of hop_intervals whose 100 samples lie between two times (ns) and tell of a queue."""
    row = {
        "time_ns": 0, "interval_ns": INTERVAL_NS, "flow": 1, "point": "p", "node": 1, "port": 1,
        "hop_index": 0, "source": "int", "samples": 100, "standing": 40, "u_sum_n": 200 * 10**9,
        "u_max_n": 2 * 10**9, "queue_u_sum_n": 50 * 10**9, "seen_first_ns": first,
        "seen_last_ns": last, "ts_first_ns": 7 + first, "ts_last_ns": 7 + last,
        "sent_first_ns": 99, "sent_last_ns": 99 + sent,
    }  # fmt: skip
    return row | more


def load(rows_of: RowsOf, *rows: Mapping[str, Any]) -> dict[str, Any]:
    """The first candidate hop of INT rows."""
    return inband(rows_of("hop_intervals", rows)).row(0, named=True)


def test_a_burst_counts_as_long_as_it_lasts(rows_of: RowsOf) -> None:
    found = load(rows_of, hop(0, 300_000, 300_000))
    # Busy for 0.3 of the interval, with half a base round trip of queue then.
    assert found["u_mean"] == pytest.approx(0.3 * 1.5)
    assert found["packet_u"] == pytest.approx(2.0)
    assert (found["busy"], found["standing_share"]) == pytest.approx((0.3, 0.3 * 0.4))
    assert found["standing_noise"] == pytest.approx(0.3 * (0.4 * 0.6 / 100) ** 0.5)


def test_what_passed_between_the_records_is_known_exactly(rows_of: RowsOf) -> None:
    found = load(rows_of, hop(0, INTERVAL_NS, 950_000, queue_u_sum_n=0))
    assert found["u_mean"] == pytest.approx(0.95)


def test_before_the_first_and_after_the_last_record_it_goes_on(rows_of: RowsOf) -> None:
    step = 9_000
    found = load(rows_of, hop(step, 100 * step, 99 * step // 2, queue_u_sum_n=0))
    assert found["u_mean"] == pytest.approx(0.5 * (1 - 0.1 + 0.009), rel=0.01)
    found = load(rows_of, hop(step, INTERVAL_NS - step, 491_000, queue_u_sum_n=0))
    assert found["u_mean"] == pytest.approx(0.5)


def test_few_records_do_not_tell_that_a_port_was_idle_around_them(rows_of: RowsOf) -> None:
    """Two packets of a full port, each told of by its acknowledgment too."""
    one = hop(300_000, 300_000, 0, samples=2, u_sum_n=4 * 10**9, queue_u_sum_n=2 * 10**9)
    other = one | {"flow": 2, "seen_first_ns": 320_000, "seen_last_ns": 320_000}
    other |= {"ts_first_ns": 320_007, "ts_last_ns": 320_007}
    other |= {"sent_first_ns": 99 + 20_000, "sent_last_ns": 99 + 20_000}
    found = load(rows_of, one, other)
    assert (found["u_mean"], found["busy"]) == (2.0, None)
    soon = {name: value - 19_900 for name, value in other.items() if name.endswith("_ns")}
    found = load(rows_of, one, other | soon | {"time_ns": 0, "interval_ns": INTERVAL_NS})
    assert found["busy"] == pytest.approx(100 / INTERVAL_NS), "two packets behind each other"


def test_flows_tell_of_a_hop_together(rows_of: RowsOf) -> None:
    early, late = hop(0, 400_000, 400_000), hop(500_000, INTERVAL_NS, 500_000, flow=2)
    late |= {"sent_first_ns": 99 + 400_000, "sent_last_ns": 99 + 900_000}
    assert load(rows_of, early, late)["u_mean"] == pytest.approx(0.9 * 1.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sent_last_ns": 98},
        {"sent_last_ns": 99 + 2 * INTERVAL_NS},
        {"ts_last_ns": 7},
        {"ts_last_ns": 1 << 24},
        {"ts_first_ns": None, "ts_last_ns": None},
        {"queue_u_sum_n": None},
        {"sent_first_ns": FELL_NS},
    ],
)
def test_counters_that_cannot_be_right_are_not_taken(
    rows_of: RowsOf, wrong: dict[str, Any]
) -> None:
    found = load(rows_of, hop(0, 300_000, 300_000) | wrong)
    assert (found["u_mean"], found["busy"]) == (2.0, None)
    assert found["standing_share"] == pytest.approx(0.4)


def test_what_began_anew_between_two_flows_is_not_taken(rows_of: RowsOf) -> None:
    was_ns = 10 * INTERVAL_NS
    early = hop(0, 300_000, 0, sent_first_ns=was_ns, sent_last_ns=was_ns + 300_000)
    late = hop(400_000, 700_000, 0, flow=2, sent_first_ns=50, sent_last_ns=150_050)
    assert load(rows_of, early, late)["busy"] is None


def test_a_clock_that_does_not_tell_two_packets_apart_takes_nothing_away(rows_of: RowsOf) -> None:
    early = hop(0, 300_000, 300_000)
    late = hop(0, 300_000, 300_000, flow=2, sent_first_ns=98, sent_last_ns=99 + 300_001)
    for rows in ((early, late), (late, early)):
        assert load(rows_of, *rows)["busy"] == pytest.approx(0.3, rel=1e-4)


def test_where_each_count_fell_none_tells(rows_of: RowsOf) -> None:
    fell = {"sent_first_ns": FELL_NS, "sent_last_ns": FELL_NS}
    found = load(rows_of, hop(0, 300_000, 0) | fell, hop(100_000, 400_000, 0, flow=2) | fell)
    assert (found["busy"], found["u_mean"]) == (None, 2.0)


HEADLINE = {
    "duty": 0.3, "interval_ns": INTERVAL_NS, "capacity_bps": 10**10, "crossing_bytes": 1,
    "wire_bytes": 1, "busy": None, "u_mean": 1.2, "burst_u": 2.0, "standing_share": 0.5,
    "standing_noise": 0.1, "queue_mean_bytes": 1000.0, "contributors": 1, "victims": 0,
    "time_ns": 0, "node": 1, "port": 1, "queue_term": 1.1,
    "rate_term": 1.0,
}  # fmt: skip
KINDS = {
    "busy": pl.Float64, "burst_u": pl.Float64, "queue_term": pl.Float64, "capacity_bps": pl.Int64,
    "standing_noise": pl.Float64,
}  # fmt: skip


def whole(told: dict[str, Any], most: float, *, at_all_ends: bool = True) -> dict[str, Any]:
    """A headline over the whole interval, of whose hop taps show that it sent so much at most."""
    rows = pl.DataFrame([HEADLINE | told], schema_overrides=KINDS)
    limits = rows.select("time_ns", "node", "port", most=pl.lit(most), whole=pl.lit(at_all_ends))
    return over_time(rows, limits).row(0, named=True)


@pytest.mark.parametrize(
    ("told", "u", "standing"),
    [
        ({}, 0.3 * 2.0, 0.15),
        ({"duty": 0.9}, 1.2, 0.5),
        ({"burst_u": None}, 0.3 * 1.2, 0.15),
        # 500,000 bytes fill 10 Gbit/s for 0.4 ms.
        ({"wire_bytes": 500_000}, 0.4 * 2.0, 0.2),
        ({"wire_bytes": 500_000, "capacity_bps": None}, 0.3 * 2.0, 0.15),
        ({"busy": 0.35, "burst_u": None}, 1.2, 0.5),
        ({"busy": 0.2, "burst_u": None, "wire_bytes": 500_000}, 2.4, 1.0),
        ({"busy": 0.2, "burst_u": None, "wire_bytes": 500_000, "duty": 1.0}, 1.2, 0.5),
    ],
)
def test_a_burst_is_empty_time_beside_a_full_hop(
    told: dict[str, Any], u: float, standing: float
) -> None:
    row = whole(told, 1.0)
    assert row["u_mean"] == pytest.approx(u)
    assert row["standing_share"] == pytest.approx(standing)
    assert whole(told, 0.1, at_all_ends=False) == row


@pytest.mark.parametrize(
    ("told", "most", "u"),
    [
        # Bursts with a queue of 1.1 base round trips, and a trickle through all of the interval.
        ({"duty": 1.0}, 0.4, 0.4 * (1 + 1.1)),
        # In bursts alone they sent in 0.1 of it.
        ({"duty": 0.1}, 0.4, 0.1 * 2.0),
        # As much as packets met, but for what comes between the smallest frames on the wire.
        ({"duty": 1.0}, 0.9 * 60 / 84, 1.2),
        ({"duty": 1.0, "burst_u": None, "queue_term": None}, 0.4, 1.2),
    ],
)
def test_a_trickle_between_bursts_does_not_make_a_port_busy(
    told: dict[str, Any], most: float, u: float
) -> None:
    assert whole(told, most)["u_mean"] == pytest.approx(u)


def test_tags_tell_of_a_queue_while_its_port_is_busy() -> None:
    """A fifth of the rate of a port: of its time its queue stood for that of packets at most."""
    told = {"duty": 1.0, "u_mean": 1.3, "rate_term": 0.2, "standing_noise": 0.01}
    row = whole(told, 0.2, at_all_ends=False)
    assert row["u_mean"] == pytest.approx(0.2 * (1 + 1.1))
    assert row["standing_share"] == pytest.approx(0.5 * (1 + 0.2) / 2)
    assert row["standing_noise"] == pytest.approx(0.5 * (1 - 0.2) / 2)


def test_how_long_a_queue_stood_in_bursts_is_less_sure() -> None:
    """Each flow's packets are spread otherwise over the time in which the port is busy."""
    told = {"duty": 1.0, "standing_noise": 0.01}
    assert whole(told, 0.4)["standing_noise"] == pytest.approx(0.5 / 4)
    assert whole(told, 0.9)["standing_noise"] == pytest.approx(0.01)


def test_flows_that_pause_are_not_those_that_trickle() -> None:
    """Their packets tell of the time in which they sent; what they brought tells less of it."""
    told = {"duty": 0.5, "standing_noise": 0.01}
    assert whole(told, 0.3) == whole(told, 0.3, at_all_ends=False)
    trickling = {"duty": 1.0, "standing_noise": 0.01}
    assert whole(trickling, 0.3) != whole(trickling, 0.3, at_all_ends=False)
