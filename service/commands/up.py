"""`hopsight up`: collector, pipeline, store, API and console in one process."""

import json as json_format
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import typer

from collector import STATUS, Accounting, nothing_kept
from pipeline import Store, StoreError, Worker, stored_last
from service.accounting_text import accounting_line
from service.commands.serve import login_for, open_store, serve_store, told_json
from service.decidable import say
from service.deferred import Deferred
from service.failure import ExitCode, Failure
from service.keeping import store_sink
from service.readings import Readings, judged_by
from service.resuming import Resuming
from service.run import Job, Sink, collector_of, run_job, settings_of
from service.server import bind
from service.sources import Feeds, Sources
from service.stages import of_sink
from service.stopping import ENDING
from service.stored_twice import noticing
from service.topology_source import read_topology, store_topology
from service.warming import warming

STUCK_S = 60.0
"""Seconds without a row stored after which what has come is given up at the end."""
TOLD_S = 5.0
"""Seconds between two lines that tell how far the end is."""
ENDED = "frames that were read are not stored: it was ended again before"
STUCK = "frames that were read are not stored: nothing was for {:g} s"


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
    json: bool = False


class Lost(Failure):
    """What was read is given up, while a thread still works on it."""


class Reading(threading.Thread):
    """Reads the sources into the store beside the server; ends the server when it fails."""

    def __init__(
        self, job: Job, store: Store, readings: Readings, read: Callable[[Accounting], None]
    ) -> None:
        """Begin with `start`; the job's sources are open before `ready` is set.

        `read` is told how the frames ended.
        """
        super().__init__(name="reading", daemon=True)
        self.failure: Exception | None = None
        self.ready = threading.Event()
        self.compiled = threading.Event()
        # A signal that comes while a thread is joined would have it taken for ended.
        self.over = threading.Event()
        self._ending = False
        self._sources: Sources | None = None
        self._resuming = Resuming(store) if job.feeds.follow else None
        known = self._resuming or nothing_kept
        self._job = replace(job, opened=self._opened, heard=stored_last(store), known=known)
        self._store, self._readings, self._read = store, readings, read
        self._counts: Counter[str] = Counter()

    def run(self) -> None:
        """Read until the sources end."""

        def sink(worker: Worker) -> Sink:
            del worker
            self._job.stages.add(of_sink(self._counts))
            return kept

        stored = self._readings.keeping(store_sink(self._store, self._counts), self._counts)
        if self._resuming is not None:
            stored = self._resuming.keeping(stored)
        # Of files the same rows are to be sent again when they are read again.
        begin = self._readings.begin
        files = noticing(stored, self._store, say, begin) if self._job.captures else None
        kept = files or Deferred(stored, beside=True)
        try:
            with warming() as waited:
                ended = run_job(self._job, sink, "reading", partial(self._compile, waited))
            if isinstance(kept, Deferred):
                kept.flush()
            if self._resuming is not None:
                self._resuming.note()
            self._read(ended)
            self._whole()
            if not self._ending:
                self._readings.end()
        except Exception as error:  # noqa: BLE001 - the main thread raises it again
            self.failure = error
            if self.ready.is_set() and not self._ending:
                os.kill(os.getpid(), signal.SIGTERM)
        finally:
            self.ready.set()
            self.over.set()

    def _whole(self) -> None:
        """Raises Failure where a live source has ended that nobody told to."""
        if self._sources is not None and self._sources.failed:
            raise Failure(ExitCode.UNAVAILABLE, self._sources.failed)

    def _compile(self, waited: Callable[[], None]) -> None:
        waited()
        self.compiled.set()

    def _opened(self, sources: Sources) -> None:
        self._sources = sources
        self.ready.set()

    def end(self) -> None:
        """What has come is judged and stored, however long it takes, then it is over.

        Raises what went wrong; Lost says how many frames are lost where nothing is stored any
        more, or where a second signal ends it.
        """
        self._ending = True
        if self._sources is not None:
            self._sources.stop()
        # The server's loop leaves a handler of its own behind, which does nothing any more.
        before = {each: signal.signal(each, signal.default_int_handler) for each in ENDING}
        try:
            self._drained()
        except KeyboardInterrupt:
            raise Lost(ExitCode.STORE, f"{self.left:,} {ENDED}") from None
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
        if self.failure is not None:
            raise self.failure

    @property
    def left(self) -> int:
        """Frames that are read and not stored."""
        ended = self._job.stages.values("hopsight_collector_frames_total")
        decoded, _ = STATUS[0]
        read = ended.get((decoded,), 0)  # others have no rows
        return max(round(read) - self._counts["rows_observations"], 0)

    def _drained(self) -> None:
        """Wait for the end of the work, and tell how far it is. Raises Lost."""
        stored, moved_s = -1, time.monotonic()
        told_s = moved_s
        while not self.over.wait(min(TOLD_S, STUCK_S) / 4):
            now_s, rows = time.monotonic(), self._counts.total()
            if rows != stored or not self.compiled.is_set():
                stored, moved_s = rows, now_s
            if now_s - moved_s > STUCK_S:
                raise Lost(ExitCode.STORE, f"{self.left:,} {STUCK.format(STUCK_S)}")
            if now_s - told_s >= TOLD_S:
                told_s = now_s
                typer.echo(f"ending: {self.left:,} frames that were read are still to be stored"
                           " (Ctrl-C gives them up)", err=True)  # fmt: skip


def run(request: Request) -> None:
    """Read and serve until SIGINT or SIGTERM."""
    request.feeds.beside(request.captures)
    told_settings = partial(
        settings_of,
        request.assignments,
        store={"dsn": request.store},
        service={"host": request.host, "port": request.port},
    )
    settings, parameters = told_settings()
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
            # What is followed goes on where what is stored ends, whatever read that.
            whole = () if request.feeds.follow else request.captures
            readings = Readings(
                store, whole, judged_by(job, settings), alone=not request.feeds.endless
            )
            reading = Reading(job, store, readings, read_json if request.json else read)
            reading.start()
            try:
                reading.ready.wait()
                if reading.failure is None:
                    own = read_topology(request.topology, settings.pipeline.topology)
                    started = told_json if request.json else told
                    serve_store(
                        settings, store, listener, started, own, login, job.stages,
                        lambda: told_settings()[0],
                    )  # fmt: skip
            finally:
                reading.end()
        except Lost as lost:
            gone(lost)
        except StoreError as error:
            raise Failure(ExitCode.STORE, str(error)) from None
        finally:
            store.close()


def gone(lost: Lost) -> NoReturn:
    """End at once: whoever left in order would wait for the thread that still works."""
    typer.echo(f"hopsight: {lost}", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(lost.code)


def told(url: str) -> None:
    """Where to look, and how to end."""
    typer.echo(f"console and API: {url}  (Ctrl-C ends)")


def read(counted: Accounting) -> None:
    """How the frames ended."""
    typer.echo(f"read: {accounting_line(counted.numbers)}")


def read_json(counted: Accounting) -> None:
    """How the frames ended, for a program."""
    typer.echo(json_format.dumps({"accounting": counted.numbers}))
