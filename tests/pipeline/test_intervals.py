"""Sums by interval: the same however the input is cut, finite whatever telemetry says."""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from math import inf, nan
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipeline import TABLES, Tracked, Tracker
from pipeline.hop_samples import samples_of_stacks
from pipeline.intervals import Intervals
from pipeline.load_unit import MOST_LOAD, nano
from pipeline.locate import inband
from pipeline.reserved import PLACE, UNTOLD
from pipeline.standing import Standing

Rows = Iterable[Mapping[str, Any]]
Observed = Callable[[Rows], pl.DataFrame]
STEP_NS, RTT_NS = 100, 10_000
AT_ONCE = Standing(1.0)
STACK = {"hop_count": 1, "h0_node": 7, "h0_port": 3, "h0_qlen_bytes": 5_000, "h0_tx_bytes": 0,
         "h0_ts_ns": 0, "h0_b_bps": 10**10}  # fmt: skip


def summed(
    rows: pl.DataFrame, cuts: Iterable[int] = (), step_ns: int = STEP_NS
) -> list[pl.DataFrame]:
    """Intervals of rows that are cut into batches, after all have closed."""
    made, tracker = Intervals(step_ns, RTT_NS, 1.0), Tracker()
    edges = [0, *sorted(cuts), rows.height]
    for at, end in pairwise(edges):
        batch = rows[at:end]
        if batch.height:
            made.add(batch, tracker.advance(batch), None)
    return list(made.close(None))


def stack(hops: int, u: list[float | None], **columns: Any) -> pl.DataFrame:
    """Hop loads as the tracker gives them: one row, hop by hop what `columns` say."""
    row = {"time_ns": [5], "flow": [1], "point": ["p"]}
    return pl.DataFrame(row | {f"u{hop}": [u[hop]] for hop in range(hops)} | columns)


def test_a_row_counts_in_the_interval_that_its_time_falls_into(observed: Observed) -> None:
    times = [-101, -100, -1, 0, 99, 100, 1_760_000_000 * 10**9 + 7]
    flow_rows, _ = summed(observed([{"time_ns": t} for t in times]))
    assert flow_rows.select("time_ns", "frames").rows() == [
        (-200, 1), (-100, 2), (0, 2), (100, 1), (1_760_000_000 * 10**9, 1),
    ]  # fmt: skip
    assert set(flow_rows["interval_ns"]) == {STEP_NS}


def test_what_a_flow_sent_is_counted(observed: Observed) -> None:
    rows = observed([
        {"payload_bytes": 1000, "ecn": 3}, {"payload_bytes": 0, "ecn": 3}, {"payload_bytes": 500},
        {"aecn_u": 0.5, "aecn_queue_delay": 9, "aecn_congested_hops": 1},
        {"aecn_u": 0.25, "aecn_queue_delay": 250, "aecn_congested_hops": 0},
        {"aecn_u": 4.0, "payload_bytes": 0},
    ])  # fmt: skip
    row = summed(rows)[0].row(0, named=True)
    told = {name: row[name] for name in ("frames", "data_frames", "data_bytes", "ce_frames")}
    assert told == {"frames": 6, "data_frames": 4, "data_bytes": 3_500, "ce_frames": 1}
    assert (row["aecn_samples"], row["aecn_u_sum_n"]) == (2, 750_000_000)
    assert (row["aecn_queue_delay_sum"], row["aecn_congested_hops_max"]) == (259, 1)


def test_intervals_have_the_columns_of_their_tables(observed: Observed) -> None:
    flow_rows, hop_rows = summed(observed([STACK, STACK | {"time_ns": 1}]))
    for rows, name in ((flow_rows, "flow_intervals"), (hop_rows, "hop_intervals")):
        schema = TABLES[name].schema
        assert {column: schema[column] for column in rows.columns} == dict(rows.schema)


def test_an_interval_closes_once_when_time_has_passed_it(observed: Observed) -> None:
    made = Intervals(STEP_NS, RTT_NS, 1.0)
    rows = observed([{"time_ns": t} for t in (0, 99, 100, 250)])
    made.add(rows, Tracker().advance(rows), None)
    assert made.close(99)[0].is_empty()
    assert made.close(199)[0]["time_ns"].to_list() == [0]
    assert made.close(200)[0]["time_ns"].to_list() == [100]
    assert made.close(None)[0]["time_ns"].to_list() == [200]
    assert made.close(None)[0].is_empty()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("cuts", [(), (50,), (51,), range(1, 100)])
@pytest.mark.parametrize("modulus", [0, 1 << 32])
def test_a_count_that_begins_anew_is_no_load(
    observed: Observed, cuts: Iterable[int], modulus: int
) -> None:
    """100 samples of a port that is half full; its count of bytes begins anew at the 51st."""
    step_ns, octets = 10_000, 6_250
    rows = observed(
        STACK | {"time_ns": at * step_ns, "h0_ts_ns": at * step_ns, "h0_qlen_bytes": 0,
                 "h0_tx_bytes": 10**7 * (at < 50) + at % 50 * octets, "seq": at * 1000}
        for at in range(100)
    )  # fmt: skip
    made, tracker = (
        Intervals(10**6, RTT_NS, 1.0),
        Tracker({"T_ns": RTT_NS}, tx_modulus_bytes=modulus),
    )
    for at, end in pairwise([0, *cuts, 100]):
        made.add(rows[at:end], tracker.advance(rows[at:end]), None, known_rtt_ns=RTT_NS)
    flow_rows, hop_rows = made.close(None)
    assert flow_rows["feedback_backwards"].to_list() == [1]
    row = hop_rows.row(0, named=True)
    assert (row["samples"], row["u_sum_n"], row["u_max_n"]) == (98, 98 * 5 * 10**8, 5 * 10**8)
    load = inband(hop_rows).row(0, named=True)
    assert (load["u_mean"], load["busy"]) == (0.5, None)


@pytest.mark.parametrize("modulus", [0, 1 << 32, 1 << 20])
def test_packets_that_overtook_each_other_take_nothing_away(
    observed: Observed, modulus: int
) -> None:
    """A port that is half full in a fifth of the time; two packets of it come in turned order."""
    step_ns, octets = 2_000, 1_250
    order = [*range(49), 50, 49, *range(51, 100)]
    rows = observed(
        STACK | {"time_ns": number * step_ns, "h0_ts_ns": at * step_ns, "h0_qlen_bytes": 0,
                 "h0_tx_bytes": 10_000 + at * octets, "seq": at * 1000}
        for number, at in enumerate(order)
    )  # fmt: skip
    made, tracker = (
        Intervals(10**6, RTT_NS, 1.0),
        Tracker({"T_ns": RTT_NS}, tx_modulus_bytes=modulus),
    )
    made.add(rows, tracker.advance(rows), None, known_rtt_ns=RTT_NS)
    _, hop_rows = made.close(None)
    load = inband(hop_rows).row(0, named=True)
    assert load["u_mean"] == pytest.approx(0.5 * 0.2, rel=0.05)


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_any_split_gives_the_same_sums(observed: Observed, data: st.DataObject) -> None:
    number = st.integers(0, 5_000)
    made = data.draw(st.lists(
        st.fixed_dictionaries({
            "time_ns": st.integers(0, 400), "sport": st.integers(1, 3),
            "payload_bytes": st.sampled_from([0, 1000]), "ecn": st.integers(0, 3),
            "point": st.sampled_from(["p", "q"]), "seq": number, "ack": number,
            "flags": st.sampled_from([16, 2, 18, 80]), "aecn_u": st.floats(0, 3),
            "csig_variant": st.just(2), "csig_t": st.integers(0, 2), "csig_s": st.just(4),
            "csig_lm": st.integers(1, 3), "csig_low": st.floats(0, 2), "h0_node": st.just(1),
            "h0_port": st.integers(1, 2), "h0_qlen_bytes": number, "h0_tx_bytes": number,
            "h0_ts_ns": number, "h0_b_bps": st.just(10**9), "hop_count": st.integers(0, 1),
        }),
        min_size=1, max_size=30,
    ))  # fmt: skip
    rows = observed(sorted(made, key=lambda row: row["time_ns"]))
    cuts = data.draw(st.lists(st.integers(0, rows.height), max_size=8))
    for whole, cut in zip(summed(rows), summed(rows, cuts), strict=True):
        assert_frame_equal(whole, cut, check_exact=True)


def test_acknowledgments_are_counted_once_for_both_algorithms() -> None:
    decisions = pl.DataFrame({
        "time_ns": [1, 1, 2, 3], "flow": [1] * 4, "point": ["p"] * 4, "source": ["a"] * 4,
        "frame": [1, 1, 2, 2], "algorithm": ["hpcc", "dctcp", "hpcc", "dctcp"],
        "again": [0, 1, 0, 0],
        "acked_bytes": [10, 10, 20, 30], "marked_bytes": [0, 0, 20, 0],
        "echo": ["ece", "ece", "segments", "unknown"],
        "inflight_bytes": [5, 5, 4, 3],
        "U": [0.5, None, 0.6, None], "W": [1.0, None, None, None], "Wc": [1.0] * 4, "R": [1.0] * 4,
        "alpha": [None, 0.1, None, 0.2],
    }, schema_overrides={"flow": pl.UInt64})  # fmt: skip
    rows = pl.DataFrame({"time_ns": [1], "flow": [1], "point": ["p"], "length": [60],
                         "payload_bytes": [0], "conversation": [7], "direction": [0]},
                        schema_overrides={"flow": pl.UInt64, "conversation": pl.UInt64},
    )  # fmt: skip
    made = Intervals(STEP_NS, RTT_NS, 1.0)
    loads = decisions.select(
        "time_ns", "flow", "point", "source", "frame", faults=pl.lit(0)
    ).clear()
    made.add(rows, Tracked(decisions, loads), None)
    row = made.close(None)[0].row(0, named=True)
    assert (row["acks"], row["acked_bytes"], row["marked_bytes"]) == (3, 60, 20)
    assert row["ecn_echo"] == 2, "of those that tell of marks"
    assert (row["decisions"], row["inflight_bytes"]) == (4, 3)
    assert (row["U"], row["W"], row["alpha"]) == (0.6, 1.0, 0.2)


def test_twelve_hops_are_twelve_rows() -> None:
    columns = {f"h{hop}_{name}": [hop + 1] for hop in range(12) for name in ("node", "port")}
    made = pl.concat(
        samples_of_stacks(stack(12, [0.1 * hop for hop in range(12)], **columns), AT_ONCE)
    )
    assert made["hop_index"].to_list() == list(range(12))
    assert made["node"].to_list() == list(range(1, 13))


def test_a_hop_that_another_lacks_a_column_for_is_not_lost() -> None:
    made = pl.concat(samples_of_stacks(stack(2, [0.5, 0.7], h1_node=[9], h1_port=[None]), AT_ONCE))
    assert made.select("hop_index", "node", "port").rows() == [(0, PLACE, 0), (1, 9, UNTOLD)]


@pytest.mark.parametrize("load", [None, nan, inf, -inf])
def test_a_load_that_is_no_number_is_no_sample(load: float | None) -> None:
    rows = stack(1, [load], h0_node=[1], h0_port=[1]).cast({"u0": pl.Float64})
    assert pl.concat(samples_of_stacks(rows, AT_ONCE)).is_empty()
    assert (
        pl.DataFrame({"u": [load]}, schema={"u": pl.Float64}).select(nano(pl.col("u"))).item()
        is None
    )


def test_a_load_beyond_reason_is_cut_so_that_sums_hold() -> None:
    wild = pl.DataFrame({"u": [1e300, -1e300, 0.25]}).select(nano(pl.col("u")).alias("u"))["u"]
    assert wild.to_list() == [MOST_LOAD * 1e9, -MOST_LOAD * 1e9, 250_000_000]
    rows = stack(1, [2.0], h0_node=[1], h0_port=[1], h0_qlen_bytes=[2**63], h0_b_bps=[0])
    assert pl.concat(samples_of_stacks(rows, AT_ONCE))["queue_bytes"].item() == 1 << 40


@pytest.mark.parametrize(("queue", "stands"), [(12_500, False), (12_501, True), (None, False)])
def test_a_queue_stands_that_takes_longer_than_the_base_round_trip(
    queue: int | None, stands: bool
) -> None:
    rows = stack(1, [1.0], h0_node=[1], h0_port=[1], h0_qlen_bytes=[queue], h0_b_bps=[10**10])
    # 12,500 bytes leave a 10 Gbit/s port in 10 us.
    assert pl.concat(samples_of_stacks(rows, Standing(RTT_NS)))["standing"].item() is stands
    told = pl.concat(samples_of_stacks(rows, Standing(1.0, queue_bytes=12_500)))
    assert told["standing"].item() is stands


def test_counters_are_kept_as_they_were_first_and_last() -> None:
    rows = stack(1, [1.0], h0_node=[1], h0_port=[1], h0_qlen_bytes=[12_500], h0_b_bps=[10**10],
                 h0_tx_bytes=[2_500], h0_ts_ns=[1 << 60])  # fmt: skip
    made = pl.concat(samples_of_stacks(rows, AT_ONCE, RTT_NS)).row(0, named=True)
    # 2,500 bytes take 2 us at 10 Gbit/s, and 12,500 bytes a base round trip.
    assert (made["ts_ns"], made["sent_ns"], made["queue_n"]) == (1 << 60, 2_000, 10**9)
    wild = stack(1, [1.0], h0_node=[1], h0_port=[1], h0_qlen_bytes=[1], h0_b_bps=[0],
                 h0_tx_bytes=[2**62])  # fmt: skip
    made = pl.concat(samples_of_stacks(wild, AT_ONCE)).row(0, named=True)
    assert (made["ts_ns"], made["sent_ns"], made["queue_n"]) == (None, None, None)
