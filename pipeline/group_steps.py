"""Cut after cut of the partitions of a process, which stand in line for their turn.

Whoever is next in line looks for messages once more: what came while others were worked on is part
of the same cut, so a process that has much to do makes few large ones.
"""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from pipeline.desk import Taken
from pipeline.group_log import Step
from pipeline.group_part import Part

MOST_MESSAGES = 500
"""Messages of one cut."""
WAIT_S = 0.2
"""How long new messages are waited for at a time."""
IDLE_S = 30.0
"""How long nothing may come of a place until its sources are not waited for: their collector may be
gone, and they hold back what other sources brought."""
MOST_NAMED = 5
"""Such sources that are named."""
MORE_S, NEWEST_S = 0.02, 0.06
"""The same of those that came while the place stood in line, and how long they are asked for: the
client has those that came right behind the last ones, and asks for the rest when it has been
emptied."""


logger = logging.getLogger("hopsight.pipeline")


class Reader(Protocol):
    """What gives the messages of partitions."""

    async def records(
        self, partition: int, wait_s: float, most: int, newest_s: float = ...
    ) -> list[Any]:
        """The next messages, maybe none."""

    async def seek(self, partition: int, offset: int | None) -> int:
        """Go on at an offset."""

    def answers(self, partition: int) -> bool:
        """Whether it is known that a partition has no more messages than came."""

    async def contained(self, records: Sequence[Any]) -> list[Any]:
        """What messages say."""


class Line:
    """Where all places of a process stand: who is `first` prepares, and the one before works."""

    def __init__(self) -> None:
        self.first = asyncio.Lock()
        self.working: set[asyncio.Task[Taken]] = set()
        """What is worked on and not handed on yet."""

    async def rests(self) -> None:
        """Returns when all that is worked on is handed on."""
        if self.working:
            await asyncio.wait(self.working)


class Steps:
    """Reads, decides and works on cuts.

    Who `hears` what other places hand on waits for the one whose turn it is, or it would hear of
    that a whole round later.
    """

    def __init__(
        self, reader: Reader, line: Line, counts: Counter[str], *, hears: bool = False
    ) -> None:
        self.reader, self.line, self.counts, self.hears = reader, line, counts, hears
        self.emptied_s = 0.0
        """When a partition had no message last, by the monotonic clock."""
        self._heard: dict[int, tuple[Part, float]] = {}
        """When a partition had a message last, in whose hands."""

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
            if self._silence(partition, part) > IDLE_S and part.silent:
                await self._given_up(part)
            elif whole:
                await asyncio.to_thread(lambda: part.settle(snapshot=snapshot))
            return 0
        self._heard[partition] = part, time.monotonic()
        async with self.line.first:
            if promised is None:
                if self.hears:
                    await self.line.rests()
                left = max(MOST_MESSAGES - len(records), 1)
                records += await self.reader.records(partition, MORE_S, left, NEWEST_S)
                first, last = int(part.position or 0), records[-1].offset
            else:
                first, last = promised.first, promised.last
            messages = await self.reader.contained(records)
            # Nothing leaves the process before the cut is decided, so it is decided meanwhile.
            deciding = asyncio.create_task(
                asyncio.to_thread(partial(part.cut, first, last, whole=whole))
            )
            taking = await begun(part, messages)
            passing = asyncio.create_task(passed_on(part, first, last, taking, deciding))
            self.line.working.add(passing)
            passing.add_done_callback(self.line.working.discard)
        taken = await passing
        await asyncio.to_thread(partial(part.keep, first, last, taken, snapshot=snapshot))
        self.counts["messages"] += len(records)
        return octets_of(records)

    def _silence(self, partition: int, part: Part) -> float:
        """Seconds since a partition had a message, or came into these hands.

        While the broker does not answer nobody is silent: who would speak cannot.
        """
        whose, heard_s = self._heard.get(partition, (None, 0.0))
        if whose is not part or not self.reader.answers(partition):
            heard_s = time.monotonic()
            self._heard[partition] = part, heard_s
        return time.monotonic() - heard_s

    async def _given_up(self, part: Part) -> None:
        """Wait no more for sources that have not ended."""
        names = part.silent
        told = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
        logger.info("%s: nothing came for %g s; not waited for: %s", part.place, IDLE_S, told)
        await asyncio.to_thread(part.idle)

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


def octets_of(records: Sequence[Any]) -> int:
    """What the messages of records hold."""
    return sum(len(record.message.value or b"") for record in records)


async def passed_on(
    part: Part, first: int, last: int, taking: "asyncio.Task[Taken]", deciding: "asyncio.Task[None]"
) -> Taken:
    """What came of messages, handed on where it is judged elsewhere, once the cut is decided."""
    try:
        taken = await taking
    finally:
        await deciding
    await asyncio.to_thread(part.pass_on, first, last, taken)
    return taken


async def begun(part: Part, messages: list[Any]) -> "asyncio.Task[Taken]":
    """What takes messages, once it is the place's turn."""
    mine, loop = asyncio.Event(), asyncio.get_running_loop()
    tell = partial(loop.call_soon_threadsafe, mine.set)
    taking = asyncio.create_task(asyncio.to_thread(part.take, messages, tell))
    waiting = asyncio.create_task(mine.wait())
    await asyncio.wait({taking, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    return taking
