"""A source that never ends, because its collector is gone, holds nothing back for good."""

import asyncio
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from collector import Batch, BusRefused, open_bus
from pipeline import Crew, Store
from tests.pipeline.test_group_kafka import until
from tests.pipeline.test_meeting import MS, played
from tests.pipeline.test_meeting_kafka import crew_of, opened


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.group_steps.IDLE_S", 1.0)


def sent() -> tuple[pl.DataFrame, pl.DataFrame]:
    """What a collector brought before it was killed, and a capture that is there whole."""
    rows, _ = played()
    early = rows.filter(pl.col("time_ns") < rows["time_ns"].to_numpy().min() + MS)
    return early.with_columns(pl.lit("gone").alias("source")), rows


async def publish(url: str) -> None:
    bus: Any = open_bus(url)
    gone, rows = sent()
    last = int(rows["frame"].to_numpy().max())
    await bus.publish(Batch(gone, "gone", 0, 1, last))
    await bus.publish(Batch(rows, "fabric", 0, 1, last))
    await bus.publish(Batch(rows.clear(), "fabric", 0, last, last, ended=True))
    await bus.close()


async def work(crew: Crew, looking: Store, height: int) -> None:
    running = asyncio.create_task(crew.run())
    count = "SELECT count() FROM observations"
    await until(lambda: looking._writer.rows(count) == [(height,)])
    await until(lambda: looking.query("extent")["verdicts"][0] > 0)
    crew.stop.set()
    await running


@pytest.mark.sampled(1)
@pytest.mark.parametrize("partitions", [1, 4])
def test_what_others_brought_is_judged_all_the_same(
    bus_url: Callable[..., str], store_dsn: str, partitions: int
) -> None:
    url = bus_url("silent", partitions=partitions)
    height = sum(each.height for each in sent())
    asyncio.run(publish(url))
    with opened(store_dsn) as store, opened(store_dsn) as looking:
        crew = crew_of(url, store)
        asyncio.run(work(crew, looking, height))
        assert crew.counters["idle"] >= 1
        assert not crew.observing.reader.dead_letters.counts
        kinds = store._writer.rows("SELECT DISTINCT kind FROM group_log")
        assert ("idle",) in kinds
        frames = "SELECT source, uniqExact(frame), count() FROM observations GROUP BY 1 ORDER BY 1"
        gone, rows = sent()
        expected = [("fabric", rows.height), ("gone", gone.height)]
        assert [(name, count) for name, _, count in store._writer.rows(frames)] == expected


def test_a_writer_that_the_broker_refuses_ends_a_worker(
    bus_url: Callable[..., str], store_dsn: str
) -> None:
    """Where several partitions are judged together a worker writes, and would be refused again."""
    url = bus_url("refused", partitions=4)
    asyncio.run(publish(url))
    with opened(store_dsn) as store:
        crew = crew_of(url.replace("idempotence=off", "idempotence=on"), store)
        with pytest.raises(BusRefused, match="idempotence=off"):
            asyncio.run(asyncio.wait_for(crew.run(), 60))
