"""Cut after cut of the partitions of a process, which stand in line for their turn.

Whoever is next in line looks for messages once more: what came while others were worked on is part
of the same cut, so a process that has much to do makes few large ones.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from pipeline.group_log import Step
from pipeline.group_part import Part

MOST_MESSAGES = 500
"""Messages of one cut."""
WAIT_S = 0.2
"""How long new messages are waited for at a time."""
MORE_S = 0.02
"""The same of those that came while the place stood in line."""


class Reader(Protocol):
    """What gives the messages of partitions."""

    async def records(self, partition: int, wait_s: float, most: int) -> list[Any]:
        """The next messages, maybe none."""

    async def seek(self, partition: int, offset: int | None) -> int:
        """Go on at an offset."""

    async def contained(self, records: Sequence[Any]) -> list[Any]:
        """What messages say."""


class Steps:
    """Reads, decides and works on cuts; `line` is where all places of the process stand."""

    def __init__(self, reader: Reader, line: asyncio.Lock, counts: Counter[str]) -> None:
        self.reader, self.line, self.counts = reader, line, counts
        self.emptied_s = 0.0
        """When a partition had no message last, by the monotonic clock."""

    async def step(
        self,
        partition: int,
        part: Part,
        leave: threading.Event,
        *,
        whole: bool,
        snapshot: bool,
    ) -> int:
        """The next cut, or the one that was decided; the octets of its messages."""
        records = await self.reader.records(partition, WAIT_S, MOST_MESSAGES)
        promised = part.promised[0] if part.promised else None
        if promised is not None:
            records = await self._promised(partition, promised, records, leave)
            if leave.is_set():
                return 0
        elif not records:
            self.emptied_s = time.monotonic()
            if whole:
                await asyncio.to_thread(lambda: part.settle(snapshot=snapshot))
            return 0
        async with self.line:
            if promised is None:
                left = MOST_MESSAGES - len(records)
                records += await self.reader.records(partition, MORE_S, left) if left > 0 else []
                first, last = int(part.position or 0), records[-1].offset
            else:
                first, last = promised.first, promised.last
            messages = await self._decided(part, records, first, last, whole=whole)
            begun = asyncio.Event()
            loop = asyncio.get_running_loop()
            mine = partial(loop.call_soon_threadsafe, begun.set)
            work = partial(part.work, first, last, messages, snapshot=snapshot, begun=mine)
            working = asyncio.create_task(asyncio.to_thread(work))
            waiting = asyncio.create_task(begun.wait())
            await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        await working
        self.counts["messages"] += len(records)
        return sum(len(record.message.value or b"") for record in records)

    async def _promised(
        self, partition: int, step: Step, records: list[Any], leave: threading.Event
    ) -> list[Any]:
        """The messages of a cut that was decided, all of them unless the partition is left."""
        while step.last >= step.first and (not records or records[-1].offset < step.last):
            records += await self.reader.records(partition, WAIT_S, MOST_MESSAGES)
            if leave.is_set():
                return records
        if records and records[-1].offset > step.last:
            await self.reader.seek(partition, step.last + 1)
            records = [record for record in records if record.offset <= step.last]
        return records

    async def _decided(
        self, part: Part, records: list[Any], first: int, last: int, *, whole: bool
    ) -> list[Any]:
        """What the messages of a cut say, once it is decided.

        To read them need not wait until then; a cut that may be decided is waited for.
        """
        deciding = asyncio.create_task(
            asyncio.to_thread(lambda: part.cut(first, last, whole=whole))
        )
        try:
            return list(await self.reader.contained(records))
        finally:
            await deciding
