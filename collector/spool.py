"""A spool in front of a bus: what waits is bounded, first in memory, then on disk.

Batches leave in the order in which they came. Those on disk outlive the process: the next one sends
them first, and readers drop what they have.
"""

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence

from collector.bus import Batch, Bus, BusError
from collector.spill import Spill

logger = logging.getLogger("hopsight.collector")


class Spool:
    """The bus behind `inner`, with at most `capacity` batches in memory and a `spill` on disk.

    A batch that has no room in either waits, and whoever publishes with it.
    """

    def __init__(self, inner: Bus, capacity: int, spill: Spill | None = None) -> None:
        """Send nothing before the first batch; a spill may hold some of an earlier life."""
        self.inner = inner
        self.capacity = capacity
        self.spill = spill
        self.counts: Counter[str] = Counter()
        """Batches and octets that went to disk, files that could not be read or written."""
        self._waiting: deque[Batch] = deque()
        self._handed: Batch | None = None
        """The batch that the bus has last; it has surely arrived when the next one is taken."""
        self._closed = False
        self._leaving = False
        self._worth = spill is not None and spill.count > 0
        """Whether frames are told of, by what was published or by what an earlier life left."""
        self._failed: BaseException | None = None
        self._changed = asyncio.Condition()
        self._sending: asyncio.Task[None] | None = None

    @property
    def fill(self) -> float:
        """Share of the room that is taken; 1: the next batch has to wait.

        Of a bus that has failed none is: whoever publishes hears of that, and waits for nothing.
        """
        if self._failed is not None:
            return 0.0
        if self.spill is not None and not self.spill.broken:
            return self.spill.fill
        return len(self._waiting) / self.capacity

    async def publish(self, batch: Batch) -> None:
        """See Bus."""
        async with self._changed:
            self._begin()
            while not await self._taken(batch):
                await self._changed.wait()

    async def offer(self, batch: Batch) -> bool:
        """Take a batch as `publish` does, if there is room now; whether there was."""
        async with self._changed:
            self._begin()
            return await self._taken(batch)

    async def leave(self) -> None:
        """Wait no more for a bus that never answered while no batch tells of any frame."""
        async with self._changed:
            self._leaving = True
            self._changed.notify_all()

    def __aiter__(self) -> AsyncIterator[Batch]:
        """See Bus."""
        return aiter(self.inner)

    async def more(self, batch: Batch, /) -> Sequence[Batch]:
        """See Bus."""
        return await self.inner.more(batch)

    async def close(self) -> None:
        """See Bus; what cannot be sent stays on disk."""
        async with self._changed:
            self._begin()
            self._closed = True
            self._changed.notify_all()
        if self._sending is not None:
            if self._in_vain():
                self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        try:
            await self.inner.close()
            if self._failed is None:
                self._handed = None
        finally:
            if self.spill is not None:
                await self._put_back(self.spill)
                self.spill.close()
        self._raise()

    async def _put_back(self, spill: Spill) -> None:
        """Put what was not sent on disk, before what is there: for the next process, in order."""
        left = (self._handed, *self._waiting)
        unsent = [batch for batch in left if batch is not None and batch.live]
        for batch in reversed(unsent):
            try:
                octets = await asyncio.to_thread(spill.put_back, batch)
            except OSError as error:
                self.counts["spill_failed"] += 1
                logger.warning("%s takes nothing more: %s", spill.directory, error.strerror)
                return
            self.counts["spilled_batches"] += 1
            self.counts["spilled_octets"] += octets

    def _begin(self) -> None:
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    def _raise(self) -> None:
        if self._failed is not None:
            raise self._failed
        if self._closed and self._sending is None:
            raise BusError("the bus is closed, nothing more can be published")

    def _has_room(self) -> bool:
        """Whether a batch may go into memory: behind those on disk it may not."""
        behind = self.spill is not None and self.spill.count > 0
        free = not behind and len(self._waiting) < self.capacity
        return free or self._failed is not None or self._in_vain()

    async def _taken(self, batch: Batch) -> bool:
        """Take a batch into memory or onto the disk; False: neither has room."""
        self._worth |= told_of_frames(batch)
        if self._has_room():
            self._raise()
            self._waiting.append(batch)
        elif not await self._spilled(batch):
            return False
        self._changed.notify_all()
        return True

    def _in_vain(self) -> bool:
        """Whether nobody would miss what waits. A bus in this process is always reached."""
        return self._leaving and not self._worth and not getattr(self.inner, "reached", True)

    async def _spilled(self, batch: Batch) -> bool:
        """Put a batch of a live source on disk, if there is room; a file has its frames there."""
        if self.spill is None or self.spill.fill >= 1 or batch.reached_ns is None:
            return False
        try:
            octets = await asyncio.to_thread(self.spill.put, batch)
        except OSError as error:
            self.counts["spill_failed"] += 1
            if not self.spill.broken:
                logger.warning("%s takes nothing more: %s", self.spill.directory, error.strerror)
            self.spill.broken = True
            return False
        self.spill.broken = False
        self.counts["spilled_batches"] += 1
        self.counts["spilled_octets"] += octets
        return True

    async def _send(self) -> None:
        """Hand batches on until closed and empty, the oldest first."""
        try:
            # What waits here came before what this process put on disk.
            if self.spill is not None and not self._waiting:
                await self._unspill()
            while (batch := await self._next()) is not None:
                await self.inner.publish(batch)
                async with self._changed:
                    self._handed = self._waiting.popleft()
                    self._changed.notify_all()
                if self.spill is not None and not self._waiting:
                    await self._unspill()
        except Exception as error:  # noqa: BLE001 - whoever publishes hears it
            self._failed = error
            async with self._changed:
                self._changed.notify_all()

    async def _next(self) -> Batch | None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or bool(self._waiting))
            return self._waiting[0] if self._waiting else None

    async def _unspill(self) -> None:
        """Send what is on disk until nothing is."""
        assert self.spill is not None
        while self.spill.count:
            batch = await asyncio.to_thread(self.spill.oldest)
            if batch is None:
                self.counts["spill_damaged"] += 1
            else:
                await self.inner.publish(batch)
                self._handed = batch
            async with self._changed:
                with contextlib.suppress(OSError):
                    self.spill.drop()
                self._changed.notify_all()


def told_of_frames(batch: Batch) -> bool:
    """Whether a batch tells of frames that came or were lost, and not only of time that passed."""
    return batch.last > 0 or any(loss.frames for loss in batch.losses)
