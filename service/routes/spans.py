"""The hops of a flow as spans, for tracing systems."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import Field, field_validator

from service.hop_spans import PARENT, hop_spans
from service.routes.parameter import SignalsParameters
from service.routes.signals import signals
from service.version import version

router = APIRouter(prefix="/api/v1", tags=["flows"])

EXAMPLE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class SpansParameters(SignalsParameters):
    """A flow, a time, and the trace that its hops belong to."""

    traceparent: str = Field(
        "", max_length=55, examples=[EXAMPLE],
        description="The span of the call (W3C Trace Context) that the hops are put below.",
    )  # fmt: skip
    limit: int = Field(100, ge=1, le=1000, description="Most intervals, the latest.")

    @field_validator("traceparent")
    @classmethod
    def known(cls, given: str) -> str:
        """Refuse what is no traceparent."""
        if given and not PARENT.fullmatch(given):
            raise ValueError(f"is no traceparent of version 00; write {EXAMPLE}")
        return given


@router.get("/flows/spans")
async def spans(request: Request, asked: Annotated[SpansParameters, Query()]) -> dict[str, Any]:
    """The hops of a flow as spans, a request to export traces (OTLP) as JSON.

    In each interval each hop is as long as its queue kept a packet. POST it to `/v1/traces`.
    """
    found = await signals(request, asked)
    return await run_in_threadpool(hop_spans, found, asked.traceparent, asked.limit, version())
