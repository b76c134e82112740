"""Who goes on where an earlier life was killed tells what an undisturbed one would have told."""

from itertools import count
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder
from pipeline import Output, PipelineSettings, Store, Topology, Worker
from pipeline.earlier import left_open
from replay import frames_of, points, scenario, simulate, topology
from tests.empty_store import empty_store

MS = 1_000_000
SETTINGS = PipelineSettings(interval_ms=(1.0, 8.0), lateness_ms=4.0)
PART = 2_000
NUMBER = count()
CLOSE = 1e-3
"""A flow's first sample after its end has none before it to be measured against."""
SQL = """
SELECT time_ns, interval_ns, flow, kind, node, port, u_mean, u_max, completeness
FROM verdicts FINAL ORDER BY time_ns, interval_ns, flow
"""


@pytest.fixture(scope="module")
def fabric() -> tuple[pl.DataFrame, Topology]:
    """Twenty milliseconds of two flows that meet at a port, which is fullest when they begin."""
    told = CollectorSettings(int_dscp=23)
    world = scenario.alone("int", duration_ns=20 * MS)
    run = simulate(world, told)
    rows = Decoder(told).decode(frames_of(run, told), points(world), "fabric")
    return rows, topology(world)


def keep(store: Store, made: Output) -> None:
    token = f"{next(NUMBER)}"
    for name, rows in made.whole.items():
        if rows.height:
            store.insert(name, rows, token)


def told(store: Store) -> pl.DataFrame:
    with store.alone() as engine:
        return pl.DataFrame(list(engine.rows(SQL)), orient="row")


def test_longer_intervals_have_what_was_judged_before(
    fabric: tuple[pl.DataFrame, Topology], tmp_path: Path
) -> None:
    rows, known = fabric
    with empty_store(tmp_path / "one") as store:
        first = Worker(SETTINGS, known, ("fabric",))
        for part in rows.iter_slices(PART):
            keep(store, first.advance(part))
        keep(store, first.finish())
        whole = told(store)
    with empty_store(tmp_path / "two") as store:
        first = Worker(SETTINGS, known, ("fabric",))
        for part in rows[: rows.height // 5].iter_slices(PART):
            keep(store, first.advance(part))
        before = left_open(store, SETTINGS.lengths_ns, SETTINGS.lateness_ns)
        assert before is not None
        assert before.begun_ns(8 * MS) < before.ended_ns, "it was killed within an interval"
        second = Worker(SETTINGS, known, ("fabric",))
        second.go_on(before)
        rest = rows.filter(pl.col("time_ns") >= before.ended_ns)
        for part in rest.iter_slices(PART):
            keep(store, second.advance(part))
        keep(store, second.finish())
        assert_frame_equal(told(store), whole, abs_tol=CLOSE)


@pytest.mark.parametrize("days", [-1, 1])
def test_files_of_another_time_are_judged_as_if_there_had_been_nothing(
    fabric: tuple[pl.DataFrame, Topology], tmp_path: Path, days: int
) -> None:
    rows, known = fabric
    day = pl.col("time_ns") + days * 86_400_000 * MS
    with empty_store(tmp_path / "db") as store:
        first = Worker(SETTINGS, known, ("fabric",))
        for made in (first.advance(rows[: rows.height // 5]), first.finish()):
            keep(store, made)
        before = left_open(store, SETTINGS.lengths_ns, SETTINGS.lateness_ns)
    assert before is not None
    told = []
    for earlier in (before, None):
        worker = Worker(SETTINGS, known, ("fabric",))
        if earlier is not None:
            worker.go_on(earlier)
        made = [worker.advance(rows.with_columns(day)), worker.finish()]
        told.append(pl.concat(each.whole["verdicts"] for each in made if "verdicts" in each.whole))
        assert worker.counters["too_late"] == 0
    assert_frame_equal(*told, check_exact=True)
