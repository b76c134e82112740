"""`hopsight collect`: observations of captures onto a bus, for pipelines elsewhere."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector import Bus, BusError, Capture, CaptureError, Decoder, Follow, feed, open_bus
from service.captures import name_points, open_all
from service.commands.decode import account, assigned
from service.commands.settings import chosen
from service.failure import ExitCode, Failure
from service.progress import frames_bar
from service.settings import Settings


@dataclass(frozen=True)
class Request:
    """The command line of `collect`."""

    captures: Sequence[Path]
    bus: str | None = None
    follow: bool = False
    assignments: Sequence[str] = field(default_factory=list)
    point: str | None = None


def run(request: Request) -> None:
    """Publish all captures; how the frames ended goes to standard error.

    Begun anew after a failure it publishes from the start, and readers drop what they have.
    """
    settings = chosen(collector=assigned(request.assignments), bus={"url": request.bus})
    bus = opened(settings)
    follow = Follow() if request.follow else None
    captures = open_all(request.captures, follow)
    decoder = Decoder(settings.collector)
    try:
        name_points(captures, request.point)
        with frames_bar("collecting") as told:
            whole = asyncio.run(_run(captures, decoder, bus, told, follow))
    except BusError as error:
        raise Failure(ExitCode.UNAVAILABLE, str(error)) from None
    except CaptureError as error:
        raise Failure(ExitCode.INPUT, str(error)) from None
    finally:
        for capture in captures:
            capture.close()
    account(decoder, stopped=not whole, why="; stopped by a signal; what was read is on the bus")


def opened(settings: Settings) -> Bus:
    """The bus between processes that the settings name."""
    url = settings.bus.url
    if url is None or not url.startswith("kafka:"):
        raise Failure(
            ExitCode.USAGE, "--bus must be kafka://host:port/topic, or the setting bus.url name one"
        )
    try:
        return open_bus(url, settings.bus)
    except BusError as error:
        raise Failure(ExitCode.USAGE, str(error)) from None


async def _run(
    captures: Sequence[Capture],
    decoder: Decoder,
    bus: Bus,
    told: Callable[[int], None],
    follow: Follow | None,
) -> bool:
    """Feed the bus until the captures end or a signal comes; whether they ended."""
    feeding: asyncio.Task[Any] = asyncio.create_task(feed(captures, decoder, bus, told))
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        if follow is not None:
            follow.stop.set()
        else:
            feeding.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        await feeding
    except asyncio.CancelledError:
        if not stopped:
            raise
    return not stopped
