"""Whether the process lives, whether it can answer, and what it has counted."""

from typing import Any

from fastapi import APIRouter, Request, Response

from service.access import identity_of
from service.version import version

router = APIRouter(tags=["operations"])

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process lives; nothing else is asked."""
    return {"status": "ok", "version": version()}


@router.get("/readyz")
async def readyz(request: Request) -> dict[str, Any]:
    """The store answers a question now; 503 otherwise."""
    held = await request.app.state.reader.ask("ready")
    identity = identity_of(request)
    if identity is None or not identity.sees_all:
        return {"status": "ready"}
    return {"status": "ready", "verdicts": int(held["verdicts"][0])}


@router.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Counters in the Prometheus text format."""
    return Response(request.app.state.metrics.text(), media_type=METRICS_TYPE)
