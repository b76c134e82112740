"""Raw rows off the bus into a store, unjudged: what each frame said, and whose flow it is of.

Several readers of one bus make rows ready at once while one insert runs. Each batch has a token of
its own, so the order in which batches are stored makes no difference.
"""

import asyncio

from collector import Batch, Bus
from pipeline.kept_rows import known_of
from pipeline.known_flows import flow_rows
from pipeline.sink import Sink, token
from pipeline.worker import Output

READERS = 3
"""Readers that keep two cores busy: one insert runs, and the next ones are made ready meanwhile."""


async def take_in(bus: Bus, sink: Sink) -> None:
    """Keep the rows of batches until the bus is closed and empty; what the sink raises ends it."""
    async for batch in bus:
        if batch.frame.height:
            await asyncio.to_thread(keep, batch, sink)


def keep(batch: Batch, sink: Sink) -> None:
    """Keep the rows of one batch."""
    sink(raw(batch), token(batch))


def raw(batch: Batch) -> Output:
    """The rows of a batch as the store has them, and its flows, by which rows are found."""
    rows = batch.frame
    return Output({"observations": known_of("observations", rows), "flows": flow_rows(rows)})
