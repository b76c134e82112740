"""Answers about the latest that many ask for again and again, told to all of them.

While nothing is stored, an answer holds, and is made once. After that, while the store has a turn
to give, it is made anew. When there is none, an answer holds for `HOLDS_S`, or for as long as it
took, if that is more. Who comes later has it made anew; they and those who come meanwhile hear the
one of before, until it is `OLDEST_S` old, then they wait. So however many poll, the store is asked
the same once in that time, and has as much time for others.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import Response

from service.problem import Problem

HOLDS_S = 1.0
"""Least time for which an answer is told again while the store is busy."""
OLDEST_S = 5.0
"""Age of an answer that is told while the next one is made."""
KEPT_OCTETS = 64 << 20
"""Size of all answers that are kept, the oldest giving way."""
BESIDE_OCTETS = 2048
"""What an answer takes beside its key and its body."""
KEPT_S = 60.0
"""Age up to which an answer holds where nothing is stored: rows that are too old go unasked."""
logger = logging.getLogger("hopsight.service")


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, when it was begun, and the state of the store then; None: it is not known.

    While the store is busy it holds until `holds_until_s`. `route` is what it was asked by.
    """

    begun_s: float
    holds_until_s: float
    revision: int | None
    response: Response
    route: object


@dataclass(frozen=True, slots=True)
class Making:
    """An answer on its way; None comes of one that failed."""

    revision: int | None
    told: asyncio.Future[Told | None]


class ToldAnswers:
    """The latest answers by request."""

    def __init__(self) -> None:
        self._told: dict[str, Told] = {}
        self._octets = 0
        self._making: dict[str, Making] = {}
        self._beside: set[asyncio.Task[Told]] = set()

    def held(self, key: str, revision: int | None, *, busy: Callable[[], bool]) -> Told | None:
        """The answer to the request `key` that holds, or one of a moment ago, if there is one.

        `revision` tells states of the store apart; None: it is not known.
        """
        if (told := self._told.get(key)) is None:
            return None
        now_s = time.monotonic()
        if revision is not None and told.revision == revision and now_s < told.begun_s + KEPT_S:
            return told
        until_s = told.begun_s + OLDEST_S if key in self._making else told.holds_until_s
        return told if now_s < until_s and busy() else None

    async def ask(
        self,
        key: str,
        revision: int | None,
        *,
        busy: Callable[[], bool],
        make: Callable[[], Awaitable[Response]],
        route: object = None,
    ) -> Told:
        """The answer to the request `key`: one that is held, or a new one."""
        if (told := self.held(key, revision, busy=busy)) is not None:
            return told
        begun_s, much = time.monotonic(), busy()
        old = self._told.get(key)
        if much and old is not None and begun_s < old.begun_s + OLDEST_S:
            self._make_beside(self._made(key, self._begun(key, revision), begun_s, make, route))
            return old
        making, same = self._making.get(key), revision is not None
        if making is not None and (much or (same and making.revision == revision)):
            told = await asyncio.shield(making.told)
        return told or await self._made(key, self._begun(key, revision), begun_s, make, route)

    def _begun(self, key: str, revision: int | None) -> Making:
        """An answer that is made from now on; who asks meanwhile hears of the first of its kind."""
        making = Making(revision, asyncio.get_running_loop().create_future())
        self._making.setdefault(key, making)
        return making

    async def _made(
        self,
        key: str,
        making: Making,
        begun_s: float,
        make: Callable[[], Awaitable[Response]],
        route: object,
    ) -> Told:
        """A new answer, which those hear who ask meanwhile; one that failed they ask themselves."""
        told = None
        try:
            response, ended_s = await make(), time.monotonic()
            rest_s = max(HOLDS_S, ended_s - begun_s)
            made = Told(begun_s, ended_s + rest_s, making.revision, response, route)
            if made.response.status_code == HTTPStatus.OK:
                told = made
                self._keep(key, told)
            return made
        finally:
            making.told.set_result(told)
            if self._making.get(key) is making:
                del self._making[key]

    def _make_beside(self, making: Coroutine[Any, Any, Told]) -> None:
        """Make an answer that nobody waits for yet."""
        task = asyncio.create_task(making)
        self._beside.add(task)  # or it might be thrown away before its end
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Told]") -> None:
        """Who asks next hears by themselves of a refusal; any other failure is logged."""
        self._beside.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Problem):
            logger.error("an answer could not be made", exc_info=error)

    def _keep(self, key: str, told: Told) -> None:
        self._forget(key)
        self._told[key] = told  # behind all others
        self._octets += size(key, told)
        while self._octets > KEPT_OCTETS:
            self._forget(next(iter(self._told)))

    def _forget(self, key: str) -> None:
        if (old := self._told.pop(key, None)) is not None:
            self._octets -= size(key, old)


def size(key: str, told: Told) -> int:
    """Octets that an answer takes, about."""
    return len(key) + len(told.response.body) + BESIDE_OCTETS
