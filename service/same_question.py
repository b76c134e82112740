"""Questions that several ask at once: the store answers one of them, and all hear that answer."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Flight:
    """A question on its way: what the store held when it began, and the answer to come."""

    revision: int | None
    answer: asyncio.Future[Any]


class Shared:
    """Of equal questions one is on its way at a time.

    An answer is never older than the question: who asks while something was stored since the one on
    its way began waits for the next one, with all who wait for that.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, Flight] = {}

    async def ask(
        self, key: Hashable, revision: int | None, ask: Callable[[], Awaitable[Any]]
    ) -> tuple[Any, bool]:
        """The answer to the question `key`, and whether somebody else had asked it already.

        `revision` tells states of the store apart; None: it is not known. Raises what `ask` raises.
        """
        flight = self._flights.get(key)
        if flight is not None and (revision is None or flight.revision != revision):
            await asyncio.wait([flight.answer])
            flight = self._flights.get(key)
        if flight is not None:
            await asyncio.wait([flight.answer])
            if not flight.answer.cancelled():
                return flight.answer.result(), True
        return await self._lead(key, revision, ask), False

    async def _lead(
        self, key: Hashable, revision: int | None, ask: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Ask, for everybody who comes meanwhile; who goes away leaves them to ask anew."""
        flight = Flight(revision, asyncio.get_running_loop().create_future())
        self._flights[key] = flight
        try:
            answer = await ask()
        except Exception as error:
            flight.answer.set_exception(error)
            flight.answer.exception()  # heard, also where nobody else asked
            raise
        else:
            flight.answer.set_result(answer)
            return answer
        finally:
            flight.answer.cancel()  # nothing once it is answered
            if self._flights.get(key) is flight:
                del self._flights[key]
