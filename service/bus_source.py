"""The bus as a source of a replay: what its topic holds from an offset or a time on."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from collector import Batch, Bus, BusError, BusSettings, open_span
from service.failure import ExitCode, Failure
from service.logs import quiet
from service.rerunning import Feeding, Progress
from service.typed import moment


@dataclass(frozen=True)
class BusSource:
    """Messages of a topic; see `rerunning.Source`.

    A conversation lies in one partition, and each partition is put in order and decided by itself,
    as a pipeline does it.
    """

    url: str
    settings: BusSettings
    from_offset: int | None = None
    from_: str | None = None
    to: str | None = None

    @contextmanager
    def opened(self) -> Iterator[Feeding]:
        """See `Source`; Failure when the broker does not answer or the topic holds nothing."""
        quiet()
        times = moment("--from", self.from_), moment("--to", self.to)
        try:
            span = open_span(self.url, self.settings, self.from_offset)
            found = asyncio.run(span.spans())
        except BusError as error:
            raise Failure(ExitCode.UNAVAILABLE, f"--bus: {error}") from None
        if not found:
            offset = "" if self.from_offset is None else f" from offset {self.from_offset} on"
            raise Failure(ExitCode.WRONG, f"--bus: the topic {span.topic.name} is empty{offset}")
        parts = iter(found)

        async def feed(bus: Bus, progress: Progress) -> None:
            part = next(parts)
            try:
                await publish(span.batches(part), part.sources, times, bus, progress)
            except BusError as error:
                raise Failure(ExitCode.UNAVAILABLE, f"--bus: {error}") from None
            finally:
                await bus.close()

        yield Feeding(found[0].sources, feed, tuple(each.sources for each in found[1:]))


async def publish(
    batches: AsyncIterator[Batch],
    sources: tuple[str, ...],
    times: tuple[int | None, int | None],
    bus: Bus,
    progress: Progress,
) -> None:
    """Batches onto another bus, of their rows those of the time; then each source ends."""
    from_ns, to_ns = times
    last, ended = 0, set()
    async for batch in batches:
        last = max(last, batch.last)
        if batch.ended:
            ended.add(batch.source)
            await bus.publish(batch)
            continue
        rows = batch.frame
        if from_ns is not None:
            rows = rows.filter(pl.col("time_ns") >= from_ns)
        if to_ns is not None:
            rows = rows.filter(pl.col("time_ns") < to_ns)
        progress(rows.height)
        if rows.height:
            ended.discard(batch.source)
            await bus.publish(Batch(rows, batch.source, batch.epoch, batch.first, batch.last))
    for source in sources:
        if source not in ended:
            nothing = pl.DataFrame(schema={"time_ns": pl.Int64, "source": pl.String})
            await bus.publish(Batch(nothing, source, 0, last, last, ended=True))
