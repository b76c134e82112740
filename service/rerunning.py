"""What is replayed, through the recurrences: sources onto a bus, a rerun off it, into a sink."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import typer

from collector import Bus, CollectorSettings, Decoder, feed, open_bus
from pipeline import Reran, Rerun
from service.absence import Read
from service.accounting_text import accounting_line
from service.progress import frames_bar
from service.run import BATCHES, beside, once
from service.sources import Feeds, open_sources
from service.warming import warming

Progress = Callable[[int], None]
Sink = Callable[[Reran], None]
Making = Callable[[tuple[str, ...]], Rerun]
"""Makes the rerun, by the sources that will bring rows."""


class Source(Protocol):
    """Where observations come from: opened, it knows its sources and how they are fed."""

    def opened(self) -> AbstractContextManager["Feeding"]:
        """Open it; Failure says what cannot be read."""
        ...


@dataclass(frozen=True)
class Feeding:
    """An open source: names of those that will bring rows, and what puts them onto a bus.

    Where it has parts that know nothing of each other, `further` names those of each part after the
    first, and `feed` is called once for each.
    """

    sources: tuple[str, ...]
    feed: Callable[[Bus, Progress], Awaitable[None]]
    further: tuple[tuple[str, ...], ...] = ()
    files: tuple[Path, ...] = ()
    unread: Callable[[], int] = int
    """Frames so far that were there and could not be read."""


@dataclass(frozen=True)
class Ran:
    """The reruns of a source, of one mostly: what moved in all of them."""

    reruns: tuple[Rerun, ...]
    unread: int = 0
    files: tuple[Path, ...] = ()

    @property
    def read(self) -> Read:
        """What was read, for who looks for what is not there."""
        return Read(self.files, self.points, self.unread)

    @property
    def counters(self) -> dict[str, int]:
        """What moved, by name."""
        told: Counter[str] = Counter()
        for each in self.reruns:
            told.update(each.counters)
        return dict(told)

    @property
    def points(self) -> tuple[str, ...]:
        """The observation points that are known."""
        return tuple(dict.fromkeys(point for each in self.reruns for point in each.points))


@dataclass(frozen=True)
class CaptureSource:
    """Capture files, decoded; `quiet` keeps to itself which frames were not read."""

    paths: Sequence[Path]
    settings: CollectorSettings
    point: str | None = None
    quiet: bool = False

    @contextmanager
    def opened(self) -> Iterator[Feeding]:
        """See `Source`."""
        with open_sources(self.paths, Feeds(), self.point) as held:
            decoder = Decoder(self.settings)
            yield Feeding(
                held.announced,
                lambda bus, progress: feed(held.sources, decoder, bus, progress, held.rotations),
                files=tuple(self.paths),
                unread=lambda: sum(decoder.accounting.reasons.values()),
            )
            if not self.quiet:
                tell_unread(decoder.accounting.decoded, decoder.accounting.reasons)


def tell_unread(decoded: int, reasons: Mapping[str, int]) -> None:
    """Say which frames were not read, if there are any: what follows knows nothing of them."""
    if reasons:
        seen = decoded + sum(reasons.values())
        line = accounting_line({"seen": seen, "decoded": decoded, "reasons": reasons})
        typer.echo(f"hopsight: {line}", err=True)


def rerun(source: Source, making: Making, sink: Sink, label: str, *, watched: bool = False) -> Ran:
    """Run a source to its end; gives the reruns, whose counters say what moved.

    `watched` says that the sink watches senders and receivers.
    """
    needed = ("decide", "watch") if watched else ("decide",)
    beside_decoding = (
        warming(*needed) if isinstance(source, CaptureSource) else nullcontext(_nothing)
    )
    with beside_decoding as ready, source.opened() as feeding, frames_bar(label) as told:
        made = []
        for sources in (feeding.sources, *feeding.further):
            made.append(making(sources))
            asyncio.run(_rerun(feeding, ready, made[-1], sink, told))
        return Ran(tuple(made), feeding.unread(), feeding.files)


async def _rerun(
    feeding: Feeding, ready: Callable[[], None], made: Rerun, sink: Sink, progress: Progress
) -> None:
    """Feed and drain one bus."""
    bus = open_bus(f"memory://?capacity={BATCHES}")
    await beside(_fed(feeding, bus, progress), once(ready, drained(bus, made, sink)))


def _nothing() -> None:
    """Nothing is waited for where there is nothing to decode beside."""


async def _fed(feeding: Feeding, bus: Bus, progress: Progress) -> None:
    """The source onto the bus."""
    await feeding.feed(bus, progress)


async def drained(bus: Bus, made: Rerun, sink: Sink) -> None:
    """Every batch through the rerun, and what came of it into the sink."""
    async for batch in bus:
        if batch.ended:
            sink(await asyncio.to_thread(made.end, batch.source))
        else:
            sink(await asyncio.to_thread(made.advance, batch.frame))
    sink(await asyncio.to_thread(made.finish))
