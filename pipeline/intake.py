"""Raw rows off the bus into a store, unjudged: what each frame said, and whose flow it is of.

Several readers of one bus make rows ready at once while one insert runs. Each batch has a token of
its own, so the order in which batches are stored makes no difference.
"""

import asyncio
from collections.abc import Sequence

from collector import Batch, Bus
from pipeline.capture_gaps import Heard, Lives, gap_rows, never
from pipeline.kept_rows import known_of
from pipeline.known_flows import flow_rows
from pipeline.sink import Sink, together, token
from pipeline.unit import SECOND
from pipeline.worker import Output

READERS = 2
"""Readers that keep two cores busy: one insert runs, and the next one is made ready meanwhile."""
BEHIND_NS = SECOND
"""By how much a reader may be behind another one, which has a later batch."""


async def take_in(bus: Bus, sink: Sink, stored: Heard = never) -> None:
    """Keep the rows of batches until the bus is closed and empty; what the sink raises ends it.

    `stored` knows when a source was heard of before it began.
    """
    taker = RawTaker(stored)

    def keep(batch: Batch) -> None:
        made = taker.take([batch])
        if made.tables:
            sink(made, token(batch))

    async for batch in bus:
        await asyncio.to_thread(keep, batch)


class RawTaker:
    """Batches as the rows that they bring, with what live sources say of their capture."""

    def __init__(self, stored: Heard) -> None:
        """`stored` knows when sources were heard of before they began."""
        self._stored = stored
        self._lives = Lives()

    def take(self, batches: Sequence[Batch]) -> Output:
        """The rows of batches, what their sources lost before, and how far they are."""
        return together([self._taken(batch) for batch in batches])

    def _taken(self, batch: Batch) -> Output:
        """The same of one."""
        rows = raw(batch).tables if batch.frame.height else {}
        # Other readers may not have stored yet what came before.
        far = self._lives.rows(batch, (batch.reached_ns or 0) - BEHIND_NS)
        return Output({**rows, **gap_rows(batch, self._stored), **far})


def raw(batch: Batch) -> Output:
    """The rows of a batch as the store has them, and its flows, by which rows are found."""
    rows = batch.frame
    return Output({"flows": flow_rows(rows), "observations": known_of("observations", rows)})
