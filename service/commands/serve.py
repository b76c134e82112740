"""`hopsight serve`: own the store, and answer API and console on loopback until Ctrl-C."""

import json as json_format
import logging
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import typer
from fastapi import FastAPI

from pipeline import Store, StoreError, StoreOwned, parse_address
from service.alerts.rule import AlertsError, read
from service.alerts.watch import Watch
from service.app import create_app
from service.beat import Beat
from service.changes import Changes
from service.commands.settings import chosen
from service.decidable import say
from service.failure import ExitCode, Failure
from service.jobs.desk import Desk
from service.keeping import patiently
from service.login import Login, LoginError, login_of
from service.logs import begin
from service.metrics import CERTIFICATE_END
from service.problem import Problem
from service.reloading import reloaded
from service.server import address, bind, serve
from service.settings import Settings
from service.stages import Stages
from service.tls import Tls
from service.topology_source import TopologySource, read_topology, store_topology
from service.tracing import tracing
from service.way import give_way

logger = logging.getLogger("hopsight.service")


def run(*, store: str | None, host: str | None, port: int | None, json: bool) -> None:
    """Serve until SIGINT or SIGTERM."""
    read_again = partial(chosen, store={"dsn": store}, service={"host": host, "port": port})
    settings = read_again()
    login = login_for(settings)
    source = read_topology(None, settings.pipeline.topology)
    started: Callable[[str], None] = told_json if json else told
    with bind(settings.service.host, settings.service.port) as listener:
        new = missing(settings)
        opened = open_store(settings)
        try:
            if source is not None:
                store_topology(opened, source.versions)
            if new is not None:
                started = told_as_new(started, new)
            serve_store(settings, opened, listener, started, source, login, read_again=read_again)
        except StoreError as error:
            raise Failure(ExitCode.STORE, str(error)) from None
        finally:
            opened.close()


def missing(settings: Settings) -> Path | None:
    """The embedded store that the settings name, where there is none yet."""
    try:
        place = parse_address(settings.store.dsn).path
    except StoreError:
        return None  # whoever opens it says why
    return None if place is None or place.exists() else place


def told_as_new(started: Callable[[str], None], place: Path) -> Callable[[str], None]:
    """The same, and that nobody stored anything there: a name may be mistyped."""

    def tell(url: str) -> None:
        started(url)
        say([f"there was no store at {place}: a new one, which is empty, was made"])

    return tell


def login_for(settings: Settings) -> Login:
    """Who is let in; Failure where anybody would be, or where rules of alerts cannot be read."""
    try:
        read(settings.service.alerts_file)
        return login_of(settings.service, os.environ)
    except AlertsError as error:
        raise Failure(ExitCode.USAGE, f"service.alerts_file: {error}") from None
    except LoginError as error:
        raise Failure(ExitCode.USAGE, str(error)) from None


def told(url: str) -> None:
    """Where to look."""
    typer.echo(f"hopsight serves {url}")


def told_json(url: str) -> None:
    """Where to look, for a program that asked for any free port."""
    typer.echo(json_format.dumps({"url": url}))


def owned(error: StoreOwned) -> str:
    """Who has a store open, and where it answers."""
    return f"{error} and answers at {error.owner.url}" if error.owner.url else str(error)


def open_store(
    settings: Settings, taken: Callable[[StoreOwned], str] = owned, patience_s: float = 0.0
) -> Store:
    """The store that the settings name, opened by this process and brought up to date.

    `taken` says what there is to be done when another process has it. One that does not answer is
    tried again for `patience_s`, and that is told within seconds.
    """
    try:
        return patiently(partial(opened, settings), patience_s)
    except StoreOwned as error:
        raise Failure(ExitCode.STORE, taken(error)) from None
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None


def opened(settings: Settings) -> Store:
    """The same, once. Raises StoreError."""
    store = Store(settings.store.dsn, settings.store)
    try:
        store.migrate()
    except StoreError:
        store.close()
        raise
    return store


def serve_store(
    settings: Settings,
    store: Store,
    listener: socket.socket,
    started: Callable[[str], None],
    source: TopologySource | None = None,
    login: Login | None = None,
    stages: Stages | None = None,
    read_again: Callable[[], Settings] | None = None,
) -> None:
    """Serve an open store on a bound socket; beside an embedded store a Unix socket answers too.

    SIGHUP reads topology and rules of alerts again, and settings by `read_again`.
    """
    tls = Tls.of(settings.service.tls_certificate, settings.service.tls_key)
    url = address(listener, secure=tls is not None)
    ownership = store.ownership
    unix = ownership.listen() if ownership else None

    def ready() -> None:
        if ownership and unix:
            ownership.announce(url, str(unix.getsockname()))
        started(url)

    login = login or login_for(settings)
    begin(settings.process.log)
    with tracing(settings.process.traces) as traces:
        app = create_app(settings, store, source, login, traces)
        if stages is not None:
            app.state.metrics.registry.register(stages)
        if tls is not None:
            tls.warn()
            app.state.metrics.follow(CERTIFICATE_END, lambda: tls.to_s)
        if read_again is not None:
            app.state.reload = partial(renew, app, read_again, app.state.reload)
        _served(app, store, listener, unix, ready, source.path if source else None, tls)


def renew(app: FastAPI, read_again: Callable[[], Settings], topology: Callable[[], None]) -> None:
    """Read all again: rules of alerts and the topology are taken, other settings are named."""
    reloaded(read_again, app.state.settings)
    _renew_alerts(app.state.watch, app.state.settings.service.alerts_file)
    topology()


def _renew_alerts(watch: Watch, path: Path | None) -> None:
    try:
        file = read(path)
    except AlertsError as error:
        logger.warning("rules of alerts are refused, the ones before hold: %s", error)
        return
    if file == watch.file:
        logger.info("rules of alerts were read again and are as before")
    else:
        watch.renew(file)
        logger.info("rules of alerts were read again and are taken: %d rules, %d receivers",
                    len(file.rule), len(file.receiver))  # fmt: skip


def _served(
    app: FastAPI,
    store: Store,
    listener: socket.socket,
    unix: socket.socket | None,
    ready: Callable[[], None],
    topology: Path | None,
    tls: Tls | None,
) -> None:
    """Serve, with what the service does by itself beside it."""
    watch: Watch = app.state.watch
    beats = (
        Beat([give_way]),
        Beat([store.trim_when_due]),
        *([Beat([tls.renew])] if tls else ()),
        Beat([Changes(store, app.state.hub).step, watch.engine.step]),
    )
    desk: Desk = app.state.desk
    try:
        desk.begin(topology)
    except Problem as error:
        raise Failure(ExitCode.UNAVAILABLE, error.detail) from None
    for beat in (*beats, watch):
        beat.start()
    try:
        serve(app, listener, unix, ready, app.state.reload, tls, app.state.hub.close)
    finally:
        desk.end()
        for beat in (*beats, watch):
            beat.end()
