"""`hopsight collect`: observations onto a bus for others, or into a store without judging them."""

import asyncio
import json as json_format
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import typer

from collector import (
    Bus,
    BusError,
    CaptureError,
    Decoder,
    Known,
    Shed,
    Spool,
    feed,
    nothing_kept,
    open_bus,
    spooled,
)
from pipeline import READERS, StoreError, open_or_ask, stored_last, take_in
from service.commands.decode import account, assigned
from service.commands.settings import chosen
from service.decidable import say
from service.deferred import Deferred
from service.failure import ExitCode, Failure
from service.hangup import reload_at
from service.keeping import store_sink
from service.logs import begin
from service.progress import frames_bar
from service.readings import Readings, read_by
from service.reloading import reloaded
from service.resuming import Resuming
from service.run import waiting
from service.settings import Settings
from service.sources import Feeds, Sources, not_read, open_sources
from service.stages import of_bus, of_frames, of_sink, telling
from service.stopping import on_ending
from service.stored_twice import noticing

Readers = Sequence[Callable[[Bus], Coroutine[Any, Any, None]]]
"""What reads the bus in this process; nothing, where others do."""
BOUND = ("bus.", "process.", "collector.name", "collector.ring_", "collector.frames_per_batch")
"""How the names of settings begin that hold until it ends."""


@dataclass(frozen=True)
class Request:
    """The command line of `collect`."""

    captures: Sequence[Path]
    bus: str | None = None
    store: str | None = None
    """Keeps raw rows in the place of a bus."""
    feeds: Feeds = field(default_factory=Feeds)
    assignments: Sequence[str] = field(default_factory=list)
    point: str | None = None
    json: bool = False


def run(request: Request) -> None:
    """Publish all that the sources bring; how the frames ended goes to standard error.

    Begun anew after a failure it publishes from the start, and readers drop what they have; so does
    a store with what it has, also of files that are followed, whose batches are cut elsewhere.
    """
    request.feeds.beside(request.captures)
    settings = settings_of(request)
    counts: Counter[str] = Counter()
    where = "on the bus" if request.store is None else "in the store"
    try:
        with (
            target(request, settings, counts) as (bus, readers, known, stored),
            telling(settings.process.metrics) as told_of,
            open_sources(
                request.captures, request.feeds, request.point, settings.collector
            ) as sources,
            frames_bar("collecting") as told,
        ):
            begin(settings.process.log)
            decoder = Decoder(request.feeds.known_to(settings.collector))
            shed = Shed() if settings.bus.overload == "shed" else None
            told_of.add(of_frames(decoder.accounting), of_bus(bus, shed), of_sink(counts))
            stopping = asyncio.Event()
            feeding = feed(
                sources.sources, decoder, bus, told, sources.rotations, shed, known,
                announced=True, stopping=stopping,
            )  # fmt: skip
            reading = [read(bus) for read in readers]

            def gone() -> None:
                if isinstance(bus, Spool):
                    bus.keep()
                why = f"; ended again before; {so_far(request, bus, counts)}{left(bus)}"
                tell(request, decoder, counts, whole=False, why=why)

            try:
                again = partial(renew, request, settings, decoder)
                whole = asyncio.run(_run(
                    request, sources, bus, feeding, reading, gone, again, stopping
                ))  # fmt: skip
                if whole and not sources.failed:
                    stored()
            except (BusError, StoreError):
                why = f"; not all of it is {where}{left(bus)}"
                tell(request, decoder, counts, whole=False, why=why)
                raise
    except BusError as error:
        raise Failure(ExitCode.UNAVAILABLE, str(error)) from None
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None
    except CaptureError as error:
        raise not_read(error) from None
    came = f"what was read is {where}" if decoder.accounting.seen else "nothing was read"
    why = f"; {came}" if sources.failed else f"; stopped by a signal; {came}"
    tell(request, decoder, counts, whole=whole and not sources.failed, why=why)
    if sources.failed:
        raise Failure(ExitCode.UNAVAILABLE, sources.failed)


def so_far(request: Request, bus: Bus, counts: Counter[str]) -> str:
    """How much has arrived, where not all of it will."""
    if request.store is not None:
        return f"at least {counts['rows_observations']:,} rows are stored"
    sent = getattr(getattr(bus, "inner", bus), "sent", {})
    return f"{sent['rows']:,} rows are on the bus"


def left(bus: Bus) -> str:
    """What of it waits on disk for whoever collects next; an empty text where nothing does."""
    spill = getattr(bus, "spill", None)
    if spill is None or not spill.octets:
        return ""
    return f"; {spill.octets:,} bytes of it wait in {spill.directory} for the next collector"


def tell(
    request: Request, decoder: Decoder, counts: Counter[str], *, whole: bool, why: str
) -> None:
    """How the frames ended, and why not all sources were read to their end."""
    account(decoder, stopped=not whole, why=why)
    if request.json:
        rows = {"rows": counts["rows_observations"]} if request.store is not None else {}
        numbers = {"accounting": decoder.accounting.numbers, "whole": whole, **rows}
        typer.echo(json_format.dumps(numbers))


def settings_of(request: Request) -> Settings:
    """Settings as they are now, with those of the command line on top."""
    return chosen(
        collector=assigned(request.assignments),
        bus={"url": request.bus},
        store={"dsn": request.store},
    )


def renew(request: Request, began: Settings, decoder: Decoder) -> None:
    """Read settings again: what frames are read by is taken, the others are named."""
    bound = BOUND if request.store is None else (*BOUND, "store.")
    renewed = reloaded(lambda: settings_of(request), began, bound)
    if renewed is not None:
        decoder.renew(request.feeds.known_to(renewed.collector))


@contextmanager
def target(
    request: Request, settings: Settings, counts: Counter[str]
) -> Iterator[tuple[Bus, Readers, Known, Callable[[], None]]]:
    """The bus that is published on, who reads it here, and what is stored of files.

    That is nobody, or what stores raw rows. The last is called when all of the files was read.
    """
    if request.store is None:
        yield opened(settings), (), nothing_kept, lambda: None
        return
    if request.bus is not None:
        raise Failure(ExitCode.USAGE, "--bus and --store are two places: name one")
    with open_or_ask(settings.store.dsn, settings.store, create=True) as store:
        resuming = Resuming(store)
        # Batches of files are large, and need not wait in memory: their file does.
        bus = waiting(settings.bus, settings.bus.waiting if request.feeds.endless else 1)
        # Of files the same rows are to be sent again when they are read again.
        whole = () if request.feeds.follow else request.captures
        told = read_by(settings, ("collector",), point=request.point, rows="raw")
        readings = Readings(store, whole, told, alone=not request.feeds.endless)
        sink = readings.keeping(store_sink(store, counts), counts)
        files = noticing(sink, store, say, readings.begin) if request.captures else None
        kept = files or Deferred(sink, at_once=())
        take, readers = partial(take_in, stored=stored_last(store)), READERS
        known: Known = nothing_kept
        if request.captures and request.feeds.follow:
            # The last frame says that all before it are stored: nobody stores beside.
            kept, readers, known = resuming.keeping(kept), 1, resuming
        yield bus, [partial(take, sink=kept)] * readers, known, readings.end
        if isinstance(kept, Deferred):
            kept.flush()
        resuming.note()


def opened(settings: Settings) -> Bus:
    """The bus between processes that the settings name."""
    url = settings.bus.url
    if url is None or not url.startswith("kafka:"):
        raise Failure(
            ExitCode.USAGE,
            "--bus must be kafka://host:port/topic, or the setting bus.url name one; --store keeps"
            " raw rows without a bus",
        )
    try:
        return spooled(open_bus(url, settings.bus), settings.bus)
    except BusError as error:
        raise Failure(ExitCode.USAGE, str(error)) from None


async def _run(
    request: Request,
    sources: Sources,
    bus: Bus,
    feed_all: Coroutine[Any, Any, None],
    read_all: Sequence[Coroutine[Any, Any, None]],
    gone: Callable[[], None],
    reload: Callable[[], None],
    stopping: asyncio.Event,
) -> bool:
    """Feed the bus until the sources end or a signal comes; whether they ended.

    What has been read is fed, and what has been fed is read to its end. A reader that fails ends
    the feeding. `gone` is called where a second signal ends it before, `reload` at each SIGHUP.
    """
    feeding = asyncio.ensure_future(feed_all)
    reading = [asyncio.ensure_future(each) for each in read_all]
    leaving: list[asyncio.Task[None]] = []
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        if isinstance(bus, Spool):
            leaving.append(asyncio.ensure_future(bus.leave()))
        if sources.endless:
            sources.stop()
        else:
            stopping.set()

    reload_at(asyncio.get_running_loop(), reload)
    where = "the broker" if request.store is None else "the store"
    on_ending(stop, f"{where} to take what was read", gone)
    await asyncio.wait([feeding, *reading], return_when=asyncio.FIRST_EXCEPTION)
    if not feeding.done():
        stopped = feeding.cancel()
    await asyncio.gather(feeding, *reading, return_exceptions=True)
    for each in reading:
        each.result()
    try:
        feeding.result()
    except asyncio.CancelledError:
        if not stopped:
            raise
    return not stopped
