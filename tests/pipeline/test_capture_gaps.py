"""Times in which nobody captured, or frames were lost, are kept, and answers tell of them."""

import asyncio
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from empty_store import empty_store

from collector import SCHEMA, Batch, MemoryBus
from collector.loss import Loss
from pipeline import Output, PipelineSettings, Store, Worker, drain, stored_last, take_in
from pipeline.capture_gaps import NAMED_GAPS, captured, gap_rows, gaps_of, never, sentences

SECOND = 10**9
GAPS = pl.DataFrame(
    [("a", 10, 20, None, None), ("a", 30, 40, 5, 20), ("b", 0, 5, None, None)],
    {"source": pl.String, "from_ns": pl.Int64, "to_ns": pl.Int64, "lost": pl.UInt64,
     "frames": pl.UInt64},
    orient="row",
)  # fmt: skip


@pytest.mark.parametrize(
    ("window", "sources", "share"),
    [
        ((20, 30), None, 1.0),  # between two gaps
        ((0, 10), {"a"}, 1.0),  # another source
        ((0, 10), None, 0.5),  # sources are not known: any may be the flow's
        ((10, 20), {"a"}, 0.0),
        ((0, 40), {"a"}, 1 - (10 + 10 * 5 / 20) / 40),
        ((35, 45), {"a"}, 1 - 5 * 0.25 / 10),
        ((0, 20), {"a", "b"}, 0.5),  # of several the one that missed most
    ],
)
def test_what_was_captured_of_a_window(
    window: tuple[int, int], sources: set[str] | None, share: float
) -> None:
    assert captured(GAPS, *window, sources).share == pytest.approx(share)


def test_a_gap_inside_another_counts_once() -> None:
    inside = pl.concat([GAPS, GAPS.head(1).with_columns(to_ns=pl.lit(15, pl.Int64))])
    assert captured(inside, 0, 20, {"a"}).share == pytest.approx(0.5)


def test_gaps_are_named_and_many_are_counted() -> None:
    assert captured(GAPS, 20, 30).said == []
    whole, part = captured(GAPS, 10, 40, {"a"}).said
    assert whole.startswith("a was not captured from 1970-01-01")
    assert part.startswith("a lost 5 of 20 frames from")
    many = [{"source": "a", "from_ns": n, "to_ns": n + 1, "lost": None, "frames": None}
            for n in range(0, 20, 2)]  # fmt: skip
    assert sentences(many)[NAMED_GAPS:] == ["7 more gaps in what was captured"]


def batch(
    epoch: int,
    first: int,
    times: list[int],
    *losses: Loss,
    ended: bool = False,
    reached_ns: int = 0,
) -> Batch:
    frame = pl.DataFrame(
        {
            "time_ns": pl.Series(times, dtype=pl.Int64),
            "source": pl.Series(["tap"] * len(times), dtype=pl.String),
            "point": pl.Series(["tap"] * len(times), dtype=pl.String),
            "frame": pl.Series(range(first, first + len(times)), dtype=pl.UInt64),
            "conversation": pl.Series([1] * len(times), dtype=pl.UInt64),
            "flow": pl.Series([1] * len(times), dtype=pl.UInt64),
        }
    )
    zeros = ["src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport", "protocol",
                               "length", "payload_bytes", "direction"]  # fmt: skip
    frame = pl.concat([pl.DataFrame(schema=SCHEMA), frame], how="diagonal_relaxed")
    frame = frame.with_columns(pl.col(zeros).fill_null(0))
    last = first + len(times) - 1
    reached = None if ended else reached_ns or (times[-1] if times else losses[-1].to_ns)
    return Batch(frame, "tap", epoch, first, last, ended, reached, losses=losses)


def test_only_who_was_heard_of_before_leaves_a_gap() -> None:
    begun = batch(50, 1, [60], Loss(None, 50))
    assert gap_rows(begun, never) == {}
    assert gap_rows(begun, lambda *_: 50) == {}
    rows = gap_rows(begun, lambda *_: 40)
    assert rows["capture_gaps"].rows() == [(40, 50, "tap", None, None)]
    (finding,) = rows["telemetry_health"].to_dicts()
    told = finding["finding"], finding["subject"], finding["interval_ns"]
    assert told == ("not_captured", "tap", 10)


async def published(bus: MemoryBus, batches: list[Batch]) -> None:
    for each in batches:
        await bus.publish(each)
    await bus.close()


def kept_raw(store: Store, batches: list[Batch]) -> None:
    """What `hopsight collect --store` keeps of batches."""

    async def run() -> None:
        bus = MemoryBus()
        sink = partial(insert, store)
        await asyncio.gather(published(bus, batches), take_in(bus, sink, stored_last(store)))

    asyncio.run(run())


def insert(store: Store, made: Output, token: str) -> None:
    for name, rows in made.tables.items():
        if rows.height:
            store.insert(name, rows, f"{token}/{name}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("quiet", [False, True])
def test_a_source_that_begins_anew_leaves_the_time_between(
    tmp_path: Path, again: bool, quiet: bool
) -> None:
    now = 1_700_000_000 * SECOND
    before = [batch(now, 1, [now + 3 * SECOND], Loss(None, now))]
    # Nothing came by for a while, and that was seen.
    before += [batch(now, 2, [], reached_ns=now + 5 * SECOND)] * quiet
    after = [batch(now + 9 * SECOND, 1, [now + 9 * SECOND], Loss(None, now + 9 * SECOND))]
    begin = now + (4 if quiet else 2) * SECOND  # readers may be a second behind each other
    with empty_store(tmp_path / "store") as store:
        kept_raw(store, before)
        assert gaps_of(store).is_empty()
        kept_raw(store, after)
        if again:
            kept_raw(store, after)
        assert gaps_of(store).rows() == [("tap", begin, now + 9 * SECOND, None, None)]


def test_a_worker_knows_itself_when_it_heard_of_a_source() -> None:
    now = 1_700_000_000 * SECOND
    batches = [
        batch(now, 1, [now + 1], Loss(None, now)),
        batch(now, 2, [], Loss(now, now + SECOND, 3, 4)),
        batch(now + 5 * SECOND, 1, [now + 6 * SECOND], Loss(None, now + 5 * SECOND)),
        batch(now + 5 * SECOND, 2, [], Loss(now + 5 * SECOND, now + 7 * SECOND, 1, 2), ended=True),
    ]
    made: list[pl.DataFrame] = []

    async def run() -> None:
        bus = MemoryBus()
        worker = Worker(PipelineSettings())
        sink = drain(bus, worker, lambda output, _: made.append(output.tables.get("capture_gaps")))
        await asyncio.gather(published(bus, batches), sink)

    asyncio.run(run())
    assert [row for each in made if each is not None for row in each.rows()] == [
        (now, now + SECOND, "tap", 3, 4),
        (now + SECOND, now + 5 * SECOND, "tap", None, None),
        (now + 5 * SECOND, now + 7 * SECOND, "tap", 1, 2),
    ]
