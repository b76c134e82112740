"""Turns at the store: so many questions at once, the rest queue, and nobody queues in vain."""

import asyncio
import heapq
import itertools
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pipeline import StoreBusy

MEMORY = 1 / 16
"""Weight of the newest question in how long questions take."""
IN_TIME = 0.5
"""Share of the longest wait in which whoever waits hears an answer, as far as can be known."""
MOST_LATER_S = 10
"""After how long whoever is sent away comes again at the latest."""
NUMBERS = itertools.count()


@dataclass
class Place:
    """The place in the queue of a request, for all of its questions."""

    number: int
    begun: bool = False
    """Whether one of them had a turn: what was begun is finished, or it was done in vain."""


ARRIVED: ContextVar[Place | None] = ContextVar("ARRIVED", default=None)


def arrive() -> Place:
    """Give the request that begins here its place, behind all others."""
    ARRIVED.set(place := Place(next(NUMBERS)))
    return place


class Turns:
    """`count` questions at once; who would wait for more than `wait_s` is told so.

    First comes who came first, by request: what a request still has to ask goes before those that
    came later, so that it waits once and not for each of its questions. By how long questions took
    of late it is known how long the queue will take. Whoever would wait behind others and have no
    answer in half of `wait_s` is sent away at once: an answer that comes too late has cost as
    much as one in time. Who is next waits, and what a request has begun is waited for however long
    it takes: a page asks several questions at once, and where they are slow it would never be
    answered else. Each is told to come again when those who were sent away before them may have
    been answered (Retry-After, RFC 9110, 10.2.3): who is told the same second as all others comes
    in vain again, and to hear so takes the time that answers are made of.
    """

    def __init__(self, count: int, wait_s: float) -> None:
        self.wait_s = wait_s
        self.count = self._free = count
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._takes_s = 0.0
        self._back_s = 0.0
        """When all who were sent away will have been answered, if each comes again in turn."""

    @property
    def all_taken(self) -> bool:
        """Whether a question would have to wait."""
        return self._free < 1

    @property
    def taken(self) -> int:
        """Turns that somebody has."""
        return self.count - self._free

    def ahead_s(self, place: int) -> float:
        """How long the request of a place waits from now on, about, seconds."""
        if not self.all_taken:
            return 0.0
        waiting = sum(each < place and not turn.done() for each, _, turn in self._waiting)
        return (waiting + 1) * self._takes_s / self.count

    def look(self) -> Place:
        """The place of the request that is answered here; StoreBusy where it would wait in vain."""
        place = ARRIVED.get()
        place = arrive() if place is None else place
        ahead_s = self.ahead_s(place.number)
        next_s = self._takes_s / self.count  # what who is next waits
        late = ahead_s > min(next_s, self.wait_s)
        if late and not place.begun and ahead_s + self._takes_s > IN_TIME * self.wait_s:
            raise self._away(f"an answer takes {ahead_s + self._takes_s:.1f} s")
        return place

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A turn. Raises StoreBusy where there is none in time."""
        place = self.look()
        await self._take(place)
        place.begun = True
        begun_s = time.perf_counter()
        try:
            yield
        finally:
            self._give()
            self._takes_s += MEMORY * (time.perf_counter() - begun_s - self._takes_s)

    async def _take(self, place: Place) -> None:
        """Wait for a turn that is free, or given by who had it."""
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (place.number, next(NUMBERS), turn))
        try:
            await asyncio.wait([turn], timeout=self.wait_s)
            if place.begun:
                await asyncio.wait([turn])
        except asyncio.CancelledError:
            if not turn.cancel():
                self._give()
            raise
        if turn.cancel():
            raise self._away(f"no turn in {self.wait_s:g} s")

    def _away(self, why: str) -> StoreBusy:
        """What whoever is sent away hears."""
        now_s = time.perf_counter()
        back_s = max(self._back_s, now_s) + self._takes_s / self.count
        self._back_s = min(back_s, now_s + MOST_LATER_S)
        return StoreBusy(f"the store is busy: {why}", max(math.ceil(self._back_s - now_s), 1))

    def _give(self) -> None:
        """Pass a turn on to who came first of those who still wait."""
        while self._waiting:
            *_, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
