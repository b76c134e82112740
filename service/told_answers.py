"""Answers about the latest that many ask for again and again: told to all of them for a moment.

While the store has a turn to give, every answer is made anew. When it has none, whoever asks what
was answered within the last `HOLDS_S` hears that answer, and who asks what is being answered just
now waits for it: however many poll, the store is asked the same once in that time.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import Response

HOLDS_S = 1.0
KEPT_OCTETS = 64 << 20
"""Size of all answers that are kept, the oldest giving way."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, and when it was begun."""

    begun_s: float
    response: Response


class ToldAnswers:
    """The latest answers by request."""

    def __init__(self) -> None:
        self._told: dict[str, Told] = {}
        self._making: dict[str, asyncio.Future[Told | None]] = {}

    async def ask(
        self, key: str, *, busy: Callable[[], bool], make: Callable[[], Awaitable[Response]]
    ) -> Response:
        """The answer to the request `key`: one of a moment ago, or what `make` gives."""
        begun_s = time.monotonic()
        if busy():
            told = self._told.get(key)
            if told is None or begun_s - told.begun_s > HOLDS_S:
                making = self._making.get(key)
                told = await asyncio.shield(making) if making is not None else None
            if told is not None:
                return told.response
        return await self._made(key, begun_s, make)

    async def _made(
        self, key: str, begun_s: float, make: Callable[[], Awaitable[Response]]
    ) -> Response:
        """A new answer, which those hear who ask meanwhile; one that failed they ask themselves."""
        making: asyncio.Future[Told | None] = asyncio.get_running_loop().create_future()
        self._making.setdefault(key, making)
        told = None
        try:
            response = await make()
            if response.status_code == HTTPStatus.OK:
                told = Told(begun_s, response)
                self._keep(key, told)
            return response
        finally:
            making.set_result(told)
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
