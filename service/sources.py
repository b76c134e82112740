"""The sources that a command names: files, directories, interfaces and UDP feeds, opened."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from collector import (
    Capture,
    CaptureError,
    CollectorSettings,
    Follow,
    LiveError,
    Rotation,
    Source,
    capturing,
    open_capture,
    open_datagrams,
    open_interface,
    tell_apart,
)
from service.captures import name_points
from service.failure import ExitCode, Failure
from service.named_once import STDIN, named_once

POLL_S = 0.1
"""Seconds for which frames of an interface are gathered."""
HIGHEST_PORT = 65_535


@dataclass(frozen=True)
class Feeds:
    """What else than capture files is read, in the words of the command line."""

    interfaces: Sequence[str] = ()
    expression: str | None = None
    int_reports: Sequence[str] = ()
    sflow: Sequence[str] = ()
    follow: bool = False
    """Files are read as they grow, and directories as files arrive in them."""

    @property
    def endless(self) -> bool:
        """Whether somebody has to say when it is enough."""
        return self.follow or bool([*self.interfaces, *self.int_reports, *self.sflow])

    def beside(self, paths: Sequence[Path]) -> None:
        """Failure when there is nothing to read, or a filter that nothing is read through.

        A file or an interface that is not there is told of before a store is made for it.
        """
        if self.expression is not None and not self.interfaces:
            told = "of --interface; of files every frame is read"
            raise Failure(ExitCode.USAGE, f"--filter: {told}")
        if not paths and not (self.interfaces or self.int_reports or self.sflow):
            raise Failure(
                ExitCode.USAGE, "nothing to read: name a capture, --interface or another feed"
            )
        if missing := [path for path in paths if path != STDIN and not path.exists()]:
            open_sources(missing[:1], Feeds(), None).close()
        try:
            for name in self.interfaces:
                capturing(name)
        except LiveError as error:
            raise not_read(error) from None

    def known_to(self, settings: CollectorSettings) -> CollectorSettings:
        """Settings that also take the feeds' own ports for what they are."""
        ports = {
            "report_udp_ports": (*settings.report_udp_ports, *map(port_of, self.int_reports)),
            "sflow_udp_ports": (*settings.sflow_udp_ports, *map(port_of, self.sflow)),
        }
        return settings.model_copy(update={name: (*dict.fromkeys(v),) for name, v in ports.items()})


@dataclass
class Sources:
    """Sources that are open; ends and closes them all."""

    sources: list[Source] = field(default_factory=list)
    rotations: list[Rotation] = field(default_factory=list)
    endless: bool = False
    """Whether they go on until they are told to stop."""

    @property
    def announced(self) -> tuple[str, ...]:
        """Names of those that will bring rows or be ended: the others wait for them."""
        return tuple(each.source for each in self.sources if not each.live)

    @property
    def failed(self) -> str:
        """Why live sources and followed files ended that were not told to; empty: none has."""
        return "; ".join(why for each in self.sources if (why := each.failed))

    def stop(self) -> None:
        """What is live, followed or still arriving ends; what has come is still read."""
        for rotation in self.rotations:
            rotation.stop()
        for source in self.sources:
            source.stop()

    def close(self) -> None:
        """Give back what the system lent."""
        for each in self.sources:
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_sources(
    paths: Sequence[Path],
    feeds: Feeds,
    point: str | None,
    settings: CollectorSettings | None = None,
) -> Sources:
    """Everything opened, or nothing: Failure says in a sentence what cannot be.

    A directory stands for the files in it; with `follow` also for those that arrive later.
    `settings` say how frames of interfaces come, and what the collector is called.
    """
    ring = None
    if settings is not None and settings.ring_directory:
        ring = Path(settings.ring_directory), settings.ring_mib
    named_once(paths)
    opened = Sources(endless=feeds.endless)
    try:
        files: list[Capture] = []
        for path in paths:
            if path.is_dir():
                opened.rotations.append(Rotation(path, endless=feeds.follow, point=point))
            else:
                files.append(open_capture(str(path), Follow() if feeds.follow else None))
                opened.sources.append(files[-1])
        name_points(files, point)
        tell_apart(files)
        for name in dict.fromkeys(feeds.interfaces):
            opened.sources.append(
                open_interface(name, Follow(POLL_S), expression=feeds.expression, ring=ring)
            )
        for kind, told in (("int-reports", feeds.int_reports), ("sflow", feeds.sflow)):
            for text in dict.fromkeys(told):
                host = text.rpartition(":")[0].strip("[]")
                count = os.cpu_count() or 1
                opened.sources += open_datagrams(kind, host, port_of(text), count)
        name_sources(opened.sources, settings.name if settings is not None else "")
    except CaptureError as error:
        opened.close()
        raise not_read(error) from None
    except BaseException:
        opened.close()
        raise
    return opened


def name_sources(sources: Sequence[Source], collector: str) -> None:
    """Tell live sources from those of other collectors that listen to the same names."""
    for each in sources if collector else ():
        if each.live:
            each.source = f"{collector}/{each.source}"


def not_read(error: CaptureError) -> Failure:
    """How a command ends that has a source which cannot be read, or is not to be had."""
    code = ExitCode.INPUT
    if isinstance(error, LiveError):
        code = ExitCode.USAGE if error.asked else ExitCode.UNAVAILABLE
    return Failure(code, str(error))


def port_of(text: str) -> int:
    """The port of HOST:PORT. Raises Failure."""
    host, colon, port = text.rpartition(":")
    with suppress(ValueError):
        if host and colon:
            if 0 < int(port) <= HIGHEST_PORT:
                return int(port)
            raise Failure(ExitCode.USAGE, f"{text!r}: ports are from 1 to {HIGHEST_PORT}")
    raise Failure(ExitCode.USAGE, f"{text!r} is not of the form HOST:PORT")
