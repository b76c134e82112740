"""`hopsight collect`: observations of captures onto a bus, for pipelines elsewhere."""

import asyncio
import json as json_format
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from collector import Bus, BusError, CaptureError, Decoder, Shed, feed, open_bus, spooled
from service.commands.decode import account, assigned
from service.commands.settings import chosen
from service.failure import ExitCode, Failure
from service.logs import begin
from service.progress import frames_bar
from service.reloading import reloaded
from service.settings import Settings
from service.sources import Feeds, Sources, open_sources
from service.stages import of_bus, of_frames, telling


@dataclass(frozen=True)
class Request:
    """The command line of `collect`."""

    captures: Sequence[Path]
    bus: str | None = None
    feeds: Feeds = field(default_factory=Feeds)
    assignments: Sequence[str] = field(default_factory=list)
    point: str | None = None
    json: bool = False


def run(request: Request) -> None:
    """Publish all that the sources bring; how the frames ended goes to standard error.

    Begun anew after a failure it publishes from the start, and readers drop what they have.
    """
    request.feeds.beside(request.captures)
    settings = settings_of(request)
    bus = opened(settings)
    decoder = Decoder(request.feeds.known_to(settings.collector))
    begin(settings.process.log)
    try:
        with (
            telling(settings.process.metrics) as told_of,
            open_sources(request.captures, request.feeds, request.point) as sources,
            frames_bar("collecting") as told,
        ):
            shed = Shed() if settings.bus.overload == "shed" else None
            told_of.add(of_frames(decoder.accounting), of_bus(bus, shed))
            whole = asyncio.run(_run(request, sources, decoder, bus, told, shed))
    except BusError as error:
        raise Failure(ExitCode.UNAVAILABLE, str(error)) from None
    except CaptureError as error:
        raise Failure(ExitCode.INPUT, str(error)) from None
    account(decoder, stopped=not whole, why="; stopped by a signal; what was read is on the bus")
    if request.json:
        typer.echo(json_format.dumps({"accounting": decoder.accounting.numbers, "whole": whole}))


def settings_of(request: Request) -> Settings:
    """Settings as they are now, with those of the command line on top."""
    return chosen(collector=assigned(request.assignments), bus={"url": request.bus})


def opened(settings: Settings) -> Bus:
    """The bus between processes that the settings name."""
    url = settings.bus.url
    if url is None or not url.startswith("kafka:"):
        raise Failure(
            ExitCode.USAGE, "--bus must be kafka://host:port/topic, or the setting bus.url name one"
        )
    try:
        return spooled(open_bus(url, settings.bus), settings.bus)
    except BusError as error:
        raise Failure(ExitCode.USAGE, str(error)) from None


async def _run(
    request: Request,
    sources: Sources,
    decoder: Decoder,
    bus: Bus,
    told: Callable[[int], None],
    shed: Shed | None = None,
) -> bool:
    """Feed the bus until the sources end or a signal comes; whether they ended."""
    feeding: asyncio.Task[Any] = asyncio.create_task(
        feed(sources.sources, decoder, bus, told, sources.rotations, shed)
    )
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        if sources.endless:
            sources.stop()
        else:
            feeding.cancel()

    def reload() -> None:
        renewed = reloaded(lambda: settings_of(request))
        if renewed is not None:
            decoder.renew(request.feeds.known_to(renewed.collector))

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, reload)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        await feeding
    except asyncio.CancelledError:
        if not stopped:
            raise
    return not stopped
