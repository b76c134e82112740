"""The bus: observations on their way from the collector to the pipeline.

A bus carries batches, never single rows. It is bounded; when the reader falls behind, `publish`
waits. What does not want to wait looks at `fill` before (`shed`). Every batch says which frames of
which source it covers, so that a reader can tell a repeat from news, and nothing rests on a broker
removing duplicates.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

import polars as pl


class BusError(Exception):
    """A bus cannot be opened or used; the text is one sentence for the user."""


class MessagesGone(BusError):  # noqa: N818 - what a broker has done
    """Messages were deleted before they were read; `begin` is the first that is left."""

    def __init__(self, sentence: str, begin: int) -> None:
        """The sentence says whose messages."""
        super().__init__(sentence)
        self.begin = begin


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Observations of one source, in the order in which its frames were captured.

    - `frame`: rows of the observation table; a column that is null in all rows may be left out;
    - `source`: the capture or the device that the frames came from;
    - `epoch`: counts restarts of the source, whose frame numbers begin anew each time;
    - `first`, `last`: numbers of the first and the last frame covered. Within (source, epoch) they
      only grow, so a batch whose `last` was seen before is a repeat;
    - `ended`: the source brings nothing more; such a batch has no rows;
    - `reached_ns`: a live source's time up to which all its frames have come; a batch that says
      this alone has no rows either;
    - `offset`: the number of the message that it came in, where a broker numbers them.
    """

    frame: pl.DataFrame
    source: str
    epoch: int
    first: int
    last: int
    ended: bool = False
    reached_ns: int | None = None
    offset: int | None = None

    @property
    def quiet(self) -> bool:
        """Whether it only says how far the source has come."""
        return self.reached_ns is not None and not self.ended and self.frame.is_empty()


class Bus(Protocol):
    """Batches in at one end, out at the other; each batch reaches one reader."""

    async def publish(self, batch: Batch) -> None:
        """Hand over `batch`; waits while the bus is full. Raises BusError once it is closed."""

    def __aiter__(self) -> AsyncIterator[Batch]:
        """Batches in order of publication within a conversation, until closed and drained."""

    @property
    def fill(self) -> float:
        """Share of the room that is taken; 1: the next batch has to wait."""

    async def close(self) -> None:
        """Publish nothing more; readers are given what is still there, then their loop ends."""


class MemoryBus:
    """A bus inside one process: at most `capacity` batches wait to be read."""

    def __init__(self, capacity: int = 16) -> None:
        self.capacity = capacity
        self._waiting: deque[Batch] = deque()
        self._closed = False
        self._changed = asyncio.Condition()

    @property
    def fill(self) -> float:
        """See Bus."""
        return len(self._waiting) / self.capacity

    async def publish(self, batch: Batch) -> None:
        """See Bus."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or len(self._waiting) < self.capacity)
            if self._closed:
                raise BusError("the bus is closed, nothing more can be published")
            self._waiting.append(batch)
            self._changed.notify_all()

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """See Bus."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._closed or bool(self._waiting))
                if not self._waiting:
                    return
                batch = self._waiting.popleft()
                self._changed.notify_all()
            yield batch

    async def close(self) -> None:
        """See Bus."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()
