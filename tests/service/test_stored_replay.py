"""Replays over HTTP take turns of their own: whoever computes holds none of the store."""

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import polars as pl
import pytest

from pipeline import PipelineSettings, Question
from service import stored_replay
from service.problem import Problem
from service.stored_replay import Replayed, Replays, Wanted

WANTED = Wanted(Question("10.0.0.1", 1, "10.0.0.2", 2))


class Reader:
    """Asks nothing; knows how many are in the store now."""

    def __init__(self, revision: int | None = 1) -> None:
        self.store = SimpleNamespace(revision=revision)
        self.inside = self.asked = 0

    async def run(self, label: str, function: Any, *given: Any) -> pl.DataFrame:
        """One that asks for rows."""
        assert (label, function) == ("replay", stored_replay.observations)
        assert given[0] is self.store
        self.inside += 1
        self.asked += 1
        await anyio.lowlevel.checkpoint()
        self.inside -= 1
        return pl.DataFrame()


class Slow:
    """Computes when it is let."""

    def __init__(self) -> None:
        self.begun, self.let = threading.Event(), threading.Event()
        self.runs = 0

    def __call__(self, *_: Any) -> Replayed:
        """A replay without decisions."""
        self.runs += 1
        self.begun.set()
        assert self.let.wait(30)
        return Replayed(pl.DataFrame(), self.runs, {}, (), {})


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """In the place of what computes."""
    made = Slow()
    monkeypatch.setattr(stored_replay, "replayed", made)
    return made


async def together(replays: Replays, reader: Reader, slow: Slow, *asked: Wanted) -> list[Any]:
    """What all of them got, when the first one was let go while the others waited."""
    found: list[Any] = [None] * len(asked)

    async def one(at: int) -> None:
        try:
            found[at] = await replays.of(reader, asked[at], None)  # type: ignore[arg-type]
        except Problem as problem:
            found[at] = problem
            slow.let.set()

    async with anyio.create_task_group() as tasks:
        for at in range(len(asked)):
            tasks.start_soon(one, at)
        await anyio.to_thread.run_sync(slow.begun.wait)
        while reader.asked < len(asked) or reader.inside:  # noqa: ASYNC110 - of another class
            await anyio.sleep(0.001)
        if replays.wait_s > 1:
            slow.let.set()
    return found


def test_several_at_once_are_all_answered_and_the_store_is_free_meanwhile(slow: Slow) -> None:
    reader, replays = Reader(), Replays(PipelineSettings())
    others = [replace(WANTED, told=(f"g=0.{at}",)) for at in range(1, 4)]
    found = anyio.run(together, replays, reader, slow, WANTED, *others)
    assert sorted(each.observations for each in found) == [1, 2, 3, 4]


def test_the_same_asked_twice_is_computed_once(slow: Slow) -> None:
    reader, replays = Reader(), Replays(PipelineSettings())
    first, second = anyio.run(together, replays, reader, slow, WANTED, WANTED)
    assert first is second
    assert slow.runs == 1
    assert anyio.run(replays.of, reader, WANTED, None) is first


def test_a_store_that_others_write_to_is_read_anew(slow: Slow) -> None:
    reader, replays = Reader(None), Replays(PipelineSettings())
    found = anyio.run(together, replays, reader, slow, WANTED, WANTED)
    assert [each.observations for each in found] == [1, 2]


def test_who_waits_too_long_is_told_to_come_again(slow: Slow) -> None:
    reader, replays = Reader(), Replays(PipelineSettings(), wait_s=0.05)
    other = replace(WANTED, told=("g=0.5",))
    found = anyio.run(together, replays, reader, slow, WANTED, other)
    refused = [each for each in found if isinstance(each, Problem)]
    assert [each.status for each in refused] == [503]
    assert [each.observations for each in found if isinstance(each, Replayed)] == [1]
