"""Turns at the store, and answers that are told to all who ask while it has none to give."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from fastapi import Response

from pipeline import StoreBusy
from service.problem import Problem
from service.told_answers import BESIDE_OCTETS, ToldAnswers
from service.turns import MOST_LATER_S, Turns, arrive


async def held(turns: Turns, until: asyncio.Event) -> None:
    async with turns.one():
        await until.wait()


def test_who_would_wait_too_long_is_sent_away_at_once() -> None:
    async def run() -> None:
        turns, until = Turns(1, 0.2), asyncio.Event()
        first = asyncio.create_task(held(turns, until))
        await asyncio.sleep(0.15)
        assert turns.all_taken
        second = asyncio.create_task(held(turns, until))  # nothing is known yet: it queues
        await asyncio.sleep(0)
        until.set()
        await asyncio.gather(first, second)
        assert not turns.all_taken
        assert turns.ahead_s(99) == 0.0
        until.clear()
        for _ in range(200):  # questions are known to take long
            turns._takes_s += (0.15 - turns._takes_s) / 4
        first = asyncio.create_task(held(turns, until))
        await asyncio.sleep(0)
        assert turns.ahead_s(99) == pytest.approx(0.15)
        second = asyncio.create_task(held(turns, until))  # who is next waits, however long it takes
        await asyncio.sleep(0)
        with pytest.raises(StoreBusy, match=r"busy: an answer takes 0\.4 s"):
            async with turns.one():
                pytest.fail("there was no turn")
        until.set()
        await asyncio.gather(first, second)
        async with turns.one():
            assert turns.all_taken

    asyncio.run(run())


def test_a_turn_that_does_not_come_is_refused() -> None:
    async def run() -> None:
        turns, until = Turns(1, 0.05), asyncio.Event()
        first = asyncio.create_task(held(turns, until))
        await asyncio.sleep(0)
        with pytest.raises(StoreBusy, match=r"no turn in 0\.05 s"):
            async with turns.one():
                pytest.fail("there was no turn")
        until.set()
        await first

    asyncio.run(run())


def test_who_is_sent_away_comes_again_when_those_before_may_be_answered() -> None:
    async def run() -> None:
        turns, until = Turns(2, 0.2), asyncio.Event()
        turns._takes_s = 0.5  # so that four are answered a second
        working = [asyncio.create_task(held(turns, until)) for _ in range(2)]
        await asyncio.sleep(0)
        told = []
        for _ in range(60):
            with pytest.raises(StoreBusy) as refused:
                turns.look()
            told.append(refused.value.later_s)
        assert told[:12] == [1] * 4 + [2] * 4 + [3] * 4
        assert max(told) == told[-1] == MOST_LATER_S
        turns._back_s -= MOST_LATER_S  # they have gone by
        with pytest.raises(StoreBusy) as refused:
            turns.look()
        assert refused.value.later_s == 1
        until.set()
        await asyncio.gather(*working)

    asyncio.run(run())


def test_what_a_request_still_has_to_ask_goes_before_those_that_came_later() -> None:
    async def run() -> None:
        turns, heard = Turns(1, 5.0), list[str]()

        async def request(name: str) -> None:
            arrive()
            for number in range(2):
                async with turns.one():
                    heard.append(f"{name}{number}")
                    await asyncio.sleep(0.01)

        await asyncio.gather(*map(request, "abc"))
        # Its second question comes when the turn is given on already, and goes before the third.
        assert heard == ["a0", "b0", "a1", "b1", "c0", "c1"]
        assert not turns.taken

    asyncio.run(run())


def test_what_a_request_has_begun_is_finished_however_long_it_takes() -> None:
    """Who is alone is answered, be it late: a page asks more than there are turns."""

    async def run() -> None:
        turns, answered = Turns(2, 0.2), list[int]()

        async def question(number: int) -> None:
            async with turns.one():
                await asyncio.sleep(0.15)
                answered.append(number)

        async def request() -> None:
            arrive()
            await asyncio.gather(*map(question, range(7)))

        for _ in range(3):
            await asyncio.create_task(request())
        assert len(answered) == 21

    asyncio.run(run())


def test_who_goes_away_while_waiting_leaves_the_turn_to_others() -> None:
    async def run() -> None:
        turns, until = Turns(1, 5.0), asyncio.Event()
        first, second, third = (asyncio.create_task(held(turns, until)) for _ in range(3))
        await asyncio.sleep(0)
        second.cancel()
        until.set()
        await asyncio.gather(first, third)
        assert second.cancelled()
        until.clear()
        first, second = (asyncio.create_task(held(turns, until)) for _ in range(2))
        await asyncio.sleep(0)
        until.set()
        first.add_done_callback(lambda _: second.cancel())  # just as its turn is given to it
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(first, second)
        assert not turns.taken

    asyncio.run(run())


class Making:
    """Makes numbered answers, when it is let."""

    def __init__(self, status: int = 200) -> None:
        self.made = 0
        self.status = status
        self.until = asyncio.Event()

    async def __call__(self) -> Response:
        self.made += 1
        number = self.made
        await self.until.wait()
        return Response(f"{number}", self.status)


Ask = Callable[[], Coroutine[Any, Any, Response]]


def asking(answers: ToldAnswers, make: Making, *, busy: bool, revision: int | None = None) -> Ask:
    async def ask() -> Response:
        told = await answers.ask("GET /x", revision, busy=lambda: busy, make=make)
        return told.response

    return ask


def test_while_nothing_is_stored_an_answer_is_made_once_for_all() -> None:
    async def run() -> None:
        answers, make = ToldAnswers(), Making()
        first = asking(answers, make, busy=False, revision=1)
        asked = [asyncio.create_task(first()) for _ in range(3)]
        await asyncio.sleep(0)
        second = asyncio.create_task(asking(answers, make, busy=False, revision=2)())
        await asyncio.sleep(0)
        make.until.set()
        assert {(await each).body for each in asked} == {b"1"}
        assert (await second).body == b"2"
        assert (await asking(answers, make, busy=False, revision=2)()).body == b"2"
        assert make.made == 2

    asyncio.run(run())


def test_an_answer_of_before_is_told_with_its_own_state_of_the_store() -> None:
    """Else who hears it while the store is busy would never hear what was stored meanwhile."""

    async def run() -> None:
        answers, make = ToldAnswers(), Making()
        make.until.set()
        await answers.ask("GET /x", 1, busy=lambda: False, make=make)
        told = await answers.ask("GET /x", 2, busy=lambda: True, make=make)
        assert (told.response.body, told.revision) == (b"1", 1)

    asyncio.run(run())


def test_while_the_store_is_busy_all_who_ask_hear_one_answer() -> None:
    async def run() -> None:
        answers, make = ToldAnswers(), Making()
        ask = asking(answers, make, busy=True)
        asked = [asyncio.create_task(ask()) for _ in range(5)]
        await asyncio.sleep(0)
        make.until.set()
        assert {(await each).body for each in asked} == {b"1"}
        assert (await ask()).body == b"1"
        assert make.made == 1
        assert (await asking(answers, make, busy=False)()).body == b"2"
        assert (await ask()).body == b"2"

    asyncio.run(run())


def test_while_an_answer_is_made_anew_the_one_of_before_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        answers, make = ToldAnswers(), Making()
        make.until.set()
        monkeypatch.setattr("service.told_answers.HOLDS_S", -1.0)
        ask = asking(answers, make, busy=True)
        await ask()
        await asyncio.sleep(0.05)
        make.until.clear()
        for _ in range(2):  # not even who has it made waits
            assert (await ask()).body == b"1"
        monkeypatch.setattr("service.told_answers.OLDEST_S", -1.0)
        waits = asyncio.create_task(ask())
        await asyncio.sleep(0)
        make.until.set()
        assert ((await waits).body, make.made) == (b"2", 2)

    asyncio.run(run())


def test_what_is_too_old_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        answers, make = ToldAnswers(), Making()
        make.until.set()
        ask = asking(answers, make, busy=True)
        monkeypatch.setattr("service.told_answers.HOLDS_S", -1.0)
        monkeypatch.setattr("service.told_answers.OLDEST_S", 0.02)
        await ask()
        await asyncio.sleep(0.05)  # an answer holds for as long as it took
        assert (await ask()).body == b"2"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "said"), [(Problem(503, "busy"), ""), (KeyError("x"), "an answer could not be made")]
)
def test_an_answer_that_cannot_be_made_beside_is_asked_for_by_who_comes_next(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> Response:
        raise error

    async def run() -> None:
        answers, make = ToldAnswers(), Making()
        make.until.set()
        monkeypatch.setattr("service.told_answers.HOLDS_S", -1.0)
        await asking(answers, make, busy=True)()
        await asyncio.sleep(0.05)
        assert (
            await answers.ask("GET /x", None, busy=lambda: True, make=fail)
        ).response.body == b"1"
        await asyncio.sleep(0.01)  # it is made, and what came of it is looked at
        assert caplog.text.count("an answer could not be made") == bool(said)
        monkeypatch.setattr("service.told_answers.OLDEST_S", -1.0)
        assert (await asking(answers, make, busy=True)()).body == b"2"

    asyncio.run(run())


def test_a_refusal_is_told_to_nobody_else() -> None:
    async def run() -> None:
        answers, make = ToldAnswers(), Making(503)
        make.until.set()
        ask = asking(answers, make, busy=True)
        first, second = await asyncio.gather(ask(), ask())
        assert {first.body, second.body} == {b"1", b"2"}
        assert (await ask()).body == b"3"

    asyncio.run(run())


def test_answers_that_are_kept_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setattr("service.told_answers.KEPT_OCTETS", 1.5 * BESIDE_OCTETS)
        answers, make = ToldAnswers(), Making()
        make.until.set()
        for key in ("a", "b"):
            await answers.ask(key, None, busy=lambda: False, make=make)
        assert [*answers._told] == ["b"]

    asyncio.run(run())
