"""Sources onto the bus: decoded run by run, the one that has come least far in time goes next."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from collector.bus import BEGINS_NS, Batch, Bus
from collector.decoder import Decoder
from collector.frame import Frames
from collector.loss import Loss
from collector.observation import SCHEMA
from collector.resumed import NOTHING, Kept, Known, behind, nothing_kept
from collector.rotation import UNREADABLE, Rotation
from collector.shed import FULL, LOOK_S, LOW, Shed, can_wait
from collector.source import Source
from collector.window import CaptureError

logger = logging.getLogger("hopsight.collector")
NO_ROWS = pl.DataFrame(schema=SCHEMA).select("time_ns", "source")
"""Rows of the batch that ends a source, or says how far it has come."""
BEAT_NS = 250_000_000
"""Least time between two batches that only say so."""


@dataclass
class Reading:
    """A source that is being read: its next chunk, and the frames read so far."""

    source: Source
    chunks: Iterator[Frames]
    reached_ns: int = -(1 << 62)
    beat_ns: int = -(1 << 62)
    """How far it was said to have come."""
    frames: int = 0
    counted: dict[str, int] = field(default_factory=dict)
    """What of the source's own reasons is in the accounting."""
    kept: Kept | None = None
    """What is stored of it; None: that was not asked yet."""
    again_at: float = 0.0
    """When to look again, by the loop's clock, after there was nothing new."""


async def feed(
    sources: Sequence[Source],
    decoder: Decoder,
    bus: Bus,
    progress: Callable[[int], None] = lambda _: None,
    rotations: Sequence[Rotation] = (),
    shed: Shed | None = None,
    known: Known = nothing_kept,
    *,
    announced: bool = False,
    stopping: asyncio.Event | None = None,
) -> None:
    """Publish the observations of all sources, then close the bus.

    After each source a batch says that it has ended. `progress` is told the frames of each run.
    Frames that a source counts but cannot deliver enter the decoder's accounting by their reason,
    at the end of a source or as soon as it tells them.
    What has come into a followed file is published at each look, and one without news does not hold
    up the others. A live source without news says how far time has come, so that no interval waits
    for its next frame. A full bus makes all sources wait; with `shed` live ones do not, and less of
    them is passed on: of one that has room of its own once its frames take half of it. Files that
    arrive in `rotations` join, and are closed when they have ended. What is `known` to be stored of
    a file is not read again. Where files are `announced` readers hear of all of them before the
    first row, so that those which come later are waited for. Nothing more is read once `stopping`
    is set; what was is published.
    """
    size = decoder.settings.frames_per_batch
    readings = [Reading(each, each.chunks(size, wait=False)) for each in sources]
    arrived: list[Source] = []
    try:
        await announce(sources if announced else (), bus)
        while more_to_read(readings, rotations, stopping):
            new = [one for one in (each.next_file() for each in rotations) if one is not None]
            arrived += new
            readings += [Reading(each, each.chunks(size, wait=False)) for each in new]
            if not readings:
                # None waits where the last files that arrived could not be read.
                polls = [each.poll_s for each in rotations if not each.ended]
                await asyncio.sleep(min(polls, default=0))
                continue
            reading = await due(readings, bus, shed)
            before = reading.frames
            try:
                batch = await asyncio.to_thread(advance, reading, decoder, progress, known)
            except CaptureError:
                if reading.source not in arrived:
                    raise
                reading.source.reasons[UNREADABLE] = 1
                batch = ending(reading)
            news = reading.frames > before or (batch is not None and batch.ended)
            decoder.accounting.add(uncounted(reading))
            reading.again_at = next_look(reading, readings, news=news)
            batch = passed_on(batch, reading, shed, bus, decoder)
            decoder.accounting.settle()
            if batch is None:
                continue
            await publish(batch, reading, shed, bus, decoder)
            if batch.ended:
                readings.remove(reading)
                if reading.source in arrived:
                    arrived.remove(reading.source)
                    reading.source.close()
    finally:
        for capture in arrived:
            capture.close()
        for rotation in rotations:
            decoder.accounting.add(rotation.reasons)
        decoder.accounting.settle()
        await to_its_end(bus.close())


def more_to_read(
    readings: Sequence[Reading], rotations: Sequence[Rotation], stopping: asyncio.Event | None
) -> bool:
    """Whether a source has not ended, or may still arrive, and nobody wants the end."""
    wanted = stopping is None or not stopping.is_set()
    return wanted and (bool(readings) or not all(each.ended for each in rotations))


async def announce(sources: Sequence[Source], bus: Bus) -> None:
    """Say which files will bring frames, unless there is no other that could wait for them."""
    files = [each for each in sources if not each.live]
    for each in files if len(files) > 1 else ():
        await bus.publish(Batch(NO_ROWS, each.source, each.epoch, 0, 0, passed_ns=BEGINS_NS))


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work that has begun, also when it is waited for no more; then that is raised."""
    begun = asyncio.ensure_future(work)
    try:
        await asyncio.shield(begun)
    except asyncio.CancelledError:
        await begun
        raise


def passed_on(
    batch: Batch | None, reading: Reading, shed: Shed | None, bus: Bus, decoder: Decoder
) -> Batch | None:
    """What of a batch is published: all, unless a live source has to shed."""
    if batch is None or shed is None or not reading.source.live:
        return batch
    if not batch.quiet or bus.fill <= LOW:  # of time alone nothing less could be passed on
        shed.follow(bus.fill, asyncio.get_running_loop().time())
    kept = shed.kept(batch, bus.fill, decoder.accounting)
    if kept is None:
        reading.source.losses[:0] = batch.losses  # for the next one
    return kept


async def publish(
    batch: Batch, reading: Reading, shed: Shed | None, bus: Bus, decoder: Decoder
) -> None:
    """Publish a batch; one of a source that sheds is counted where there is no room after all.

    That a disk is full shows when a batch is to be written there.
    """
    offer = getattr(bus, "offer", None)
    if offer is None or shed is None or batch.ended or not batch.live:
        await bus.publish(batch)
    elif not await offer(batch):
        if batch.frame.height:
            decoder.accounting.turn(batch.frame, FULL)
            decoder.accounting.settle()
        reading.source.losses[:0] = batch.losses  # for the next one


def next_look(reading: Reading, readings: Sequence[Reading], *, news: bool) -> float:
    """When to look at a source again, by the loop's clock; 0: at once.

    Beside files the frames of a live source are waited for, so that these have a turn meanwhile.
    """
    beside_files = reading.source.live and not all(each.source.live for each in readings)
    waits = beside_files or not news
    return asyncio.get_running_loop().time() + reading.source.poll_s if waits else 0.0


async def due(readings: Sequence[Reading], bus: Bus, shed: Shed | None) -> Reading:
    """The source whose turn it is, of those that may have news; waits for one.

    It is the one that has come least far in time, live ones first: what waits there may be lost.
    With `shed` one that has room of its own has no turn while what follows is behind.
    """
    clock = asyncio.get_running_loop().time
    while True:
        soonest = min(reading.again_at for reading in readings)
        await asyncio.sleep(max(soonest - clock(), 0))
        now = max(clock(), soonest)
        awake = [reading for reading in readings if reading.again_at <= now]
        first = min(awake, key=lambda each: (not each.source.live, each.reached_ns))
        if shed is None or not can_wait(first.source, bus.fill):
            return first
        first.again_at = now + LOOK_S


def advance(
    reading: Reading, decoder: Decoder, progress: Callable[[int], None], known: Known
) -> Batch | None:
    """The next batch of a source; `ended` after its last, None when there is no news of it."""
    frames = next(reading.chunks, None)
    if frames is None:
        return ending(reading)
    if not len(frames):
        return beat(reading)
    source, epoch = reading.source.source, reading.source.epoch
    reading.frames = frames.first + len(frames) - 1
    frames = unread(frames, reading, known)
    if not len(frames):
        return None
    rows = decoder.decode(frames, reading.source.points, source)
    reading.reached_ns = max(reading.reached_ns, int(frames.time_ns.max()))
    reading.beat_ns = max(reading.beat_ns, reading.reached_ns)
    progress(len(frames))
    reached_ns = reading.reached_ns if reading.source.live else None
    return Batch(
        rows, source, epoch, frames.first, reading.frames, reached_ns=reached_ns,
        losses=lost(reading.source),
    )  # fmt: skip


def unread(frames: Frames, reading: Reading, known: Known) -> Frames:
    """What of a run was not read in an earlier life of this program."""
    source = reading.source
    if reading.kept is None:
        reading.kept = NOTHING if source.live else known(source.source, source.epoch, frames)
        if reading.kept.frame:
            told = "%s was read before: %d frames of it are stored, and go on from there"
            logger.info(told, source.source, reading.kept.frame)
    if not reading.kept.frame:
        return frames
    left = behind(frames, reading.kept)
    if len(left):
        reading.kept = NOTHING
    return left


def beat(reading: Reading) -> Batch | None:
    """A batch that says how far a source has come that brings no frames, once in a while."""
    source, last = reading.source, reading.frames
    if source.reached_ns is None or source.reached_ns - reading.beat_ns < BEAT_NS:
        return None
    reading.beat_ns = source.reached_ns
    return Batch(
        NO_ROWS, source.source, source.epoch, last, last, reached_ns=reading.beat_ns,
        losses=lost(source),
    )  # fmt: skip


def ending(reading: Reading) -> Batch:
    """The batch that says that a source has ended; one that failed is told of at once."""
    source, last = reading.source, reading.frames
    if source.failed:
        logger.error("%s", source.failed)
    return Batch(NO_ROWS, source.source, source.epoch, last, last, ended=True, losses=lost(source))


def uncounted(reading: Reading) -> dict[str, int]:
    """Frames that a source counts by its own reasons, and did not when this was asked last."""
    before, reading.counted = reading.counted, dict(reading.source.reasons)
    return {name: count - before.get(name, 0) for name, count in reading.counted.items()}


def lost(source: Source) -> tuple[Loss, ...]:
    """What a source lost since this was asked last."""
    told = tuple(source.losses)
    del source.losses[: len(told)]
    return told
