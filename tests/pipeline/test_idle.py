"""An idle source holds nothing back: it says how far time has come, and intervals end."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import Batch, Repeats, open_bus
from collector.loss import Loss
from pipeline import Output, PipelineSettings, Worker, drain
from pipeline.capture_gaps import never
from pipeline.desk import news, passes
from pipeline.sink import Taker

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
MS = 1_000_000
SETTINGS = PipelineSettings(interval_ms=1.0, disorder_us=100.0, idle_ms=10_000.0)


@pytest.fixture
def rows(observed: Observed) -> pl.DataFrame:
    """Ten frames of one flow in one millisecond."""
    told = {"payload_bytes": 1000, "protocol": 6, "source": "tap"}
    return observed({"time_ns": n * 50_000, "frame": n + 1, **told} for n in range(10))


def judged(output: Output) -> int:
    return output.tables["verdicts"].height if "verdicts" in output.tables else 0


def quiet(source: str, reached_ns: int) -> Batch:
    nothing = pl.DataFrame(schema={"time_ns": pl.Int64, "source": pl.String})
    return Batch(nothing, source, 1, 10, 10, reached_ns=reached_ns)


def test_an_interval_ends_without_a_frame_after_it(rows: pl.DataFrame) -> None:
    worker, other = Worker(SETTINGS), Worker(SETTINGS)
    assert not judged(worker.advance(rows))
    early = worker.reach("tap", MS)
    assert early.tables["observations"].height > 0
    assert not judged(early)
    assert not judged(worker.reach("tap", 2 * MS)), "another point may see its packets yet"
    ended = worker.reach("tap", 2 * MS + 200_000).tables["verdicts"]
    other.advance(rows)
    assert_frame_equal(ended, other.finish().tables["verdicts"])
    assert ended.height == 1


def test_what_comes_earlier_than_was_said_is_late_and_judged_anew(rows: pl.DataFrame) -> None:
    worker = Worker(SETTINGS)
    worker.advance(rows.head(5))
    worker.reach("tap", 3 * MS)
    again = worker.advance(rows.tail(5)).tables["flow_intervals"]
    assert worker.counters["late"] == 5
    assert worker.counters["too_late"] == 0
    assert again["frames"].to_list() == [5]


def test_a_silent_source_does_not_hold_back_another(rows: pl.DataFrame) -> None:
    worker = Worker(SETTINGS)
    worker.advance(rows.head(1).with_columns(pl.lit("other").alias("source")))
    worker.advance(rows)
    assert not judged(worker.reach("tap", 4 * MS))
    assert worker.reach("other", 4 * MS).tables["verdicts"].height == 1


def test_a_bus_carries_it_and_the_last_of_several_is_enough(rows: pl.DataFrame) -> None:
    made: list[tuple[int, str]] = []

    async def run() -> None:
        bus = open_bus("memory://")
        for batch in (Batch(rows, "tap", 1, 1, 10, reached_ns=450_000), quiet("tap", 2 * MS)):
            await bus.publish(batch)
        await bus.close()
        await drain(bus, Worker(SETTINGS), lambda out, token: made.append((len(out.tables), token)))

    asyncio.run(run())
    assert [token for _, token in made] == ["tap:1:1-10", f"tap:1:reached-{2 * MS}", "finish+tap:1"]
    assert made[1][0] > 0
    seen = Repeats()
    batches = [quiet("tap", MS), quiet("tap", 2 * MS), quiet("b", MS), Batch(rows, "b", 1, 1, 10)]
    assert [seen.fresh(batch) for batch in batches] == batches
    [told] = passes(news(batches))
    assert [(each.source, each.quiet) for each in told] == [("tap", True), ("b", False)]


def test_the_gap_before_a_life_begins_where_the_one_before_was_heard_of_last() -> None:
    """Taken at once, of the beats of both all but the last were left out."""
    lost = (Loss(None, 9 * MS),)
    again = replace(quiet("tap", 9 * MS), epoch=2, losses=lost)
    batches = [
        quiet("tap", MS),
        quiet("tap", 5 * MS),
        again,
        replace(quiet("tap", 10 * MS), epoch=2),
    ]
    taker = Taker(Worker(SETTINGS, sources=("tap",)), never)
    [gap] = taker.take(news(batches)).tables["capture_gaps"].to_dicts()
    assert (gap["time_ns"], gap["to_ns"]) == (5 * MS, 9 * MS)


def test_settings_that_need_no_new_state_are_taken_while_it_runs(rows: pl.DataFrame) -> None:
    worker = Worker(SETTINGS)
    worker.advance(rows.head(5))
    other = SETTINGS.model_copy(update={"disorder_us": 400.0, "sampling": 4.0, "interval_ms": 9.0})
    assert worker.tune(other) == {"interval_ms"}
    assert worker.settings.sampling == 4.0
    assert worker.order.disorder_ns == 400_000
    worker.advance(rows.tail(5))
    (verdict,) = worker.finish().tables["verdicts"].to_dicts()
    assert verdict["sampling"] is not None
    assert worker.tune(SETTINGS) == frozenset()


@pytest.mark.parametrize(
    ("before", "after", "too_late"), [(0.0, 1e3, 5), (1e3, 0.0, 5), (1e3, 9.0, 0)]
)
def test_what_ended_before_another_lateness_was_told_is_kept_or_not_as_it_was(
    rows: pl.DataFrame, before: float, after: float, too_late: int
) -> None:
    """What was not kept cannot be judged anew: late rows of it are judged by themselves."""
    worker = Worker(SETTINGS.model_copy(update={"lateness_ms": before}))
    worker.advance(rows.head(5))
    worker.reach("tap", 3 * MS)
    assert worker.tune(SETTINGS.model_copy(update={"lateness_ms": after})) == frozenset()
    made = worker.advance(rows.tail(5)).tables["verdicts"]
    assert worker.counters["too_late"] == too_late
    assert made["revision"].to_list() == ([0] if too_late else [])  # 0: of late rows alone
    later = rows.with_columns(pl.col("time_ns") + 10 * MS)
    worker.advance(later.head(5))
    worker.reach("tap", 13 * MS)
    worker.advance(later.tail(5))
    assert worker.counters["too_late"] == too_late + (0 if after else 5), "what ends now is kept"
