"""A spool in front of a bus: what waits is bounded, first in memory, then on disk.

Batches leave in the order in which they came. Those on disk outlive the process: the next one sends
them first, and readers drop what they have. What is on disk of the life of a source has no hole: it
begins with the oldest batch that has not arrived, whose losses tell the time before, so that what a
killed process had in memory alone is the newest, and lies in the gap until the next life.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collector.bus import Batch, Bus, BusError, begun_ns
from collector.loss import Loss
from collector.spill import Spill

logger = logging.getLogger("hopsight.collector")


@dataclass(slots=True)
class Waiting:
    """A batch that has not arrived: in memory, in a file, or both."""

    batch: Batch | None
    file: Path | None = None


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
        left = spill.sizes if spill is not None else ()
        self._waiting = deque(Waiting(None, file) for file in left)
        self._handed: Waiting | None = None
        """The batch that the bus has last; it has surely arrived when the next one is taken."""
        self._closed = False
        self._leaving = False
        self._worth = bool(left)
        """Whether frames are told of, by what was published or by what an earlier life left."""
        self._elsewhere = hasattr(inner, "reached")
        """Whether readers are in other processes, and drop what comes again. Readers in this one
        would store it twice; what they had not stored is gone with it, and told as a gap."""
        self._surely: set[str] | None = set() if left and not self._elsewhere else None
        """Sources that brought a batch since one may have been lost on the way; None: none may."""
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
        return 1.0 if self._behind else len(self._waiting) / self.capacity

    @property
    def _behind(self) -> bool:
        """Whether what waits last is on disk alone: whatever comes next waits behind it."""
        return bool(self._waiting) and self._waiting[-1].batch is None

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
                self._arrived()
        finally:
            await asyncio.to_thread(self.keep)
            if self.spill is not None:
                self.spill.close()
        self._raise()

    def keep(self) -> None:
        """Put all on disk that has not arrived, for the next process: this one ends."""
        self._kept(bounded=False)

    def _kept(self, *, bounded: bool) -> bool:
        """Whether what has not arrived is on disk, in order, as far as it is of live sources.

        What is there already lies before the rest. `bounded`: there has to be room for it.
        """
        if self.spill is None:
            return False
        for each in (self._handed, *self._waiting):
            if each is None or each.file is not None or each.batch is None or not each.batch.live:
                continue
            if bounded and self.spill.fill >= 1:
                return False
            each.file = self._put(self.spill, each.batch)
            if each.file is None:
                return False
        return True

    def _put(self, spill: Spill, batch: Batch) -> Path | None:
        """The file that a batch was put into; None: the disk takes none."""
        try:
            file = spill.put(batch)
        except OSError as error:
            known, spill.broken = spill.broken, True  # before it is counted: `fill` asks for it
            self.counts["spill_failed"] += 1
            if not known:
                logger.warning("%s takes nothing more: %s", spill.directory, error.strerror)
            return None
        spill.broken = False
        self.counts["spilled_batches"] += 1
        self.counts["spilled_octets"] += spill.sizes[file]
        return file

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
        free = not self._behind and len(self._waiting) < self.capacity
        return free or self._failed is not None or self._in_vain()

    async def _taken(self, batch: Batch) -> bool:
        """Take a batch into memory or onto the disk; False: neither has room."""
        self._worth |= told_of_frames(batch)
        if self._has_room():
            self._raise()
            self._waiting.append(Waiting(batch))
        elif not await self._spilled(batch):
            return False
        self._changed.notify_all()
        return True

    def _in_vain(self) -> bool:
        """Whether nobody would miss what waits. A bus in this process is always reached."""
        return self._leaving and not self._worth and not getattr(self.inner, "reached", True)

    async def _spilled(self, batch: Batch) -> bool:
        """Put a batch of a live source on disk, if there is room; a file has its frames there.

        What waits in memory goes there first: it would be gone with the process, this would not.
        """
        spill = self.spill
        if spill is None or batch.reached_ns is None:
            return False
        if not await asyncio.to_thread(self._kept, bounded=True) or spill.fill >= 1:
            return False
        file = await asyncio.to_thread(self._put, spill, batch)
        if file is not None:
            self._waiting.append(Waiting(None, file))
        return file is not None

    async def _send(self) -> None:
        """Hand batches on until closed and empty, the oldest first."""
        try:
            while (next_one := await self._next()) is not None:
                batch = await self._read(next_one)
                if batch is not None:
                    await self.inner.publish(batch)
                async with self._changed:
                    self._gone_on(sent=batch is not None)
                    self._changed.notify_all()
        except Exception as error:  # noqa: BLE001 - whoever publishes hears it
            self._failed = error
            async with self._changed:
                self._changed.notify_all()

    async def _next(self) -> Waiting | None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or bool(self._waiting))
            return self._waiting[0] if self._waiting else None

    async def _read(self, waiting: Waiting) -> Batch | None:
        """What is to be sent; None: its file cannot be read."""
        batch = waiting.batch
        if batch is None and waiting.file is not None and self.spill is not None:
            batch = await asyncio.to_thread(self._opened, self.spill, waiting)
        sources = self._surely
        if batch is None or not batch.live or sources is None or batch.source in sources:
            return batch
        sources.add(batch.source)
        return replace(batch, losses=(Loss(None, begun_ns(batch)), *batch.losses))

    def _opened(self, spill: Spill, waiting: Waiting) -> Batch | None:
        """The batch of a file; one that cannot be read now is left to the next process."""
        assert waiting.file is not None
        try:
            return spill.read(waiting.file)
        except OSError as error:
            self.counts["spill_failed"] += 1
            logger.warning("%s stays: %s", waiting.file, error.strerror)
            waiting.file = None
            return None

    def _gone_on(self, *, sent: bool) -> None:
        """Go past the batch that waited longest: the bus has it, or nobody can read it."""
        one = self._waiting[0]
        if sent:
            self._arrived()
            self._handed = one  # before it goes: `keep` may be called at any time
            if not self._elsewhere:
                self._arrived()
        else:
            self.counts["spill_damaged"] += one.file is not None
            self._forget(one)
            self._surely = set()
        self._waiting.popleft()

    def _arrived(self) -> None:
        """Forget the batch that the bus had last."""
        if self._handed is not None:
            self._forget(self._handed)
        self._handed = None

    def _forget(self, one: Waiting) -> None:
        """Leave no file of a batch."""
        if one.file is not None and self.spill is not None:
            self.spill.drop(one.file)


def told_of_frames(batch: Batch) -> bool:
    """Whether a batch tells of frames that came or were lost, and not only of time that passed."""
    return batch.last > 0 or any(loss.frames for loss in batch.losses)
