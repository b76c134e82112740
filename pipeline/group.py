"""A worker of a group: the partitions that it has, each served by a task of its own.

A partition with much to do does not hold up the others: they take turns at the processor, and each
has its own reader, state and inserts.
"""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from collector import (
    OBSERVATIONS,
    BusError,
    BusRefused,
    BusSettings,
    Contents,
    MessagesGone,
    open_group,
)
from pipeline.again import PASSING, again
from pipeline.group_part import HandOn, Part
from pipeline.group_steps import WAIT_S, Line, Steps
from pipeline.meeting import Meeting
from pipeline.renewal import renewed
from pipeline.settings import PipelineSettings
from pipeline.settling import Settling
from pipeline.store import Store
from pipeline.store_error import Fenced, StoreError
from pipeline.storing import told_of
from pipeline.versions import Versions
from pipeline.worker import Worker

SMALL = 1 << 20
"""Octets of a cut up to which a partition is not behind, and may wait for more."""
SETTLE_S, SEVERAL_SETTLE_S = 2.0, 4.0
"""How long rows that nobody waits for may wait for those of later cuts, of a partition alone and of
several, whose inserts take as long each for fewer rows."""
MOST_THREADS = 64
"""Partitions that may wait for the store at once; they take turns at the processor anyway."""
logger = logging.getLogger("hopsight.pipeline")


class Group:
    """Serves partitions until `stop` is set; what was begun is finished and state is kept then.

    `worker` makes a worker with empty state, or a meeting where `contents` are what others hand on;
    what is not `judged` is stored and nothing else. Of several partitions each hands on what is to
    be judged, to what `hand_on` gives for (partition, partitions).
    Raises StoreError or BusError when going on makes no sense: the store refuses rows, or messages
    are gone.
    """

    def __init__(
        self,
        url: str,
        settings: BusSettings,
        store: Store,
        worker: Callable[[], Worker | Meeting],
        *,
        judged: bool = True,
        contents: Contents = OBSERVATIONS,
        hand_on: Callable[[int, int], HandOn] | None = None,
        line: Line | None = None,
    ) -> None:
        """Connect nothing yet; `line` is for groups of one process, whose places take turns.

        Raises BusError for an address that is not understood.
        """
        self.settings = settings
        self.store = store
        self.worker = worker
        self.judged = judged
        self.hand_on = hand_on
        self.reader = open_group(url, settings, self._taken, self._left, contents)
        self.stop = asyncio.Event()
        self.counts: Counter[str] = Counter()
        hears = contents is not OBSERVATIONS
        self.steps = Steps(self.reader, line or Line(), self.counts, hears=hears)
        self.parts: dict[int, Part] = {}
        self.versions: Versions | None = None
        self.settings_of_workers: PipelineSettings | None = None
        self._worked: Counter[str] = Counter()
        """What was worked on of partitions that others have now."""
        self._told: dict[int, int] = {}
        """How far the broker was told that partitions are kept."""
        self._leave: dict[int, threading.Event] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._failed: asyncio.Future[None] | None = None

    @property
    def counters(self) -> dict[str, int]:
        """What moved so far, by name."""
        whole = Counter(self.counts)
        for part in self.parts.values():
            whole.update(part.counts)
        dead = {f"dead_{name}": n for name, n in self.reader.dead_letters.by_reason.items()}
        return {**dict(sorted(whole.items())), **dead}

    @property
    def worked(self) -> dict[str, int]:
        """What this process made of rows so far, by the counters of `Worker`; it only grows."""
        whole = Counter(self._worked)
        for part in list(self.parts.values()):
            whole.update(part.worked)
        return dict(sorted(whole.items()))

    async def run(self) -> None:
        """Be a member of the group until `stop` is set."""
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(MOST_THREADS))
        self._failed = loop.create_future()
        stopped = asyncio.create_task(self.stop.wait())
        joining = asyncio.create_task(self._joined())
        try:
            await asyncio.wait({stopped, joining}, return_when=asyncio.FIRST_COMPLETED)
            if joining.done():
                joining.result()
                either: set[asyncio.Future[Any]] = {stopped, self._failed}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            joining.cancel()
            await asyncio.wait({joining})
            self.stop.set()
            await self._left(list(self._tasks))
            if not self._failed.done():
                await self._keep()
            for part in self.parts.values():
                with suppress(Exception):  # told by what ended the process, or done again later
                    await asyncio.to_thread(part.storing.wait)
            await self.reader.close()
        if self._failed.done():
            self._failed.result()

    def renew(self, versions: Versions) -> None:
        """Take another topology for what is not worked on yet."""
        self.versions = versions  # taken between two cuts: one is worked on in a thread

    def tune(self, settings: PipelineSettings) -> None:
        """Take other settings for what is not worked on yet."""
        self.settings_of_workers = settings

    async def _joined(self) -> None:
        """Join the group, as soon as the broker lets us."""
        until = time.monotonic() + self.settings.retry_s
        while True:
            try:
                await self.reader.start()
            except BusError as error:
                if isinstance(error, BusRefused) or time.monotonic() > until:
                    raise
                await asyncio.sleep(WAIT_S)
            else:
                return

    async def _taken(self, partitions: Sequence[int]) -> None:
        """Serve these partitions from now on, unless this worker is about to leave."""
        if self.stop.is_set():
            return
        for gone in set(self.parts) - set(partitions):
            self._drop(gone)
        for partition in partitions:
            self._leave[partition] = threading.Event()
            self._tasks[partition] = asyncio.create_task(self._serve(partition))

    async def _left(self, partitions: Sequence[int]) -> None:
        """Serve these no more; the step that was begun is finished."""
        for partition in partitions:
            if partition in self._leave:
                self._leave[partition].set()
        tasks = {each: self._tasks[each] for each in partitions if each in self._tasks}
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        for each, task in tasks.items():
            # Until then it is there for whoever waits beside.
            if self._tasks.get(each) is task:
                del self._tasks[each]

    def _drop(self, partition: int) -> None:
        """Forget the state of a partition that others have now."""
        if part := self.parts.pop(partition, None):
            self.counts.update(part.counts)
            self._worked.update(part.worked)

    async def _serve(self, partition: int) -> None:
        """One partition until it is left; after a fence or a lost broker again from its log."""
        leave = self._leave[partition]
        while not leave.is_set():
            try:
                await self._follow(partition, leave)
            except Fenced as error:
                logger.warning("%s", error)
                self.counts["fenced"] += 1
                self._drop(partition)
                await self._pause(leave, self.settings.session_s)
            except BusRefused as error:  # it would say so again and again
                self._fail(error)
                return
            except BusError as error:
                logger.warning("%s", error)
                self.counts["bus_away"] += 1
                await self._pause(leave, WAIT_S)
            except asyncio.CancelledError:
                self._drop(partition)
                return
            except PASSING as error:
                # What was begun is open: whoever serves the partition next goes on from its log.
                self._drop(partition)
                if not leave.is_set():
                    logger.warning("%s", error)
                    await self._pause(leave, WAIT_S)
            except BaseException as error:  # noqa: BLE001 - whatever it is ends the process, and is told
                self._fail(told_of(error))
                return

    def _fail(self, error: BaseException) -> None:
        """End the process with what is said."""
        if self._failed and not self._failed.done():
            self._failed.set_exception(error)

    async def _follow(self, partition: int, leave: threading.Event) -> None:
        """Cut after cut of one partition, from where its log says."""
        part = await self._owned(partition, leave)
        try:
            part.position = await self.reader.seek(partition, part.position)
        except MessagesGone as gone:
            logger.warning("%s; the rest is read", gone)
            self.counts["messages_gone"] += part.skip(gone.begin)
            part.position = await self.reader.seek(partition, gone.begin)
        settle_s, now_s = SEVERAL_SETTLE_S if part.hand_on else SETTLE_S, time.monotonic()
        settling = Settling(settle_s, self.settings.snapshot_s, now_s, now_s)
        while not leave.is_set():
            began = time.monotonic()
            for left in renewed(part, self.versions, self.settings_of_workers):
                logger.warning("%s: %s", part.place, left)
            busy, promised = part.storing.busy, bool(part.promised)
            whole, kept = settling.due(began, full=part.full, busy=busy, promised=promised)
            octets = await self.steps.step(partition, part, leave, whole=whole, snapshot=kept)
            settling.done(began, whole=whole, kept=kept)
            await self._committed(partition, part)
            if 0 < octets < SMALL and not part.promised:
                rest = began + self.settings.cut_ms / 1000 - time.monotonic()
                await self._pause(leave, rest)

    async def _owned(self, partition: int, leave: threading.Event) -> Part:
        """The state of a partition: still in our hands, or taken over."""
        part = self.parts.get(partition)
        if part is not None:
            part.again = again(leave, self.counts)
            if not part.promised and await asyncio.to_thread(part.is_mine):
                return part
            self._drop(partition)
        began = time.monotonic()
        place, partitions = self.reader.place(partition), self.reader.partitions
        if not partitions:
            raise BusError(f"{place}: the broker has not told yet how many partitions there are")
        hand_on = self.hand_on(partition, partitions) if self.hand_on and partitions > 1 else None
        trying = again(leave, self.counts)
        part = Part(
            self.store,
            place,
            self.worker,
            trying,
            judged=self.judged,
            partitions=partitions,
            hand_on=hand_on,
        )
        await asyncio.to_thread(part.claim)
        self.parts[partition] = part
        at = "its beginning" if part.position is None else part.position
        logger.info("%s: taken over at %s in %.2f s", place, at, time.monotonic() - began)
        for left in part.left:
            logger.warning("%s: %s", place, left)
        return part

    async def _committed(self, partition: int, part: Part) -> None:
        """Tell the broker how far the state of a partition is kept."""
        if part.kept_to != self._told.get(partition) and part.kept_to is not None:
            self._told[partition] = part.kept_to
            await self.reader.commit(partition, part.kept_to)

    async def _keep(self) -> None:
        """Keep the state of all partitions, for whoever has them next."""
        for part in self.parts.values():
            try:
                await asyncio.to_thread(part.snapshot)
            except StoreError as error:
                logger.warning("%s: its state was not kept at the end: %s", part.place, error)
        await asyncio.gather(*(self._committed(*each) for each in self.parts.items()))

    async def _pause(self, leave: threading.Event, seconds: float) -> None:
        """Wait, but not longer than the partition is ours."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not leave.is_set():  # noqa: ASYNC110 - threads wait for the same event
            await asyncio.sleep(min(left, WAIT_S))
