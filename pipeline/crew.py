"""All that one worker of a group does: it serves partitions, and has its turn at judging them all.

Of several partitions each hands on the intervals that have ended there, through a topic of one
partition that is derived from that of the observations. Whoever of the group has it judges: its
place has a log, a fence and snapshots as any other. One partition alone judges itself.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from collector import BusSettings, open_writer
from pipeline.group import Group
from pipeline.group_part import HandOn
from pipeline.group_steps import Line
from pipeline.handed import Handed
from pipeline.handed_message import CONTENTS, messages
from pipeline.meeting import Meeting
from pipeline.settings import PipelineSettings
from pipeline.store import Store
from pipeline.versions import Versions
from pipeline.worker import Worker

DRAIN_S = 5.0
"""How long what was handed on last may take to be judged at the end."""
LOOK_S = 0.05


class Crew:
    """Works until `stop` is set; see `Group`, which raises the same."""

    def __init__(
        self,
        url: str,
        settings: BusSettings,
        store: Store,
        worker: Callable[[], Worker],
        meeting: Callable[[], Meeting],
        *,
        judged: bool = True,
    ) -> None:
        """Connect nothing yet. Raises BusError for an address that is not understood."""
        hand_on, line = self._hand_on if judged else None, Line()
        self.observing = Group(
            url, settings, store, worker, judged=judged, hand_on=hand_on, line=line
        )
        self.meeting = Group(url, settings, store, meeting, contents=CONTENTS, line=line)
        self.stop = asyncio.Event()
        self._writer = open_writer(url, settings, CONTENTS.derived)
        self._several = asyncio.Event()

    @property
    def counters(self) -> dict[str, int]:
        """What moved so far, by name; those of the judge of several partitions are `meeting_…`."""
        told = {f"meeting_{name}": count for name, count in self.meeting.counters.items()}
        return {**self.observing.counters, **told}

    @property
    def worked(self) -> dict[str, int]:
        """What this process made of rows and verdicts, by the counters of workers and meeting."""
        whole = Counter(self.observing.worked)
        whole.update(self.meeting.worked)
        return dict(whole)

    async def run(self) -> None:
        """Be a member of the group until `stop` is set, or something makes no sense any more."""
        stopped = asyncio.create_task(self.stop.wait())
        observing = asyncio.create_task(self.observing.run())
        judging = asyncio.create_task(self._judge())
        try:
            await asyncio.wait({stopped, observing, judging}, return_when=asyncio.FIRST_COMPLETED)
            self.observing.stop.set()
            await asyncio.wait({observing})
            if not judging.done():
                await self._drained()
        finally:
            self.observing.stop.set()
            self.meeting.stop.set()
            self._several.set()
            stopped.cancel()
            await asyncio.wait({observing, judging})
            with suppress(Exception):  # nothing is on its way any more
                await self._writer.close()
        for each in (observing, judging):
            each.result()

    def renew(self, versions: Versions) -> None:
        """Take another topology for what is not worked on yet."""
        self.observing.renew(versions)
        self.meeting.renew(versions)

    def tune(self, settings: PipelineSettings) -> None:
        """Take other settings for what is not worked on yet."""
        self.observing.tune(settings)
        self.meeting.tune(settings)

    def _hand_on(self, partition: int, partitions: int) -> HandOn:
        """What takes that which one of so many partitions hands on, from a thread."""
        self._several.set()
        loop = asyncio.get_running_loop()

        def hand_on(handed: Handed, first: int, last: int, idle: bool) -> None:
            made = messages(handed, partition, partitions, first, last, idle=idle)
            asyncio.run_coroutine_threadsafe(self._writer.send(made), loop).result()

        return hand_on

    async def _judge(self) -> None:
        """Judge what is handed on, once there are several partitions."""
        await self._several.wait()
        if not self.meeting.stop.is_set():
            await self.meeting.run()

    async def _drained(self) -> None:
        """Wait until what was handed on has been judged, if it is on us to do so."""
        began = time.monotonic()
        while self.meeting.parts and self.meeting.steps.emptied_s < began:
            if time.monotonic() > began + DRAIN_S:
                return
            await asyncio.sleep(LOOK_S)
