"""Intervals that were captured in part: what is said of them is said of that part."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from pipeline import TABLES, PipelineSettings, Worker
from pipeline.covered import LEAST_NS, Covered, Part, cut, restored, stretched
from pipeline.order import ALL_NS
from pipeline.sums import Sums
from tests.pipeline.conftest import observations
from tests.pipeline.test_worker import LAST_HOP, MS, played, worked

LENGTH = 100 * MS


def sums_of(*begins: int, slices: int = 0xFFFF_FFFF) -> Sums:
    """One flow in intervals that begin so, at one hop."""
    rows = [
        {"time_ns": begin, "interval_ns": LENGTH, "flow": 1, "point": "p", "slices": slices}
        for begin in begins
    ]
    schema = TABLES["flow_intervals"].schema
    flows = pl.DataFrame(rows, {name: schema[name] for name in rows[0]}, orient="row")
    hops = flows.drop("slices").with_columns(pl.lit(3, pl.UInt32).alias("node"))
    return Sums(flows, hops)


@pytest.mark.parametrize(
    ("covered", "parts"),
    [
        (Covered(), []),
        (Covered(30 * MS), [(0, (30 * MS, 70 * MS))]),
        (Covered(0), []),
        (Covered(ALL_NS, 250 * MS), [(200 * MS, (200 * MS, 50 * MS))]),
        (Covered(30 * MS, 250 * MS), [(0, (30 * MS, 70 * MS)), (200 * MS, (200 * MS, 50 * MS))]),
        (Covered(130 * MS, 162 * MS), [(100 * MS, (130 * MS, 32 * MS))]),
        (Covered(130 * MS, 130 * MS), [(100 * MS, (130 * MS, LEAST_NS))]),
        (Covered(200 * MS - 1, 200 * MS - 1), [(100 * MS, (200 * MS - LEAST_NS, LEAST_NS))]),
        (Covered(300 * MS, 399 * MS), []),
        (Covered(-ALL_NS, 1 - ALL_NS), []),
    ],
)
def test_what_was_captured_of_intervals(
    covered: Covered, parts: list[tuple[int, tuple[int, int]]]
) -> None:
    sums = sums_of(0, 100 * MS, 200 * MS)
    found = covered.parts(sums)
    assert found == [Part((begin, LENGTH), part) for begin, part in parts]
    made = cut(sums, found)
    assert [*made.hops.select("begin_ns", "interval_ns").iter_rows()] == [
        dict(parts).get(begin, (begin, LENGTH)) for begin in (0, 100 * MS, 200 * MS)
    ]
    assert restored(made.flows, found).equals(sums.flows)
    assert restored(made.hops.drop("begin_ns"), found).equals(sums.hops)
    moved = made.flows.with_columns(pl.col("time_ns") + 3)
    whole = restored(moved, found, 3)
    assert whole["interval_ns"].to_list() == [LENGTH] * 3
    assert [time - time % LENGTH for time in whole["time_ns"]] == sums.flows["time_ns"].to_list()


@pytest.mark.parametrize("before_ns", [0, 1, 2])
def test_a_part_is_never_taken_for_an_interval_of_another_length(before_ns: int) -> None:
    """Of four milliseconds the last one is left, beside an interval that begins with it."""
    first_ns = 43 * MS - before_ns
    rows = observations(
        [{"time_ns": first_ns + at * MS // 10, "frame": at + 1, "seq": at * 1000}
         for at in range(10)]
    )  # fmt: skip
    worker = Worker(PipelineSettings(interval_ms=[1.0, 4.0]), None, ("a",))
    told = worked(worker, [rows])["verdicts"].select("interval_ns", "time_ns").rows()
    short = [(MS, time) for time in (42 * MS, 43 * MS) if time + MS > first_ns]
    assert sorted(told) == [*short, (4 * MS, 40 * MS)]


def test_no_part_is_shorter_than_signals_are_measured_over() -> None:
    [(_, part)] = Covered(30 * MS, 32 * MS).parts(sums_of(0), 10 * MS)
    assert part == (30 * MS, 10 * MS)
    assert Covered(30 * MS, 32 * MS).parts(sums_of(0), 200 * MS) == []


def test_slices_of_a_part_say_when_was_sent_in_it() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        first, last = sorted(rng.integers(0, LENGTH, 2))
        part = Part((0, LENGTH), (int(first), int(last - first) + MS))
        told = rng.integers(0, 1 << 32, 5, dtype=np.uint32)
        edges = np.linspace(part.part[0], sum(part.part), 33)
        for slices, made in zip(told, stretched(pl.Series(told), part), strict=True):
            for number, (low, high) in enumerate(pairwise(edges)):
                place = int((low + high) / 2 * 32 / LENGTH)
                assert made >> number & 1 == int(slices) >> min(place, 31) & 1
    assert stretched(pl.Series([None], dtype=pl.UInt32), part).to_list() == [None]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("telemetry", ["int", "csig_compact", "csig_expanded", "aecn"])
def test_a_short_capture_says_the_same_in_a_long_interval(telemetry: str) -> None:
    """Three milliseconds, in intervals of one and in an interval of a hundred around them."""
    rows, known = played(telemetry)
    rows = rows.with_columns(pl.col("time_ns") + 40 * MS)
    told = {}
    for length in (1.0, 100.0):
        worker = Worker(PipelineSettings(interval_ms=length), known, ("fabric",))
        told[length] = worked(worker, [rows])["verdicts"]
    [whole] = {each["interval_ns"] for each in told[100.0].iter_rows(named=True)}
    assert whole == LENGTH
    for verdict in told[100.0].iter_rows(named=True):
        apart = told[1.0].filter(flow=verdict["flow"])
        assert (verdict["device"], verdict["interface"]) == LAST_HOP
        assert verdict["time_ns"] % LENGTH == 0
        assert verdict["u_mean"] == pytest.approx(apart["u_mean"].mean(), rel=0.15)
        assert verdict["kind"] in apart["kind"].to_list()
