"""Captures through collector, bus and pipeline: what `analyze`, `replay` and `demo` share."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector import (
    JOINED_ROWS,
    UNREADABLE,
    Accounting,
    Bus,
    BusError,
    BusSettings,
    CaptureError,
    CollectorSettings,
    Decoder,
    Known,
    MemoryBus,
    SharkError,
    Shed,
    SlowPath,
    feed,
    nothing_kept,
    spooled,
)
from pipeline import (
    CSIG_VALUES,
    SHOWN,
    Heard,
    Output,
    PipelineSettings,
    StoreError,
    Topology,
    Value,
    Versions,
    Worker,
    drain,
    never,
    parameter_table,
)
from service.assigned import value_of
from service.assignment import parameter_of, told_once
from service.commands.settings import chosen
from service.failure import ExitCode, Failure
from service.progress import frames_bar
from service.settings import Settings
from service.sources import Feeds, Sources, not_read, open_sources
from service.stages import Stages, of_bus, of_frames, of_worker
from service.stopping import on_ending
from service.topology_source import TopologySource
from service.warming import warming

BATCHES = 4
"""Batches that may wait on the bus of a replay."""
SECTIONS = ("collector", "pipeline")
Sink = Callable[[Output, str], None]


@dataclass(frozen=True)
class Job:
    """What is run: captures, what they are read by, and what the recurrences are told."""

    captures: Sequence[Path]
    collector: CollectorSettings
    pipeline: PipelineSettings
    topology: TopologySource | Topology | None = None
    parameters: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    point: str | None = None
    slow_path: int = 0
    """Frames that tshark may be asked about, when the tables do not know them."""
    renewed: Callable[[Versions], None] | None = None
    """Hears of another topology that was taken while the job ran."""
    feeds: Feeds = field(default_factory=Feeds)
    bus: BusSettings = field(default_factory=BusSettings)
    """How far the worker may be behind the decoder, and what live frames do then."""
    stages: Stages = field(default_factory=Stages)
    """Are told of decoder, bus and worker, so that their counters can be asked for."""
    known: Known = nothing_kept
    """Knows what of followed files is stored."""
    heard: Heard = never
    """Knows when live sources were heard of before they began."""
    opened: Callable[[Sources], None] = lambda _: None
    """Is given the sources, so that another thread can end them. Without it a signal does."""


def run_job(
    job: Job,
    sink: Callable[[Worker], Sink],
    label: str,
    begun: Callable[[], None] | None = None,
    *,
    watched: bool = False,
) -> Accounting:
    """Run a job to its end; `sink` is made for the worker. Raises Failure for unreadable input.

    `begun` waits for a warming that was begun before; `watched` says that the sink watches senders
    and receivers.
    """
    told_ports = job.feeds.known_to(job.collector)
    with open_sources(job.captures, job.feeds, job.point, job.collector) as sources:
        job.opened(sources)
        decoder = SlowPath(told_ports, job.slow_path) if job.slow_path else Decoder(told_ports)
        given = job.topology
        known = given.versions if isinstance(given, TopologySource) else given
        try:
            worker = Worker(job.pipeline, known, sources.announced, job.parameters)
        except ValueError as error:
            raise Failure(ExitCode.USAGE, f"--set: {error}") from None
        job.stages.add(of_frames(decoder.accounting), of_worker(worker))
        worker.rescaled = follows(job.collector, worker.versions)
        needed = ("judge", "watch") if watched else ("judge",)
        with nullcontext(begun) if begun else warming(*needed) as ready, frames_bar(label) as told:
            kept, between = sink(worker), renewing(job, worker)

            def judging(bus: Bus) -> Coroutine[Any, Any, None]:
                return once(ready, drain(bus, worker, kept, between, job.heard))

            asyncio.run(_run(sources, decoder, judging, told, job))
        ended = decoder.accounting
        if not job.feeds.endless and ended.seen and ended.reasons == {UNREADABLE: ended.seen}:
            raise Failure(ExitCode.INPUT, f"of {ended.seen:,} files none can be read as a capture")
        return ended


async def _run(
    sources: Sources,
    decoder: Decoder,
    judging: Callable[[Bus], Coroutine[Any, Any, None]],
    progress: Callable[[int], None],
    job: Job,
) -> None:
    """Feed and drain one bus."""
    bus = waiting(job.bus, job.bus.waiting)
    shed = Shed() if job.bus.overload == "shed" else None
    job.stages.add(of_bus(bus, shed))
    if sources.endless and threading.current_thread() is threading.main_thread():
        on_ending(sources.stop, "what was read to be judged")
    await beside(
        feed(sources.sources, decoder, bus, progress, sources.rotations, shed, job.known),
        judging(bus),
    )


def waiting(settings: BusSettings, batches: int) -> Bus:
    """A bus inside this process for so many batches, with room on disk where the settings give it.

    Failure where the disk does not take them.
    """
    if not settings.spill_directory:
        return MemoryBus(batches, JOINED_ROWS, round(settings.behind_ms * 1_000_000))
    try:
        return spooled(MemoryBus(1), settings)
    except BusError as error:
        raise Failure(ExitCode.USAGE, str(error)) from None


async def once(ready: Callable[[], None], draining: Coroutine[Any, Any, None]) -> None:
    """Drain as soon as the code for it is ready."""
    try:
        await asyncio.to_thread(ready)
    except BaseException:
        draining.close()
        raise
    await draining


async def beside(*works: Coroutine[Any, Any, None]) -> None:
    """Run works beside each other; when one fails the others are stopped."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as errors:
        # `except*` would put what it raises into a group of its own on some versions of Python.
        known, other = errors.split((CaptureError, SharkError, Failure, StoreError, OSError))
        if known is None or other is not None:
            raise
        error = known.exceptions[0]
        if isinstance(error, SharkError):
            raise Failure(ExitCode.UNAVAILABLE, f"--slow-path: {error}") from None
        if isinstance(error, CaptureError):
            raise not_read(error) from None
        raise error from None


def renewing(job: Job, worker: Worker) -> Callable[[], None]:
    """What gives the worker another topology between two batches, when the file has changed."""
    held = job.topology

    def renew() -> None:
        if isinstance(held, TopologySource) and held.refresh():
            worker.renew(held.versions)
            if job.renewed is not None:
                job.renewed(held.versions)

    return renew


def collector_of(settings: Settings, held: TopologySource | None) -> CollectorSettings:
    """Settings of the collector; what they leave open of CSIG the newest topology tells."""
    known = held.versions.newest if held else None
    given = {
        name: getattr(settings.collector, name) for name in settings.collector.model_fields_set
    }
    told = known.collector_settings() if known else {}
    return CollectorSettings.model_validate({**told, **given}) if told else settings.collector


def follows(collector: CollectorSettings, known: Versions) -> bool:
    """Whether values of CSIG are those of the topology: none of the collector's settings differs.

    Then each version's hold at its time, and those of one that is taken later.
    """
    told = known.newest.collector_settings() if known.newest else {}
    newest = CollectorSettings.model_validate(told)
    return all(getattr(newest, name) == getattr(collector, name) for name in CSIG_VALUES)


def settings_of(
    assignments: Sequence[str], companion: str | None = None, **flags: Mapping[str, Any]
) -> tuple[Settings, dict[str, dict[str, Value]]]:
    """Settings with `section.name=value` assignments on top, and parameters of the recurrences.

    A parameter is told as NAME=VALUE, for every algorithm that has it, or as ALGORITHM.NAME=VALUE,
    over those that settings tell.
    `companion` is run beside those that the settings name. Failure for what is told twice.
    """
    told_once("--set", assignments)
    return settled(assignments, companion, **flags)


def settled(
    assignments: Sequence[str], companion: str | None = None, **flags: Mapping[str, Any]
) -> tuple[Settings, dict[str, dict[str, Value]]]:
    """The same where a later assignment may take the place of an earlier one, as a change does."""
    sections: dict[str, dict[str, Any]] = {name: dict(flags.get(name, {})) for name in SECTIONS}
    told: list[tuple[str, str]] = []
    for text in assignments:
        name, equals, value = text.partition("=")
        section, dot, key = name.partition(".")
        if not equals:
            raise Failure(ExitCode.USAGE, f"--set {text!r} is not of the form NAME=VALUE")
        if dot and section in sections:
            if key in flags.get(section, ()):
                raise Failure(ExitCode.USAGE, f"--set {name}: another option tells it already")
            sections[section][key] = value_of(value)
        else:
            told.append((name, value))
    rest = {name: value for name, value in flags.items() if name not in SECTIONS}
    settings = chosen(**sections, **rest)
    if companion is not None:
        sections["pipeline"]["companions"] = [*settings.pipeline.companions, companion]
        settings = chosen(**sections, **rest)
    tables = {name: parameter_table(name) for name in (*SHOWN, *settings.pipeline.companions)}
    parameters: dict[str, dict[str, Value]] = {}
    for name, value in told:
        for algorithm, values in parameter_of(name, value, tables).items():
            parameters.setdefault(algorithm, {}).update(values)
    return settings, settings.pipeline.parameters_with(parameters)
