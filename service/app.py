"""The HTTP application: routes, guards, metrics and the console around one open store."""

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fastapi import Depends, FastAPI
from opentelemetry.trace import TracerProvider
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline import Store, StoreError, StoreLimits, Versions
from service import problem
from service.access import allowed
from service.alerts.rule import read
from service.alerts.watch import Watch
from service.audit import Audited
from service.body import named_once
from service.guard import LOCAL_NAMES, Guard
from service.headed import Headed
from service.held import Held
from service.hub import Hub
from service.jobs.desk import Desk
from service.login import Identified, Login, login_of
from service.loopback import is_loopback
from service.metrics import DATA_AHEAD, Metrics
from service.openapi import describe
from service.pages import Pages
from service.reader import Reader
from service.representation import Tags
from service.routes import (
    alerts,
    alternatives,
    audit,
    captures,
    console,
    contributors,
    docs,
    events,
    export,
    flow_search,
    flows,
    health,
    internal,
    jobs,
    links,
    replay,
    session,
    signals,
    spans,
    te,
    telemetry,
    topology,
)
from service.routes.parameter import given_once
from service.settings import Settings
from service.told_answers import ToldAnswers
from service.topology_source import Refreshed, TopologySource, renew, store_topology
from service.tracing import NOTHING, told_of
from service.turns import Turns, arrive
from service.version import version

ROOMS = (flows, te, links, flow_search, signals, spans, contributors, alternatives, export,
         telemetry, topology, replay, captures, jobs, alerts, events, audit, health, session,
         internal, docs, console)  # fmt: skip
"""Routes in the order of the reference. They are looked through in it for each request: what many
ask for comes first."""
CHECKS = (allowed, given_once, named_once)
"""What is asked of every request before its route is; each raises Problem."""
logger = logging.getLogger("hopsight.service")
DESCRIPTION = (
    "Where flows are bottlenecked. Times are ns since 1970, rates bit/s, sizes bytes; `flow` is the"
    " decimal text of a 64-bit hash. Errors are RFC 9457 problem documents that name the field."
    " A parameter that holds one value and is given several times is such an error, and so is a"
    " name that an object of a body has twice."
    " An answer about a time says how much of it is known: `interval` is the time, `covered` of it"
    " the share that was judged, or of cells of time the share with rows that a filter keeps;"
    " `captured` the share that live sources captured, 1 where none is known to have missed any, of"
    " one flow's verdict by the sources of its frames alone; `completeness` the share of what"
    " happened that telemetry speaks of, over many flows the mean of their intervals, whatever a"
    " filter keeps, of TE's rows the share of the data frames of those that it keeps. Unknown is"
    " null, and in a table's headers left out. `/flows/bottleneck` has the last two in its verdict."
)


def create_app(
    settings: Settings,
    store: Store,
    source: TopologySource | None = None,
    login: Login | None = None,
    traces: TracerProvider = NOTHING,
) -> FastAPI:
    """The application around an open, migrated store; it opens nothing itself.

    Without a `login` only loopback is served, to anybody there: LoginError for another address. The
    Host header is checked against rebinding, and `/internal` is answered on the owner's Unix socket
    only. The topology of `source` names hops; it is read again when its files have changed.
    """
    login = login or login_of(settings.service, {})
    app = FastAPI(
        title="hopsight",
        version=version(),
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        dependencies=[*map(Depends, CHECKS)],
        telemetry=told_of(traces),
    )
    metrics = Metrics()
    metrics.move("hopsight_build_info", 1, version=version())
    app.state.checks = CHECKS
    app.state.settings = settings
    app.state.login = login
    app.state.reader = reader_on(store, metrics, traces)
    app.state.metrics = metrics
    app.state.tags = Tags()
    app.state.told = ToldAnswers()
    app.state.pages = Pages()
    app.state.hub = Hub(settings.service.max_streams)
    app.state.watch = Watch(read(settings.service.alerts_file), store, app.state.hub, metrics)
    metrics.follow(DATA_AHEAD, app.state.watch.engine.ahead_s)
    app.state.source = source
    ownership = getattr(store, "ownership", None)
    beside = Path(f"{ownership.path}.jobs") if ownership else None
    app.state.desk = Desk(settings, beside, metrics)
    app.state.reload = lambda: logger.info("there is no topology to read again")
    problem.install(app)
    for room in ROOMS:
        app.include_router(room.router)
    console.mount(app)
    describe(app)
    limits = settings.service
    app.add_middleware(Held)
    app.add_middleware(Identified, login=login, requests_per_s=limits.requests_per_s)
    app.add_middleware(Audited, store=store, metrics=metrics)
    app.add_middleware(
        Guard,
        names=(*LOCAL_NAMES, limits.host, *limits.names),
        numbers=not is_loopback(limits.host),
        most_bytes=limits.max_body_bytes,
        most_internal_bytes=limits.max_internal_body_bytes,
        larger={"/api/v1/captures": limits.max_capture_bytes},
    )
    if source is not None:
        source.told = partial(metrics.outcome, "hopsight_topology_reads_total")
        keep = partial(store_topology, store)
        app.add_middleware(Refreshed, source=source, renewed=keep)
        app.state.reload = partial(again, source, keep)
    app.add_middleware(Headed)
    app.add_middleware(Measured, metrics=metrics)
    return app


def reader_on(store: Store, metrics: Metrics, traces: TracerProvider = NOTHING) -> Reader:
    """A store as routes see it."""
    # The reference page is written without a store.
    bounds = getattr(store, "limits", None) or StoreLimits()
    tracer = None if traces is NOTHING else traces.get_tracer("hopsight")
    return Reader(store, metrics, Turns(bounds.readers, bounds.wait_s), tracer)


def again(source: TopologySource, keep: Callable[[Versions], None]) -> None:
    """Read the topology again because somebody asks for it, by a signal."""
    try:
        renew(source, keep, again=True)
    except StoreError as error:
        logger.warning("the names of the topology were not stored: %s", error)


class Measured:
    """ASGI middleware that counts and times every request by the pattern of its route."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on and measure."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        arrive()

        async def watching(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.move("hopsight_http_requests_in_flight", 1)
        try:
            await self.app(scope, receive, watching)
        finally:
            # Only patterns become labels: paths are a stranger's text and would grow without bound.
            route = getattr(scope.get("route"), "path", None) or "other"
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.move("hopsight_http_requests_in_flight", -1)
            self.metrics.count(
                "hopsight_http_requests_total", route=route, method=method, status=str(status)
            )
            self.metrics.observe(
                "hopsight_http_request_seconds", time.perf_counter() - began, route=route
            )


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE"})
