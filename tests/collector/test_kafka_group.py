"""A reader of a group gives its partitions up when it is asked to, whatever it waits for."""

import asyncio
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from broker import running

from collector import SCHEMA, Batch, BusSettings, open_bus, open_group

SETTINGS = BusSettings(session_s=1.0, retry_s=20)
NOTHING = pl.DataFrame(schema=SCHEMA)
PATIENCE_S = 90


class Member:
    """Reads a partition until it is asked to give it up; just then one message more comes."""

    def __init__(self, url: str) -> None:
        self.bus = open_bus(url)
        self.reader = open_group(url, SETTINGS, self.taken, self.left)
        self.seen, self.moved = asyncio.Event(), asyncio.Event()
        self.serving: asyncio.Task[None] | None = None

    async def publish(self, number: int) -> None:
        await self.bus.publish(Batch(NOTHING, "tap", 0, number, number, ended=True))

    async def serve(self, partition: int) -> None:
        await self.reader.seek(partition, None)
        while not self.moved.is_set():
            if await self.reader.records(partition, 5.0, 10):
                self.seen.set()

    async def taken(self, partitions: Sequence[int]) -> None:
        if partitions:
            self.serving = asyncio.create_task(self.serve(partitions[0]))

    async def left(self, partitions: Sequence[int]) -> None:
        if partitions and self.serving:
            self.moved.set()
            await self.publish(2)
            await self.serving


LEAVE_S = 20


async def nothing(_: Sequence[int]) -> None:
    """Take and leave without a word."""


def test_who_waits_for_messages_does_not_hold_up_those_who_wait_for_it(
    bus_url: Callable[..., str],
) -> None:
    """The client waits for the group's new order before it gives messages that came meanwhile."""
    url = bus_url("moving", 1)

    async def test() -> None:
        member, other = Member(url), open_group(url, SETTINGS, nothing, nothing)
        async with asyncio.timeout(PATIENCE_S):
            await member.publish(1)
            await member.reader.start()
            await member.seen.wait()
            await other.start()
            await member.moved.wait()
            assert member.serving is not None
            await member.serving
            await other.close()
            await member.reader.close()
            await member.bus.close()

    asyncio.run(test())


def test_a_member_without_a_partition_says_so(
    bus_url: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    url = bus_url("scarce", 1)
    caplog.set_level("INFO", "hopsight.collector")

    async def test() -> None:
        members = [open_group(url, SETTINGS, nothing, nothing) for _ in range(2)]
        async with asyncio.timeout(PATIENCE_S):
            for each in members:
                await each.start()
            while "others have all 1 partitions; this worker stands by" not in caplog.text:  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.05)
            for each in members:
                await each.close()

    asyncio.run(test())


def test_a_member_ends_where_the_broker_is_gone(tmp_path: Path) -> None:
    async def test(url: str, process: "subprocess.Popen[bytes]") -> None:
        member = Member(url)
        await member.publish(1)
        await member.bus.close()
        await member.reader.start()
        await member.seen.wait()
        process.kill()
        member.moved.set()
        assert member.serving is not None
        async with asyncio.timeout(LEAVE_S):
            await member.serving
            await member.reader.commit(0, 1)
            await member.reader.close()

    with running(tmp_path) as (address, process):
        url = f"kafka://{address}/gone?partitions=1&idempotence=off"
        asyncio.run(test(url, process))
