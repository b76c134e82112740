"""Batches off the bus, through the worker, into a sink."""

import asyncio
from collections.abc import Callable

from collector import Batch, Bus
from pipeline.worker import Output, Worker

Sink = Callable[[Output, str], None]
"""Takes what the worker made, and a token that names the input it was made of."""


async def drain(bus: Bus, worker: Worker, sink: Sink) -> None:
    """Work until the bus is closed and empty. The token makes a repeated insert recognisable."""
    async for batch in bus:
        output = await asyncio.to_thread(take, worker, batch)
        await asyncio.to_thread(sink, output, token(batch))
    await asyncio.to_thread(sink, worker.finish(), "finish")


def take(worker: Worker, batch: Batch) -> Output:
    """One batch through the worker."""
    if batch.ended:
        return worker.end(batch.source)
    if batch.quiet:
        return worker.reach(batch.source, int(batch.reached_ns or 0))
    return worker.advance(batch.frame)


def token(batch: Batch) -> str:
    """Source, epoch and frames of a batch: the same input gives the same token."""
    frames = "end" if batch.ended else f"{batch.first}-{batch.last}"
    frames = f"reached-{batch.reached_ns}" if batch.quiet else frames
    return f"{batch.source}:{batch.epoch}:{frames}"
