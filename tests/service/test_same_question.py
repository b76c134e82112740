"""Equal questions at once are one to the store, and no answer is older than its question."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from service.same_question import Shared


class Slow:
    """Answers with how often it was asked, when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.let = asyncio.Event()

    async def __call__(self) -> int:
        self.asked += 1
        number = self.asked
        await self.let.wait()
        await asyncio.sleep(0.01)
        if number == 13:
            raise ValueError("no answer")
        return number


async def several(
    shared: Shared, ask: Callable[[], Awaitable[int]], *revisions: int | None
) -> list[asyncio.Task[tuple[int, bool]]]:
    tasks = []
    for revision in revisions:
        tasks.append(asyncio.create_task(shared.ask("q", revision, ask)))
        await asyncio.sleep(0)
    return tasks


def test_who_asks_the_same_meanwhile_hears_the_same() -> None:
    async def run() -> None:
        shared, slow = Shared(), Slow()
        tasks = await several(shared, slow, 7, 7, 7)
        other = asyncio.create_task(shared.ask("other", 7, slow))
        slow.let.set()
        assert await asyncio.gather(*tasks) == [(1, False), (1, True), (1, True)]
        assert await other == (2, False)
        assert await shared.ask("q", 7, slow) == (3, False)

    asyncio.run(run())


@pytest.mark.parametrize("revision", [8, None])
def test_who_asks_after_something_was_stored_hears_the_next_answer(revision: int | None) -> None:
    async def run() -> None:
        shared, slow = Shared(), Slow()
        tasks = await several(shared, slow, 7, revision, revision, revision)
        slow.let.set()
        first, *later = await asyncio.gather(*tasks)
        assert first == (1, False)
        assert sorted(later) == [(2, False), (2, True), (2, True)]

    asyncio.run(run())


def test_who_goes_away_leaves_the_others_to_ask() -> None:
    async def run() -> None:
        shared, slow = Shared(), Slow()
        first, *others = await several(shared, slow, 7, 7, 7)
        first.cancel()
        await asyncio.sleep(0.01)
        slow.let.set()
        answers = [number for number, _ in await asyncio.gather(*others)]
        assert set(answers) <= {2, 3}

    asyncio.run(run())


def test_all_hear_what_went_wrong() -> None:
    async def run() -> None:
        shared, slow = Shared(), Slow()
        slow.asked = 12
        tasks = await several(shared, slow, 7, 7)
        slow.let.set()
        for task in tasks:
            with pytest.raises(ValueError, match="no answer"):
                await task
        assert await shared.ask("q", 7, slow) == (14, False)

    asyncio.run(run())
