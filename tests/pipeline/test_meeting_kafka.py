"""Several partitions through a broker and two workers: rows and verdicts as of one partition."""

import asyncio
from collections.abc import Callable
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

from collector import Batch, open_bus
from pipeline import Crew, Meeting, Store, Worker
from tests.pipeline.test_group import stored
from tests.pipeline.test_group_kafka import SETTINGS as BUS
from tests.pipeline.test_group_kafka import until, until_stored
from tests.pipeline.test_meeting import MS, SETTINGS, batches, played

SAME = ("verdicts", "link_seconds", "path_seconds", "flow_intervals", "hop_intervals", "flows",
        "telemetry_health")  # fmt: skip


def crew_of(url: str, store: Store) -> Crew:
    known = played()[1]
    return Crew(url, BUS, store, lambda: Worker(SETTINGS, known), lambda: Meeting(SETTINGS, known))


def opened(dsn: str) -> Store:
    store = Store(dsn)
    store.migrate()
    return store


async def work(url: str, dsn: str, workers: int) -> None:
    """All rows through so many workers; returns when everything is judged."""
    rows, _ = played()
    bus: Any = open_bus(url)
    first = 1
    for part in batches(rows):
        last = int(part["frame"].to_numpy().max())
        await bus.publish(Batch(part, "fabric", 0, first, last))
        first = last + 1
    await bus.publish(Batch(rows.clear(), "fabric", 0, last, last, ended=True))
    await bus.close()
    stores = [opened(dsn) for _ in range(workers)]
    crews = [crew_of(url, store) for store in stores]
    running = [asyncio.create_task(crew.run()) for crew in crews]
    await until_stored(dsn, rows.height)
    for crew, task in zip(crews, running, strict=True):
        crew.stop.set()
        await task
    # What was handed on last may have waited for a judge that had gone.
    rest = crew_of(url, stores[0])
    task = asyncio.create_task(rest.run())
    await until(lambda: len(rest.observing.reader.assigned) > 0)
    await until(lambda: "partitions=1&" in url or rest.meeting.steps.emptied_s > 0)
    rest.stop.set()
    await task
    for store in stores:
        store.close()


def test_verdicts_of_several_partitions_are_those_of_one(
    bus_url: Callable[..., str], store_dsn: str
) -> None:
    asyncio.run(work(bus_url("whole", partitions=1), f"{store_dsn}_whole", 1))
    with opened(f"{store_dsn}_whole") as one:
        expected = stored(one)
    asyncio.run(work(bus_url("parted", partitions=4), f"{store_dsn}_parted", 2))
    with opened(f"{store_dsn}_parted") as other:
        found = stored(other)
    for table in SAME:
        assert expected[table].height
        assert_frame_equal(found[table], expected[table], check_exact=True)


def test_partitions_without_frames_hold_back_no_verdicts_of_a_file_that_goes_on(
    bus_url: Callable[..., str], store_dsn: str
) -> None:
    """A collector that follows a file and has not ended it; its flows are in one partition."""
    rows, _ = played()
    mine = rows.filter(pl.col("conversation") % 4 == rows["conversation"][0] % 4)
    url = bus_url("alone", partitions=4)

    async def test(store: Store) -> None:
        bus: Any = open_bus(url)
        for number, part in enumerate((mine, mine.with_columns(pl.col("time_ns") + 600 * MS))):
            frames = part.with_columns(pl.col("frame") + number * 10**6)
            last = int(frames["frame"].to_numpy().max())
            await bus.publish(Batch(frames, "fabric", 0, last - mine.height, last))
        await bus.close()
        crew = crew_of(url, store)
        running = asyncio.create_task(crew.run())
        await until(lambda: store.query("extent")["verdicts"][0] > 0, 60)
        crew.stop.set()
        await running

    with opened(store_dsn) as store:
        asyncio.run(test(store))
