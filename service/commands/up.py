"""`hopsight up`: collector, pipeline, store, API and console in one process."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import typer

from pipeline import Store, StoreError, Worker
from service.accounting_text import accounting_line
from service.commands.serve import login_for, open_store, serve_store
from service.failure import ExitCode, Failure
from service.keeping import store_sink
from service.run import Job, Sink, collector_of, run_job, settings_of
from service.server import bind
from service.sources import Feeds, Sources
from service.stages import of_sink
from service.topology_source import read_topology, store_topology

END_S = 30.0
"""Seconds that what has come may take to be judged and stored after the end."""


@dataclass(frozen=True)
class Request:
    """The command line of `up`."""

    captures: Sequence[Path]
    feeds: Feeds
    store: str | None = None
    topology: Path | None = None
    assignments: Sequence[str] = field(default_factory=list)
    point: str | None = None
    host: str | None = None
    port: int | None = None


class Reading(threading.Thread):
    """Reads the sources into the store beside the server; ends the server when it fails."""

    def __init__(self, job: Job, store: Store) -> None:
        """Begin with `start`; the job's sources are open before `ready` is set."""
        super().__init__(name="reading", daemon=True)
        self.failure: Exception | None = None
        self.ready = threading.Event()
        self._sources: Sources | None = None
        self._job = replace(job, opened=self._opened)
        self._store = store
        self._told = False

    def run(self) -> None:
        """Read until the sources end."""

        def sink(worker: Worker) -> Sink:
            del worker
            counts: Counter[str] = Counter()
            self._job.stages.add(of_sink(counts))
            return store_sink(self._store, counts)

        try:
            counted = run_job(self._job, sink, "reading")
            typer.echo(f"read: {accounting_line(counted.numbers)}")
        except Exception as error:  # noqa: BLE001 - the main thread raises it again
            self.failure = error
            if self.ready.is_set():
                os.kill(os.getpid(), signal.SIGTERM)
        finally:
            self.ready.set()

    def _opened(self, sources: Sources) -> None:
        self._sources = sources
        self.ready.set()

    def end(self) -> None:
        """What has come is judged and stored, then it is over. Raises what went wrong."""
        if self._sources is not None:
            self._sources.stop()
        self.join(END_S)
        if self.is_alive():
            raise Failure(ExitCode.STORE, "what was read could not be judged in time; it is lost")
        if self.failure is not None:
            raise self.failure


def run(request: Request) -> None:
    """Read and serve until SIGINT or SIGTERM."""
    request.feeds.beside(request.captures)
    settings, parameters = settings_of(
        request.assignments,
        store={"dsn": request.store},
        service={"host": request.host, "port": request.port},
    )
    login = login_for(settings)
    topology = read_topology(request.topology, settings.pipeline.topology)
    with bind(settings.service.host, settings.service.port) as listener:
        store = open_store(settings)
        try:
            job = Job(
                request.captures,
                collector_of(settings, topology),
                settings.pipeline,
                topology,
                parameters,
                request.point,
                renewed=partial(store_topology, store),
                feeds=request.feeds,
                bus=settings.bus,
            )
            if topology is not None:
                store_topology(store, topology.versions)
            reading = Reading(job, store)
            reading.start()
            try:
                reading.ready.wait()
                if reading.failure is None:
                    own = read_topology(request.topology, settings.pipeline.topology)
                    serve_store(settings, store, listener, told, own, login, job.stages)
            finally:
                reading.end()
        except StoreError as error:
            raise Failure(ExitCode.STORE, str(error)) from None
        finally:
            store.close()


def told(url: str) -> None:
    """Where to look, and how to end."""
    typer.echo(f"console and API: {url}  (Ctrl-C ends)")
