"""A partition is served until it is left, whatever passes meanwhile; no bus is needed for that."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest
from empty_store import empty_store

from collector import BusError, BusSettings
from collector.kafka_group import Record
from pipeline import PipelineSettings, Worker
from pipeline.group import Group
from pipeline.group_log import GroupLog
from pipeline.group_part import Part
from pipeline.store_error import Fenced, StoreBusy

URL = "kafka://127.0.0.1:9/observations"


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with empty_store(tmp_path / "store") as store:
        yield Group(URL, BusSettings(), store, lambda: Worker(PipelineSettings()))


def served(group: Group, follow: Any, monkeypatch: pytest.MonkeyPatch) -> asyncio.Future[None]:
    """One partition served to its end; what ended the process, or nothing."""

    async def run() -> asyncio.Future[None]:
        group._failed = asyncio.get_running_loop().create_future()
        group._leave[0] = threading.Event()
        monkeypatch.setattr(group, "_follow", follow)
        await asyncio.wait_for(group._serve(0), 20)
        return group._failed

    return asyncio.run(run())


def test_who_found_no_broker_yet_ends_when_told_to(group: Group) -> None:
    async def test() -> None:
        running = asyncio.create_task(group.run())
        await asyncio.sleep(1)
        assert not running.done(), "a broker that is away is tried for `bus.retry_s`"
        group.stop.set()
        await asyncio.wait_for(running, 10)

    asyncio.run(test())


def test_a_store_that_was_busy_ends_nothing(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    async def follow(partition: int, leave: threading.Event) -> None:
        tries.append(partition)
        if len(tries) == 1:
            raise StoreBusy("no reader came free")
        leave.set()

    assert not served(group, follow, monkeypatch).done()
    assert tries == [0, 0]


def test_a_panic_ends_the_process_and_is_told(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Panic(BaseException):
        """What is no Exception."""

    async def follow(*_: object) -> None:
        raise Panic("index out of bounds")

    failed = served(group, follow, monkeypatch)
    with pytest.raises(RuntimeError, match="index out of bounds"):
        failed.result()


RECORD = Record(9, SimpleNamespace(value=b""))


@pytest.fixture
def part(group: Group, monkeypatch: pytest.MonkeyPatch) -> Part:
    """A partition with one message."""
    made = Part(group.store, "observations.v1.p2/0", group.worker, lambda work: work())
    made.claim()
    made.position = 0

    async def records(*_: object) -> list[Any]:
        return [RECORD]

    async def contained(*_: object) -> list[Any]:
        return []

    monkeypatch.setattr(group.reader, "records", records)
    monkeypatch.setattr(group.reader, "contained", contained)
    return made


def step(group: Group, part: Part) -> int:
    left = threading.Event()
    return asyncio.run(group.steps.step(0, part, left, whole=False, snapshot=False))


def test_of_messages_that_cannot_be_read_no_cut_is_decided(
    group: Group, part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def contained(*_: object) -> None:
        raise BusError("a dead letter is not taken")

    monkeypatch.setattr(group.reader, "contained", contained)
    with pytest.raises(BusError, match="dead letter"):
        step(group, part)
    assert part.promised == []
    assert part.log.read()[-1].kind == "claim"


def test_a_cut_is_decided_even_where_it_cannot_be_worked_on(
    group: Group, part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*given: Any, **named: Any) -> Any:
        sleep(0.3)
        return Part.cut(part, *given, **named)

    def panics(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(part, "cut", slowly)
    monkeypatch.setattr(part.desk, "take", panics)
    with pytest.raises(ZeroDivisionError):
        step(group, part)
    assert [(each.first, each.last) for each in part.promised] == [(0, 9)]


def test_of_a_cut_that_another_worker_decided_nothing_leaves_the_process(
    group: Group, part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[object] = []
    part.hand_on = lambda *given: handed.append(given)
    other = GroupLog(group.store, part.place)
    other.claim()
    monkeypatch.setattr(part.store, "insert", handed.append)
    with pytest.raises(Fenced):
        step(group, part)
    assert handed == []
    assert part.position == 0


def test_nobody_is_given_up_while_the_broker_does_not_answer(
    group: Group, part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever would speak cannot, and is waited for anew when it answers again."""
    answering = [False]

    async def nothing(*_: object) -> list[Any]:
        return []

    monkeypatch.setattr("pipeline.group_steps.IDLE_S", 0.3)
    monkeypatch.setattr(group.reader, "records", nothing)
    monkeypatch.setattr(group.reader, "answers", lambda _: answering[0])
    monkeypatch.setattr(Part, "silent", property(lambda _: ["tap.pcap"]))
    for _ in range(3):
        step(group, part)
        sleep(0.2)
    answering[0] = True
    step(group, part)
    assert part.counts["idle"] == 0
    sleep(0.4)
    step(group, part)
    assert part.counts["idle"] == 1
