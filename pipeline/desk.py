"""What a place does with the messages of a cut: one desk for observations, one for what they gave.

A desk is state and what drives it; it knows no log and no store.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from collector import Batch, Repeats
from pipeline.capture_gaps import Heard
from pipeline.group_state import Kept
from pipeline.handed_message import Piece, Pieces
from pipeline.intake import RawTaker
from pipeline.meeting import Meeting
from pipeline.message_rows import messages_of
from pipeline.sink import Taker, together
from pipeline.worker import Output, Worker

MOST_ROWS = 1 << 18
"""Rows that are taken at once."""


class Taken(NamedTuple):
    """What came of the messages of a cut, and how many rows came in."""

    output: Output
    rows: int


class Desk(Protocol):
    """Takes cut after cut."""

    kept: Kept
    """All that it knows."""

    @property
    def open(self) -> list[str]:
        """Sources that are waited for."""

    def take(self, messages: Sequence[Any]) -> Taken:
        """The messages of a cut, in their order."""

    def give_up(self) -> Taken:
        """Wait for none of these sources any more; they may speak again."""


class ObservationDesk:
    """Observations through a worker; those that are not `judged` are stored as they come."""

    def __init__(
        self,
        worker: Worker,
        place: str,
        partitions: int,
        heard: Heard,
        counts: Counter[str],
        *,
        judged: bool,
    ) -> None:
        """`heard` knows when the store heard of a source last; `counts` gets `repeated`.

        `partitions` are those of the topic; 0: not known, so that frames are not found in messages.
        """
        self.worker, self.repeats = worker, Repeats()
        self.kept = Kept(worker, self.repeats)
        worker.several = True  # a point without a name is its source's alone
        self.place, self.partitions, self.judged = place, partitions, judged
        self.counts = counts
        self.taker = Taker(worker, heard) if judged else RawTaker(heard)

    def take(self, messages: Sequence[Batch]) -> Taken:
        """What is made of batches, without those that were seen before."""
        fresh = [batch for each in messages if (batch := self._fresh(each)) is not None]
        made = [self._taken_in(batches) for batches in passes(news(fresh))]
        told = Output(messages_of(self.place, self.partitions, fresh))
        rows = sum(batch.frame.height for batch in fresh)
        return Taken(together([*made, told]), rows)

    @property
    def open(self) -> list[str]:
        """Sources that have not ended and hold back what is judged."""
        return sorted(self.worker.order.reached) if self.judged else []

    def give_up(self) -> Taken:
        """What waited for them."""
        return Taken(self.worker.finish(), 0)

    def _fresh(self, batch: Batch) -> Batch | None:
        """A batch without what was seen before."""
        fresh = self.repeats.fresh(batch)
        self.counts["repeated"] += fresh is None
        return fresh

    def _taken_in(self, batches: Sequence[Batch]) -> Output:
        """What is made of batches; when the last source has ended nothing is waited for."""
        made = self.taker.take(batches)
        if not (self.judged and batches[-1].ended) or self.worker.order.reached:
            return made
        return together([made, self.worker.finish()])


class MeetingDesk:
    """What partitions hand on, through the meeting that judges it."""

    open: Final[list[str]] = []
    """It waits for partitions, which give their sources up themselves."""

    def __init__(self, meeting: Meeting, counts: Counter[str]) -> None:
        """`counts` gets `repeated`."""
        self.meeting, self.pieces = meeting, Pieces()
        self.kept = Kept(meeting, self.pieces)
        self.counts = counts

    def take(self, messages: Sequence[Piece]) -> Taken:
        """Verdicts on all that has ended everywhere."""
        rows = 0
        for piece in messages:
            if self.pieces.knows(piece):
                self.counts["repeated"] += 1
                continue
            rows += piece.handed.sums.height
            handed = self.pieces.whole(piece)
            if handed is not None:
                self.meeting.add(piece.partition, piece.partitions, handed)
        return Taken(self.meeting.close(), rows)

    def give_up(self) -> Taken:
        """Nothing waits for a source."""
        return self.take(())


def desk_of(
    worker: Worker | Meeting,
    place: str,
    partitions: int,
    heard: Heard,
    counts: Counter[str],
    *,
    judged: bool,
) -> Desk:
    """The desk of a worker or a meeting with empty state."""
    if isinstance(worker, Meeting):
        return MeetingDesk(worker, counts)
    return ObservationDesk(worker, place, partitions, heard, counts, judged=judged)


def news(batches: Sequence[Batch]) -> list[Batch]:
    """Batches without those that say only what a later one of the same source says as well.

    The last one of a life stays: the gap before the next one begins there.
    """
    last = {batch.stream: number for number, batch in enumerate(batches)}
    return [
        batch for number, batch in enumerate(batches)
        if not batch.quiet or batch.begins or batch.losses or last[batch.stream] == number
    ]  # fmt: skip


def passes(batches: Sequence[Batch]) -> Iterator[list[Batch]]:
    """Batches that are taken at once: up to an end of a source, and to so many rows."""
    held: list[Batch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.frame.height
        if batch.ended or rows >= MOST_ROWS:
            yield held
            held, rows = [], 0
    if held:
        yield held
