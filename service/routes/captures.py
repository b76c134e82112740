"""Captures that are brought, to be analysed or replayed."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from service.form import FILE_NAME, ID
from service.jobs.desk import Desk
from service.problem import Problem
from service.routes.jobs import desk_of, whoever
from service.routes.parameter import Parameters

router = APIRouter(prefix="/api/v1/captures", tags=["captures"])

CaptureName = Annotated[str, Path(pattern=ID, description="The capture's `id`.")]
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The capture file itself: pcap or pcapng, plain or by gzip, zstd or lz4.",
        "content": {"application/octet-stream": {"schema": {"type": "string",
                                                            "format": "binary"}}},
    }
}  # fmt: skip
FORM = "multipart/"


class BringParameters(Parameters):
    """What it is called."""

    name: str = Field(
        "capture.pcap", max_length=100, pattern=FILE_NAME,
        description="Name of the file, which answers and reports have for it.",
    )  # fmt: skip


@router.get("")
async def captures(request: Request) -> dict[str, Any]:
    """The captures that are kept, the latest first, and how much room they take."""
    desk, identity = await desk_of(request), whoever(request)
    latest = desk.folder.kept_captures(identity)
    return {
        "captures": [each.shown() for each in latest],
        "bytes": sum(each.octets for each in latest),
        "most_bytes": desk.limits.max_captures_bytes,
        "most_bytes_each": desk.limits.max_capture_bytes,
    }


@router.post("", status_code=201, openapi_extra=BODY)
async def bring(
    request: Request, response: Response, asked: Annotated[BringParameters, Query()]
) -> dict[str, Any]:
    """Bring a capture: the body is the file. It is kept for `service.keep_jobs_days`."""
    desk: Desk = await desk_of(request)
    kind = request.headers.get("content-type", "")
    if kind.lower().startswith(FORM):
        raise Problem(415, "the body is the file itself, not a form", field="Content-Type")
    made = await desk.bring(whoever(request), asked.name, aiter(request.stream()))
    response.headers["Location"] = f"/api/v1/captures/{made.id}"
    return made.shown()


@router.get("/{name}")
async def capture(request: Request, name: CaptureName) -> dict[str, Any]:
    """One capture."""
    return (await desk_of(request)).capture(whoever(request), name).shown()


@router.delete("/{name}", status_code=204)
async def drop(request: Request, name: CaptureName) -> None:
    """Delete a capture; jobs that were asked for go on."""
    desk = await desk_of(request)
    await run_in_threadpool(desk.folder.forget, desk.capture(whoever(request), name))
