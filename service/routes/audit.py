"""The audit log: which requests would have changed something."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field

from service.endpoint import MAX_NS
from service.reader import reader_of
from service.routes.parameter import Parameters, Time
from service.shape import records

router = APIRouter(prefix="/api/v1", tags=["operations"])


class AuditParameters(Parameters):
    """How many, and before when."""

    before: Time | None = None
    limit: int = Field(200, ge=1, le=10_000, description="Most rows of the answer.")


@router.get("/audit")
async def audit(request: Request, asked: Annotated[AuditParameters, Query()]) -> dict[str, Any]:
    """Who asked for a change, when, what, and what was answered, the latest first."""
    before_ns = MAX_NS if asked.before is None else asked.before
    rows = await reader_of(request).ask("audit", before_ns=before_ns, rows=asked.limit + 1)
    return {"audit": records(rows.head(asked.limit)), "more": rows.height > asked.limit}
