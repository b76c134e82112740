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
    again_at: float = 0.0
    """When to look again, by the loop's clock, after there was nothing new."""


async def feed(
    captures: Sequence[Capture],
    decoder: Decoder,
    bus: Bus,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Publish the observations of all captures, then close the bus.

    After each source a batch says that it has ended. `progress` is told the frames of each run.
    Frames that a file counts but cannot deliver enter the decoder's accounting by their reason.
    What has come into a followed file is published at each look, and one without news does not hold
    up the others.
    """
    size = decoder.settings.frames_per_batch
    readings = [Reading(capture, capture.chunks(size, wait=False)) for capture in captures]
    try:
        while readings:
            reading = await due(readings)
            batch = await asyncio.to_thread(advance, reading, decoder, progress)
            if batch is None:
                reading.again_at = asyncio.get_running_loop().time() + reading.capture.poll_s
                continue
            await bus.publish(batch)
            if batch.ended:
                decoder.accounting.add(reading.capture.reasons)
                readings.remove(reading)
    finally:
        await bus.close()


async def due(readings: Sequence[Reading]) -> Reading:
    """The capture that has come least far in time, of those that may have news; waits for one."""
    clock = asyncio.get_running_loop().time
    soonest = min(reading.again_at for reading in readings)
    await asyncio.sleep(max(soonest - clock(), 0))
    now = max(clock(), soonest)
    awake = [reading for reading in readings if reading.again_at <= now]
    return min(awake, key=lambda each: each.reached_ns)


def advance(reading: Reading, decoder: Decoder, progress: Callable[[int], None]) -> Batch | None:
    """The next batch of a capture; `ended` after its last, None when nothing has come yet."""
    source = reading.capture.source
    frames = next(reading.chunks, None)
    if frames is None:
        return Batch(NO_ROWS, source, EPOCH, reading.frames, reading.frames, ended=True)
    if not len(frames):
        return None
    rows = decoder.decode(frames, reading.capture.points, source)
    reading.frames = frames.first + len(frames) - 1
    reading.reached_ns = max(reading.reached_ns, int(frames.time_ns.max()))
    progress(len(frames))
    return Batch(rows, source, EPOCH, frames.first, reading.frames)
