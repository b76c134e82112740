"""Files of several taps through a broker: verdicts as of one process that reads all of them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

from collector import CollectorSettings, Decoder, feed, open_bus, open_capture, write_pcapng
from pipeline import Crew, Meeting, Output, PipelineSettings, Store, Worker, drain
from replay import frames_of, points, scenario, simulate, topology
from replay.taps import Taps
from tests.pipeline.test_group_kafka import SETTINGS as BUS
from tests.pipeline.test_group_kafka import until

MS = 1_000_000
SETTINGS = PipelineSettings(interval_ms=1.0)
KEY = ("time_ns", "interval_ns", "flow")
LEAVES = ("leaf1", "leaf2", "leaf3", "leaf4")


def test_files_of_several_taps_are_judged_as_in_one_process(
    tmp_path: Path, bus_url: Callable[..., str], store_dsn: str
) -> None:
    """Each file comes whole before the next: what waits for no other makes all others late."""
    world = scenario.demo(duration_ns=8 * MS)
    telling = CollectorSettings(int_dscp=23)
    played, known = simulate(world, telling), topology(world)
    paths = [tmp_path / f"{leaf}.pcapng" for leaf in LEAVES]
    for leaf, path in zip(LEAVES, paths, strict=True):
        write_pcapng(path, points(world), [frames_of(played, telling, taps=Taps(leaves=(leaf,)))])

    def worker(*sources: str) -> Worker:
        return Worker(SETTINGS, known, sources)

    async def read(bus: Any, *, announced: bool = False) -> None:
        captures = [open_capture(path) for path in paths]
        await feed(captures, Decoder(telling), bus, announced=announced)
        for capture in captures:
            capture.close()

    made: list[Output] = []

    async def in_one_process() -> None:
        bus, sources = open_bus("memory://"), [path.name for path in paths]
        await asyncio.gather(
            read(bus), drain(bus, worker(*sources), lambda told, _: made.append(told))
        )

    asyncio.run(in_one_process())
    told = [each.tables["verdicts"] for each in made if "verdicts" in each.tables]
    expected = pl.concat(told).sort(KEY)

    async def through_kafka(store: Store) -> None:
        url = bus_url("several", partitions=2)
        await read(open_bus(url), announced=True)
        crew = Crew(url, BUS, store, worker, lambda: Meeting(SETTINGS, known))
        running = asyncio.create_task(crew.run())
        await until(lambda: store.query("extent")["verdicts"][0] >= expected.height)
        crew.stop.set()
        await running
        assert crew.worked["decisions"] > 0
        assert not crew.worked.get("late")

    with Store(store_dsn) as store:
        store.migrate()
        asyncio.run(through_kafka(store))
        columns = ", ".join(f"toString({name})" for name in expected.columns)
        rows = store._writer.rows(f"SELECT {columns} FROM verdicts")  # noqa: S608 - our own names
    found = pl.DataFrame(rows, expected.columns, orient="row")
    assert found.height == expected.height
    keys = [pl.col(name).cast(pl.Int64 if name != "flow" else pl.UInt64) for name in KEY]
    same = ["node", "port", "samples", "revision"]
    asked = expected.select(*KEY, pl.col(same).cast(pl.String))
    assert_frame_equal(found.select(*keys, *same).sort(KEY), asked, check_exact=True)
