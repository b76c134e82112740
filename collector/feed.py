"""Captures onto the bus: decoded run by run, the one that has come least far in time goes next."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from collector.bus import Batch, Bus
from collector.capture import Capture
from collector.decoder import Decoder
from collector.frame import Frames
from collector.observation import SCHEMA

EPOCH = 0
"""A capture file has one life: its frame numbers never begin anew."""
NO_ROWS = pl.DataFrame(schema=SCHEMA).select("time_ns", "source")
"""Rows of the batch that ends a source."""


@dataclass
class Reading:
    """A capture that is being read: its next chunk, and the frames read so far."""

    capture: Capture
    chunks: Iterator[Frames]
    reached_ns: int = -(1 << 62)
    frames: int = 0


async def feed(
    captures: Sequence[Capture],
    decoder: Decoder,
    bus: Bus,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Publish the observations of all captures, then close the bus.

    After each source a batch says that it has ended. `progress` is told the frames of each run.
    Frames that a file counts but cannot deliver enter the decoder's accounting by their reason.
    """
    size = decoder.settings.frames_per_batch
    readings = [Reading(capture, capture.chunks(size)) for capture in captures]
    try:
        while readings:
            reading = min(readings, key=lambda each: each.reached_ns)
            batch = await asyncio.to_thread(advance, reading, decoder, progress)
            await bus.publish(batch)
            if batch.ended:
                decoder.accounting.add(reading.capture.reasons)
                readings.remove(reading)
    finally:
        await bus.close()


def advance(reading: Reading, decoder: Decoder, progress: Callable[[int], None]) -> Batch:
    """The next batch of a capture; without rows and `ended` when there is none."""
    source = reading.capture.source
    frames = next(reading.chunks, None)
    if frames is None:
        return Batch(NO_ROWS, source, EPOCH, reading.frames, reading.frames, ended=True)
    rows = decoder.decode(frames, reading.capture.points, source)
    reading.frames = frames.first + len(frames) - 1
    if len(frames):
        reading.reached_ns = max(reading.reached_ns, int(frames.time_ns.max()))
    progress(len(frames))
    return Batch(rows, source, EPOCH, frames.first, reading.frames)
