"""`hopsight pipeline`: one worker of the group that turns a bus into rows of a store."""

import asyncio
import json as json_format
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import typer

from collector import BusError
from pipeline import (
    CSIG_VALUES,
    Crew,
    Meeting,
    PipelineSettings,
    SnapshotError,
    Store,
    StoreError,
    StoreOwned,
    Value,
    Worker,
)
from service.commands.serve import open_store
from service.failure import ExitCode, Failure
from service.hangup import reload_at
from service.keeping import patiently
from service.logs import begin
from service.reloading import reloaded
from service.run import settings_of
from service.settings import Settings
from service.stages import Stages, of_crew, telling
from service.stopping import on_ending
from service.topology_source import TopologySource, read_topology, store_topology
from service.way import take_turns

BOUND = ("bus.", "store.", "process.", *(f"collector.{name}" for name in sorted(CSIG_VALUES)))
"""How the names of settings begin that hold until a worker ends."""


@dataclass(frozen=True)
class Request:
    """The command line of `pipeline`."""

    bus: str | None = None
    store: str | None = None
    topology: Path | None = None
    assignments: Sequence[str] = field(default_factory=list)
    rows: bool = False
    """Judge nothing."""
    json: bool = False


def run(request: Request) -> None:
    """Work until SIGTERM or Ctrl-C; then finish what was begun and keep the state."""
    settings, parameters = told(request)
    if settings.bus.url is None:
        raise Failure(
            ExitCode.USAGE, "--bus must be kafka://host:port/topic, or the setting bus.url name one"
        )
    begin(settings.process.log)
    take_turns()
    topology = read_topology(request.topology, settings.pipeline.topology)
    # What cannot be is refused before anything is connected.
    try:
        worker_of(settings, topology, parameters).tracker.snapshot()
    except SnapshotError as error:
        raise Failure(ExitCode.USAGE, f"pipeline.companions: {error}") from None
    patience_s = settings.bus.retry_s
    # Whoever watches hears of a store that is away, too.
    with (
        telling(settings.process.metrics) as stages,
        open_store(settings, taken, patience_s) as store,
    ):
        try:
            if topology is not None:
                versions = topology.versions
                patiently(lambda: store_topology(store, versions), patience_s)
            counters = asyncio.run(_run(settings, store, topology, parameters, request, stages))
        except StoreError as error:
            raise Failure(ExitCode.STORE, str(error)) from None
        except SnapshotError as error:
            raise Failure(ExitCode.USAGE, str(error)) from None
        except BusError as error:
            raise Failure(ExitCode.UNAVAILABLE, str(error)) from None
    if request.json:
        typer.echo(json_format.dumps(counters))
    else:
        typer.echo(", ".join(f"{name} {count:,}" for name, count in counters.items() if count))


def taken(error: StoreOwned) -> str:
    """An embedded store takes one worker, and says so to a second."""
    return (
        f"{error}; an embedded store takes one pipeline, several need a server: --store"
        " http://host:8123/hopsight"
    )


def told(request: Request) -> tuple[Settings, dict[str, dict[str, Value]]]:
    """Settings as they are now, with those of the command line on top."""
    return settings_of(request.assignments, bus={"url": request.bus}, store={"dsn": request.store})


def worker_of(
    settings: Settings,
    topology: TopologySource | None,
    parameters: Mapping[str, Mapping[str, Value]],
) -> Worker:
    """A worker with empty state."""
    try:
        known = topology.versions if topology else None
        worker = Worker(settings.pipeline, known, (), parameters)
    except ValueError as error:
        raise Failure(ExitCode.USAGE, f"--set: {error}") from None
    # Collectors know no topology: its values hold, unless the settings tell them too.
    worker.rescaled = not CSIG_VALUES & settings.collector.model_fields_set
    return worker


def renew(request: Request, began: Settings, tune: Callable[[PipelineSettings], None]) -> None:
    """Read settings again: what workers take is given to them, the others are named."""
    renewed = reloaded(lambda: told(request)[0], began, BOUND)
    if renewed is not None:
        tune(renewed.pipeline)


async def _run(
    settings: Settings,
    store: Store,
    topology: TopologySource | None,
    parameters: Mapping[str, Mapping[str, Value]],
    request: Request,
    stages: Stages,
) -> dict[str, int]:
    """Be a member of the group until a signal comes; what moved."""
    crew = Crew(
        str(settings.bus.url),
        settings.bus,
        store,
        lambda: worker_of(settings, topology, parameters),
        lambda: Meeting(settings.pipeline, topology.versions if topology else None),
        judged=not request.rows,
    )

    def reload() -> None:
        renew(request, settings, crew.tune)
        if topology is not None and topology.refresh():
            store_topology(store, topology.versions)
            crew.renew(topology.versions)

    on_ending(crew.stop.set, "store and broker to take what was begun")
    reload_at(asyncio.get_running_loop(), reload)
    stages.add(of_crew(crew))
    await crew.run()
    return {**crew.worked, **crew.counters}
