"""Batches of several live sources: taken one by one or at once, they give the same."""

import asyncio
import random
from itertools import chain

import polars as pl
import pytest

from collector import Batch, CollectorSettings, Decoder, MemoryBus
from pipeline import Output, PipelineSettings, Worker, drain
from pipeline.desk import passes
from pipeline.sink import merged
from replay import frames_of, points, scenario, simulate, topology
from replay.taps import Taps
from replay.world import World

MS = 1_000_000
SETTINGS = PipelineSettings(interval_ms=1.0, disorder_us=100.0)
FLUSH_NS = MS // 2
"""Time of the frames of one batch."""


@pytest.fixture(scope="module")
def world() -> World:
    """A fabric whose port two flows fill."""
    return scenario.alone("int", duration_ns=8 * MS)


@pytest.fixture(scope="module")
def batches(world: World) -> list[Batch]:
    """What live captures at two leaves bring, and say, as time goes by."""
    told = CollectorSettings(int_dscp=23)
    frames = frames_of(simulate(world, told), told, taps=Taps(leaves=("leaf1", "leaf2")))
    rows = Decoder(told).decode(frames, points(world), "tap")
    made, begin = [], int(rows["time_ns"].min() or 0)
    for at in range(1 + int((rows["time_ns"].max() or 0) - begin) // FLUSH_NS):
        end = begin + (at + 1) * FLUSH_NS
        part = rows.filter(pl.col("time_ns").is_between(end - FLUSH_NS, end, closed="left"))
        for leaf in ("leaf1", "leaf2"):
            own = part.filter(pl.col("point").str.starts_with(leaf))
            own = own.with_columns(pl.lit(leaf).alias("source"))
            made.append(Batch(own, leaf, 1, 2 * at, 2 * at + 1, reached_ns=end))
    return made


def worked(world: World, batches: list[Batch], capacity: int, rows: int) -> list[Output]:
    """All that a worker makes of batches that wait on a bus, without those of its end."""
    made: list[Output] = []

    async def run() -> None:
        bus = MemoryBus(capacity, joined_rows=rows)
        worker = Worker(SETTINGS, topology(world), ("leaf1", "leaf2"))

        async def feed() -> None:
            for batch in batches:
                await bus.publish(batch)
            await bus.close()

        await asyncio.gather(feed(), drain(bus, worker, lambda output, _: made.append(output)))
        assert worker.counters["late"] == 0

    asyncio.run(run())
    return made


def test_who_is_behind_takes_what_waits_of_all_sources_in_one_pass(
    world: World, batches: list[Batch]
) -> None:
    single = worked(world, batches, 1, 1)
    assert len(single) == len(batches) + 1
    together = worked(world, batches, 100, 1 << 20)
    assert len(together) < 6
    one, other = map(merged, (single, together))
    assert one["verdicts"].height > 0
    for name in ("flow_intervals", "hop_intervals", "verdicts", "observations"):
        keys = [n for n in ("time_ns", "interval_ns", "flow", "point", "hop", "frame", "source")
                if n in one[name].columns]  # fmt: skip
        assert one[name].sort(keys).equals(other[name].select(one[name].columns).sort(keys)), name


def test_a_pass_ends_with_a_source_and_is_bounded(
    batches: list[Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = pl.DataFrame(schema={"time_ns": pl.Int64, "source": pl.String})
    ended = Batch(nothing, "leaf1", 1, 99, 99, ended=True)
    several = [*batches[:4], ended, *batches[4:8]]
    assert [len(each) for each in passes(several)] == [5, 4]
    monkeypatch.setattr("pipeline.desk.MOST_ROWS", 1)
    mixed = random.Random(5).sample(batches, 8)
    rows = [each.frame.height for each in mixed]
    cut = [[each.frame.height for each in made] for made in passes(mixed)]
    assert [*chain(*cut)] == rows
    assert all(sum(each[:-1]) == 0 for each in cut)
