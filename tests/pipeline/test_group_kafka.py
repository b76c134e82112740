"""Workers of one group through a broker and a store that several may use: rows are there once."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import Batch, BusSettings, open_bus
from pipeline import Crew, Meeting, PipelineSettings, Store, StoreError, Worker
from pipeline.fence import Fence
from pipeline.group_log import GroupLog
from pipeline.store_error import Fenced
from pipeline.tables import TABLES

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
MS = 1_000_000
ROWS = 400
SETTINGS = BusSettings(session_s=1.0, cut_ms=50, snapshot_s=0.5, retry_s=20)


@pytest.fixture(scope="module")
def batches(observed: Observed) -> list[Batch]:
    rows = observed(
        {
            "time_ns": 10**18 + number * MS, "source": "tap", "sport": 1000 + number % 23,
            "frame": number + 1, "seq": number * 1000, "ecn": 3 if number % 3 else 2,
        }
        for number in range(ROWS)
    )  # fmt: skip
    size = ROWS // 8
    return [Batch(rows.slice(at, size), "tap", 0, at + 1, at + size)
            for at in range(0, ROWS, size)]  # fmt: skip


async def until(true: Callable[[], bool], patience_s: float = 120) -> None:
    """Returns once something is true."""
    async with asyncio.timeout(patience_s):
        while not true():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.05)


async def until_stored(dsn: str, rows: int) -> None:
    """Returns once the store has them; a cut that was worked on twice is counted twice."""
    counted = "SELECT count() FROM observations"
    with Store(dsn) as looking:
        looking.migrate()
        await until(lambda: looking._writer.rows(counted) == [(rows,)])


def crew_of(url: str, store: Store, *, judged: bool = True) -> Crew:
    return Crew(
        url, SETTINGS, store, lambda: Worker(PipelineSettings()),
        lambda: Meeting(PipelineSettings()), judged=judged,
    )  # fmt: skip


def taken(crew: Crew) -> int:
    return crew.counters.get("rows", 0)


def test_two_workers_share_a_topic_and_each_row_is_stored_once(
    bus_url: Callable[..., str], store_dsn: str, batches: list[Batch]
) -> None:
    url = bus_url("shared")

    async def test(one: Store, other: Store) -> None:
        bus: Any = open_bus(url)
        for batch in batches[:4]:
            await bus.publish(batch)
        first, second = crew_of(url, one), crew_of(url, other)
        running = asyncio.create_task(first.run())
        await until(lambda: taken(first) == ROWS // 2)
        joining = asyncio.create_task(second.run())
        await until(
            lambda: bool(second.observing.reader.assigned and first.observing.reader.assigned)
        )
        for batch in batches[4:]:
            await bus.publish(batch)
        again: Any = open_bus(url)
        for batch in batches:
            await again.publish(batch)
        await bus.publish(Batch(batches[0].frame.clear(), "tap", 0, ROWS, ROWS, ended=True))
        await bus.close()
        await again.close()
        await until_stored(store_dsn, ROWS)
        first.stop.set()
        await running
        await until(lambda: len(second.observing.reader.assigned) == 4)
        second.stop.set()
        await joining
        assert second.counters["claims"] >= 4

    with Store(store_dsn) as one, Store(store_dsn) as other:
        one.migrate()
        other.migrate()
        asyncio.run(test(one, other))
        frames = [frame for (frame,) in one._writer.rows("SELECT frame FROM observations")]
        assert sorted(frames) == list(range(1, ROWS + 1))
        sent = one._writer.rows("SELECT sum(frames), count() FROM flow_intervals FINAL")
        assert sent[0][0] == ROWS
        [(places,)] = one._writer.rows(
            "SELECT uniqExact(place) FROM group_log WHERE kind = 'snapshot'"
        )
        assert places == 4 + 1, "those of the topic, and where they are judged together"
        [(verdicts,)] = one._writer.rows("SELECT count() FROM verdicts FINAL")
        assert verdicts


def test_a_group_that_judges_nothing_stores_each_row_once(
    bus_url: Callable[..., str], store_dsn: str, batches: list[Batch]
) -> None:
    url = bus_url("rows")

    async def test(store: Store) -> None:
        bus: Any = open_bus(url)
        for batch in batches:
            await bus.publish(batch)
        await bus.publish(Batch(batches[0].frame.clear(), "tap", 0, ROWS, ROWS, ended=True))
        await bus.close()
        group = crew_of(url, store, judged=False)
        running = asyncio.create_task(group.run())
        await until(lambda: taken(group) == ROWS)
        group.stop.set()
        await running

    with Store(store_dsn) as store:
        store.migrate()
        asyncio.run(test(store))
        frames = [frame for (frame,) in store._writer.rows("SELECT frame FROM observations")]
        assert sorted(frames) == list(range(1, ROWS + 1))
        assert counts(store)["bus_messages"]
        assert not counts(store)["flow_intervals"] + counts(store)["verdicts"]


def test_an_insert_of_an_old_owner_has_no_effect_in_any_table(store_dsn: str) -> None:
    with Store(store_dsn) as store:
        store.migrate()
        old, new = GroupLog(store, "fenced.v1.p2/0"), GroupLog(store, "fenced.v1.p2/0")
        old.claim()
        fence = old.fence
        for name, table in TABLES.items():
            rows = pl.DataFrame({name: [None] for name in table.schema}, schema=table.schema)
            for _ in range(2):
                assert store.insert(name, rows, "own", fence) == 1
        before = counts(store)
        new.claim()
        assert Fence(new.place, 2) == new.fence
        for name, table in TABLES.items():
            rows = pl.DataFrame({name: [None] for name in table.schema}, schema=table.schema)
            with pytest.raises(Fenced, match="another worker has taken the place over"):
                store.insert(name, rows, "late", fence)
        assert counts(store) == before | {"group_log": before["group_log"] + 1}
        assert before["flows"] == before["verdicts"] == before["observations"] == 1
        assert before["link_minutes"] == 2  # its own row, and what feeds it


def counts(store: Store) -> dict[str, int]:
    return {name: store._writer.rows(f"SELECT count() FROM {name}")[0][0] for name in TABLES}  # noqa: S608 - our own names


def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one(
    bus_url: Callable[..., str], store_dsn: str, batches: list[Batch]
) -> None:
    url = bus_url("anew", partitions=1)

    async def test(store: Store) -> None:
        bus: Any = open_bus(url)
        await bus.publish(batches[0])
        await bus.close()
        group = crew_of(url, store)
        log = GroupLog(store, group.observing.reader.place(0))
        log.claim()
        log.append("snapshot", last=900, chain=2)
        running = asyncio.create_task(group.run())
        await until(lambda: group.counters.get("bus_away", 0) > 1)
        group.stop.set()
        await running
        assert "rows" not in group.counters

    with Store(store_dsn) as store:
        store.migrate()
        asyncio.run(test(store))


def test_a_store_that_refuses_rows_ends_the_worker_with_its_sentence(
    bus_url: Callable[..., str], store_dsn: str, batches: list[Batch]
) -> None:
    url = bus_url("refused", partitions=1)

    async def test(store: Store) -> None:
        bus: Any = open_bus(url)
        await bus.publish(batches[0])
        await bus.close()
        with pytest.raises(StoreError, match="group_log"):
            await asyncio.wait_for(crew_of(url, store).run(), 60)

    with Store(store_dsn) as store:
        store.migrate()
        store._writer.command("DROP TABLE group_log")
        asyncio.run(test(store))


def test_placement_uses_every_partition(batches: list[Batch]) -> None:
    placed = {int(each) for batch in batches for each in batch.frame["conversation"] % 4}
    assert placed == set(np.arange(4).tolist())
