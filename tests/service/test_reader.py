"""The threads in which the store is asked."""

import asyncio
import threading
from pathlib import Path

import pytest

from pipeline import Store
from service.metrics import Metrics
from service.reader import Reader, in_thread
from service.turns import Turns


def test_who_goes_away_keeps_the_turn_until_the_answer(tmp_path: Path) -> None:
    begun, until = threading.Event(), threading.Event()

    def asked() -> int:
        begun.set()
        until.wait(10)
        return 1

    async def run() -> None:
        with Store(f"chdb://{tmp_path}/store") as store:
            turns = Turns(1, 5.0)
            reader = Reader(store, Metrics(), turns)
            asking = asyncio.create_task(reader.run("anything", asked))
            await asyncio.to_thread(begun.wait)
            asking.cancel()
            await asyncio.sleep(0.05)
            assert turns.all_taken
            assert not asking.done()
            until.set()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert not turns.all_taken

    asyncio.run(run())


def test_a_call_that_fails_says_so() -> None:
    async def run() -> None:
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 / 0)

    asyncio.run(run())
