"""The bus: observations on their way from the collector to the pipeline.

A bus carries batches, never single rows. It is bounded; when the reader falls behind, `publish`
waits. What does not want to wait looks at `fill` before (`shed`). Every batch says which frames of
which source it covers, so that a reader can tell a repeat from news, and nothing rests on a broker
removing duplicates.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import polars as pl

from collector.loss import Loss

JOINED_ROWS = 1 << 16
"""Rows up to which live batches are joined for a reader that is behind; two thirds of a second of
100,000 frames each."""


NEXT_TO_NONE = 0.99
"""Share of the room that is taken where what waits is too old, so that no more has to wait."""
BEGINS_NS = -(1 << 63)
"""How far a file has come of which no frame is read yet."""
FEW_ROWS = 8192
"""Rows that cost whoever judges them about as much as a batch without any."""


class BusError(Exception):
    """A bus cannot be opened or used; the text is one sentence for the user."""


class BusRefused(BusError):  # noqa: N818 - what a broker has done
    """A broker does not do what it is asked, however often it is asked."""


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
    - `epoch`: which life of the source this is, in each of which frame numbers begin anew: when
      it began, ns since 1970;
    - `first`, `last`: numbers of the first and the last frame covered. Within (source, epoch) they
      only grow, so a batch whose `last` was seen before is a repeat;
    - `ended`: the source brings nothing more; such a batch has no rows;
    - `reached_ns`: a live source's time up to which all its frames have come; a batch that says
      this alone has no rows either;
    - `passed_ns`: the newest frame so far of a source that is not live; such a batch has no rows,
      they went elsewhere, or none was read yet (`begins`);
    - `offset`: the number of the message that it came in, where a broker numbers them;
    - `losses`: what the source lost since the batch before.
    """

    frame: pl.DataFrame
    source: str
    epoch: int
    first: int
    last: int
    ended: bool = False
    reached_ns: int | None = None
    offset: int | None = None
    losses: tuple[Loss, ...] = ()
    passed_ns: int | None = None

    @property
    def quiet(self) -> bool:
        """Whether it only says how far the source has come."""
        return self.far_ns is not None and not self.ended and self.frame.is_empty()

    @property
    def begins(self) -> bool:
        """Whether it only says that a file will bring frames, for which others may wait."""
        return self.passed_ns == BEGINS_NS

    @property
    def far_ns(self) -> int | None:
        """How far the source has come, where that is told beside its rows."""
        return self.passed_ns if self.reached_ns is None else self.reached_ns

    @property
    def stream(self) -> tuple[str, int]:
        """Whose frames it has: numbers of frames go on from one batch to the next."""
        return self.source, self.epoch

    @property
    def live(self) -> bool:
        """Whether it is of a live source, which cuts its frames by what came in time."""
        return self.reached_ns is not None and not self.ended


class Bus(Protocol):
    """Batches in at one end, out at the other; each batch reaches one reader."""

    async def publish(self, batch: Batch) -> None:
        """Hand over `batch`; waits while the bus is full. Raises BusError once it is closed."""

    def __aiter__(self) -> AsyncIterator[Batch]:
        """Batches in order of publication within a conversation, until closed and drained."""

    async def more(self, batch: Batch, /) -> Sequence[Batch]:
        """What waits now and costs a reader less together with the batch that it has just read."""

    @property
    def fill(self) -> float:
        """Share of the room that is taken; 1: the next batch has to wait."""

    async def close(self) -> None:
        """Publish nothing more; readers are given what is still there, then their loop ends."""


class MemoryBus:
    """A bus inside one process: at most `capacity` batches wait to be read.

    Live batches of one source that wait are joined up to `joined_rows`, and those of several are
    given together up to as many, so that a reader who is behind has few large ones: each costs it
    the same, however small. Those of files stay as they are cut, since a repeat has to be cut so,
    too. Where live batches of more than `behind_ns` of time wait, next to no room is left (0:
    whatever time that is), unless their rows are few: fewer would not be read sooner.
    """

    def __init__(self, capacity: int = 16, joined_rows: int = 0, behind_ns: int = 0) -> None:
        self.capacity = capacity
        self.joined_rows = joined_rows
        self.behind_ns = behind_ns
        self._waiting: deque[list[Batch]] = deque()
        self._closed = False
        self._changed = asyncio.Condition()

    @property
    def fill(self) -> float:
        """See Bus."""
        waiting = [*self._waiting]  # other threads look, too, while it changes
        share = len(waiting) / self.capacity
        if self.behind_ns and waiting and not few(waiting):
            waits_ns = span_ns([each for held in waiting for each in (held[0], held[-1])])
            share = max(share, min(waits_ns / self.behind_ns, NEXT_TO_NONE))
        return share

    async def publish(self, batch: Batch) -> None:
        """See Bus."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or self._room(batch))
            if self._closed:
                raise BusError("the bus is closed, nothing more can be published")
            held = self._before(batch)
            if held is None:
                self._waiting.append([batch])
            else:
                held.append(batch)
            self._changed.notify_all()

    def _room(self, batch: Batch) -> bool:
        """Whether a batch can be taken now."""
        return len(self._waiting) < self.capacity or self._before(batch) is not None

    def _before(self, batch: Batch) -> list[Batch] | None:
        """The live batches that wait of which a live one is the next; others may stand behind."""
        for held in reversed(self._waiting):
            if held[-1].stream == batch.stream or not held[-1].live:
                return held if continues(held, batch, self.joined_rows) else None
        return None

    async def __aiter__(self) -> AsyncIterator[Batch]:
        """See Bus."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._closed or bool(self._waiting))
                if not self._waiting:
                    return
                batches = self._waiting.popleft()
                self._changed.notify_all()
            yield joined(batches)

    async def more(self, batch: Batch, /) -> list[Batch]:
        """See Bus: live batches of other sources, beside a live one."""
        found = [batch]
        async with self._changed:
            while self._waiting and fits(found, self._waiting[0], self.joined_rows):
                found.append(joined(self._waiting.popleft()))
            self._changed.notify_all()
        return found[1:]

    async def close(self) -> None:
        """See Bus."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()


def continues(held: Sequence[Batch], batch: Batch, most_rows: int) -> bool:
    """Whether a live batch goes on where those before it end, and they are not too large."""
    return held[-1].stream == batch.stream and fits(held, [batch], most_rows)


def fits(held: Sequence[Batch], more: Sequence[Batch], most_rows: int) -> bool:
    """Whether all are live, and not too large together."""
    together = (*held, *more)
    rows = sum(each.frame.height for each in together)
    return rows <= most_rows and all(each.live for each in together)


def few(waiting: Iterable[Sequence[Batch]]) -> bool:
    """Whether the rows that wait take a reader as long as none would."""
    return sum(each.frame.height for held in waiting for each in held) <= FEW_ROWS


def span_ns(batches: Sequence[Batch]) -> int:
    """Time from the earliest frame of live batches to how far the newest has come."""
    ends = [(begun_ns(each), each.reached_ns or 0) for each in batches if each.live]
    return max(end for _, end in ends) - min(begun for begun, _ in ends) if ends else 0


def begun_ns(batch: Batch) -> int:
    """The earliest time of a live batch."""
    if batch.frame.is_empty():
        return batch.reached_ns or 0
    return int(batch.frame["time_ns"].to_numpy().min())


def joined(batches: Sequence[Batch]) -> Batch:
    """Batches of one source, their rows one after the other."""
    if len(batches) == 1:
        return batches[0]
    one, last = batches[0], batches[-1]
    rows = pl.concat([batch.frame for batch in batches], how="diagonal_relaxed")
    losses = tuple(loss for batch in batches for loss in batch.losses)
    return replace(last, frame=rows, first=one.first, offset=None, losses=losses)
