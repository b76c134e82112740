"""Turns at the store: so many questions at once, the rest queue, and nobody queues in vain."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio import CapacityLimiter

from pipeline import StoreBusy

MEMORY = 1 / 16
"""Weight of the newest question in how long questions take."""


class Turns:
    """`count` questions at once; who would wait for more than `wait_s` is told so.

    By how long questions took of late it is known how long the queue will take. Whoever would get a
    turn only after half of `wait_s` is sent away at once: an answer that comes too late has cost as
    much as one in time.
    """

    def __init__(self, count: int, wait_s: float) -> None:
        self.wait_s = wait_s
        self._limiter = CapacityLimiter(count)
        self._takes_s = 0.0

    @property
    def all_taken(self) -> bool:
        """Whether a question would have to wait."""
        return self._limiter.available_tokens < 1

    @property
    def ahead_s(self) -> float:
        """How long somebody who comes now waits, about, seconds."""
        if not self.all_taken:
            return 0.0
        waiting = self._limiter.statistics().tasks_waiting
        return (waiting + 1) * self._takes_s / self._limiter.total_tokens

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A turn. Raises StoreBusy where there is none in time."""
        turn = object()
        if self.ahead_s > self.wait_s / 2:
            raise StoreBusy(f"the store is busy: the queue takes more than {self.wait_s / 2:g} s")
        try:
            with anyio.fail_after(self.wait_s):
                await self._limiter.acquire_on_behalf_of(turn)
        except TimeoutError:
            raise StoreBusy(f"the store is busy: no turn in {self.wait_s:g} s") from None
        begun_s = time.perf_counter()
        try:
            yield
        finally:
            self._limiter.release_on_behalf_of(turn)
            self._takes_s += MEMORY * (time.perf_counter() - begun_s - self._takes_s)
