"""Answers about the latest that many ask for again and again, told to all of them.

While nothing is stored, an answer holds, and is made once. After that, while the store has a turn
to give, it is made anew. When there is none, an answer holds for `HOLDS_S`, or for as long as it
took, if that is more. Who comes later makes it anew; those who come meanwhile hear the one of
before, until it is `OLDEST_S` old, then they wait. So however many poll, the store is asked the
same once in that time, and has as much time for others.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import Response

HOLDS_S = 1.0
"""Least time for which an answer is told again while the store is busy."""
OLDEST_S = 5.0
"""Age of an answer that is told while the next one is made."""
KEPT_OCTETS = 64 << 20
"""Size of all answers that are kept, the oldest giving way."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, when it was begun, and the state of the store then; None: it is not known.

    While the store is busy it holds until `holds_until_s`.
    """

    begun_s: float
    holds_until_s: float
    revision: int | None
    response: Response


@dataclass(frozen=True, slots=True)
class Making:
    """An answer on its way; None comes of one that failed."""

    revision: int | None
    told: asyncio.Future[Told | None]


class ToldAnswers:
    """The latest answers by request."""

    def __init__(self) -> None:
        self._told: dict[str, Told] = {}
        self._making: dict[str, Making] = {}

    async def ask(
        self,
        key: str,
        revision: int | None,
        *,
        busy: Callable[[], bool],
        make: Callable[[], Awaitable[Response]],
    ) -> Told:
        """The answer to the request `key`: one that holds, one of a moment ago, or a new one.

        `revision` tells states of the store apart; None: it is not known.
        """
        begun_s, much = time.monotonic(), busy()
        told, making = self._told.get(key), self._making.get(key)
        same = revision is not None
        if told is not None:
            until_s = told.holds_until_s if making is None else told.begun_s + OLDEST_S
            if (much and begun_s < until_s) or (same and told.revision == revision):
                return told
        told = None
        if making is not None and (much or (same and making.revision == revision)):
            told = await asyncio.shield(making.told)
        return told or await self._made(key, begun_s, revision, make)

    async def _made(
        self,
        key: str,
        begun_s: float,
        revision: int | None,
        make: Callable[[], Awaitable[Response]],
    ) -> Told:
        """A new answer, which those hear who ask meanwhile; one that failed they ask themselves."""
        making = Making(revision, asyncio.get_running_loop().create_future())
        self._making.setdefault(key, making)
        told = None
        try:
            response, ended_s = await make(), time.monotonic()
            rest_s = max(HOLDS_S, ended_s - begun_s)
            made = Told(begun_s, ended_s + rest_s, revision, response)
            if made.response.status_code == HTTPStatus.OK:
                told = made
                self._keep(key, told)
            return made
        finally:
            making.told.set_result(told)
            if self._making.get(key) is making:
                del self._making[key]

    def _keep(self, key: str, told: Told) -> None:
        self._told.pop(key, None)
        self._told[key] = told
        octets = sum(len(each.response.body) for each in self._told.values())
        for old in [*self._told]:
            if octets <= KEPT_OCTETS:
                return
            octets -= len(self._told.pop(old).response.body)
