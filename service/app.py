"""The HTTP application: routes, guards, metrics and the console around one open store."""

import logging
import time
from collections.abc import Callable
from functools import partial

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline import Store, StoreError, Versions
from service import problem
from service.guard import LOCAL_NAMES, Guard
from service.metrics import Metrics
from service.reader import Reader
from service.representation import Tags
from service.routes import (
    alternatives,
    console,
    export,
    flows,
    health,
    internal,
    links,
    signals,
    te,
    telemetry,
    topology,
)
from service.settings import Settings
from service.topology_source import Refreshed, TopologySource, renew, store_topology
from service.version import version

logger = logging.getLogger("hopsight.service")
DESCRIPTION = (
    "Where flows are bottlenecked. Times are ns since 1970, rates bit/s, sizes bytes; `flow` is the"
    " decimal text of a 64-bit hash. Errors are RFC 9457 problem documents that name the field."
)


def create_app(settings: Settings, store: Store, source: TopologySource | None = None) -> FastAPI:
    """The application around an open, migrated store; it opens nothing itself.

    Only loopback may be bound (`ServiceSettings.host`), so there is no login yet. The Host header
    is checked against rebinding, and `/internal` is answered on the owner's Unix socket only. The
    topology of `source` names hops; it is read again when its files have changed.
    """
    app = FastAPI(
        title="hopsight",
        version=version(),
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    metrics = Metrics()
    metrics.move("hopsight_build_info", 1, version=version())
    app.state.settings = settings
    app.state.reader = Reader(store, metrics)
    app.state.metrics = metrics
    app.state.tags = Tags()
    app.state.source = source
    app.state.reload = lambda: logger.info("there is no topology to read again")
    problem.install(app)
    rooms = (
        health, flows, signals, links, te, alternatives, export, telemetry, topology, internal,
        console,
    )  # fmt: skip
    for room in rooms:
        app.include_router(room.router)
    console.mount(app)
    names = (*LOCAL_NAMES, settings.service.host)
    limits = settings.service
    app.add_middleware(
        Guard,
        names=names,
        most_bytes=limits.max_body_bytes,
        most_internal_bytes=limits.max_internal_body_bytes,
    )
    if source is not None:
        source.told = partial(metrics.outcome, "hopsight_topology_reads_total")
        keep = partial(store_topology, store)
        app.add_middleware(Refreshed, source=source, renewed=keep)
        app.state.reload = partial(again, source, keep)
    app.add_middleware(Measured, metrics=metrics)
    return app


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


METHODS = frozenset({"GET", "HEAD", "POST"})
