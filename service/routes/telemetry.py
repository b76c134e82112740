"""Health of the telemetry: what is missing, who breaks its rules, whose clock is off."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from pipeline import findings_of, widened
from service.coverage import NOTHING
from service.polled import Polled
from service.reader import reader_of
from service.routes.coverage import coverage_of
from service.routes.parameter import RangeParameters
from service.routes.span import Span, chosen

router = APIRouter(prefix="/api/v1", tags=["telemetry"], route_class=Polled)


class HealthParameters(RangeParameters):
    """A time range, and which findings are wanted."""

    class_: Literal["coverage", "device", "deployment", "clock"] | None = Field(
        None, alias="class", description="Only findings of this class."
    )
    verdict: Literal["yes", "cannot_tell"] | None = Field(
        None, description="Only findings with this verdict."
    )
    limit: int = Field(500, ge=1, le=10_000, description="Most findings of the answer.")


@router.get("/health/telemetry")
async def telemetry_health(
    request: Request, asked: Annotated[HealthParameters, Query()]
) -> dict[str, Any]:
    """What was found out about the telemetry, each finding with its evidence, as known last.

    What is sure comes first; where nothing is, `tells` says what tap or telemetry would tell. The
    interval is widened to the whole ones that findings are counted by.
    """
    reader = reader_of(request)
    span = await chosen(reader, asked, request.app.state.settings.service.max_window_s)
    if span is None:
        return NOTHING | {"findings": [], "more": False}
    rows = await reader.ask(
        "health_findings",
        **span.bounds,
        **{"class": asked.class_ or "", "verdict": asked.verdict or ""},
        rows=asked.limit + 1,
    )
    whole = Span(*widened(rows, span.from_ns, span.to_ns))
    return await coverage_of(reader, whole) | {
        "findings": await run_in_threadpool(findings_of, rows.head(asked.limit)),
        "more": rows.height > asked.limit,
    }
