"""Jobs: captures analysed, replayed, rebuilt and judged, flows of the store too, in their time."""

import json
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

import polars as pl
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from replay import TOLD, lines
from service.access import Identity, identity_of
from service.cursor import place_behind, place_of
from service.form import ID
from service.jobs.desk import Desk
from service.jobs.kept import DONE, Job, Kind
from service.jobs.wanted import Asked
from service.problem import Problem
from service.representation import JSON, tagged
from service.routes.parameter import Cursor, Parameters, Start
from service.sent_file import SentFile

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

JobName = Annotated[str, Path(pattern=ID, description="The job's `id`.")]
MEDIA = {"arrow": "application/vnd.apache.arrow.file", "html": "text/html; charset=utf-8"}
SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""A report is a page of its own: no script of it runs, and it asks nobody."""


class JobsParameters(Parameters):
    """Which jobs."""

    kind: Kind | None = None
    state: Literal["queued", "running", "done", "failed", "cancelled"] | None = None
    cursor: Cursor = None
    limit: int = Field(100, ge=1, le=1000, description="Most jobs of the answer.")


class ResultParameters(Parameters):
    """In which form, and which page of decisions."""

    format: Literal["json", "arrow", "html"] = Field(
        "json", description="Representation; `results` of the job names those that there are."
    )
    start: Start = Field(0, description="Number of the first decision of the page.")
    limit: int = Field(2000, ge=1, le=10_000, description="Most decisions of the answer.")


async def desk_of(request: Request) -> Desk:
    """Where jobs are asked for; its folder is open. Raises Problem."""
    desk: Desk = request.app.state.desk
    await run_in_threadpool(lambda: desk.folder)
    return desk


def whoever(request: Request) -> Identity:
    """Who asks. Raises Problem."""
    identity = identity_of(request)
    if identity is None:
        raise Problem(401, "nobody is known to ask")
    return identity


@router.get("")
async def jobs(request: Request, asked: Annotated[JobsParameters, Query()]) -> dict[str, Any]:
    """The jobs that are kept, the latest first."""
    desk, identity = await desk_of(request), whoever(request)
    seen = [
        each for each in desk.folder.kept_jobs(identity)
        if asked.kind in {None, each.kind} and asked.state in {None, each.state}
    ]  # fmt: skip
    if asked.cursor:
        (last_ns,) = place_of(asked.cursor, asked, 1)
        seen = [each for each in seen if each.created_ns < last_ns]
    page = seen[: asked.limit]
    more = len(seen) > len(page)
    return {
        "jobs": [each.shown() for each in page],
        "more": more,
        "cursor": place_behind(asked, page[-1].created_ns) if more else None,
    }


@router.post("", status_code=202)
async def ask(request: Request, response: Response, wanted: Asked) -> dict[str, Any]:
    """Ask for a job; it waits for those before it. `GET` tells how far it is."""
    desk = await desk_of(request)
    made = await run_in_threadpool(desk.ask, whoever(request), wanted)
    response.headers["Location"] = f"/api/v1/jobs/{made.id}"
    return made.shown()


@router.get("/{name}")
async def job(request: Request, name: JobName) -> dict[str, Any]:
    """One job: its state, how far it is, why it failed, what it found and in which forms."""
    return (await desk_of(request)).job(whoever(request), name).shown()


@router.post("/{name}/cancel")
async def cancel(request: Request, name: JobName) -> dict[str, Any]:
    """End a job that waits or runs."""
    desk = await desk_of(request)
    return (await run_in_threadpool(desk.cancel, whoever(request), name)).shown()


@router.delete("/{name}", status_code=204)
async def drop(request: Request, name: JobName) -> None:
    """Delete a job that has ended, with what it made."""
    desk = await desk_of(request)
    await run_in_threadpool(desk.forget, whoever(request), name)


@router.get("/{name}/result")
async def result(
    request: Request, name: JobName, asked: Annotated[ResultParameters, Query()]
) -> Response:
    """What a job made: the answer of its command with `--json`; of a replay a page of decisions."""
    desk = await desk_of(request)
    found = desk.job(whoever(request), name)
    if found.state != DONE:
        raise Problem(409, f"the job is {found.state}, so it has no result", field="name")
    if asked.format not in found.results:
        raise Problem(422, f"format: {asked.format} is none of {', '.join(sorted(found.results))}",
                      field="format")  # fmt: skip
    path = desk.folder.job_place(found.id) / found.results[asked.format]
    if not await run_in_threadpool(path.is_file):
        raise Problem(404, "the result is not kept any more", field="name")
    if asked.format in MEDIA:
        headers = {"Content-Security-Policy": SANDBOX} if asked.format == "html" else {}
        return SentFile(path, media_type=MEDIA[asked.format], headers=headers)
    if found.kind != "replay":
        return SentFile(path, media_type=JSON)
    body = await run_in_threadpool(paged, path, found, asked)
    return tagged(request, body, b"", JSON, {})


def paged(path: FilePath, found: Job, asked: ResultParameters) -> bytes:
    """A page of the decisions of a replay."""
    page = pl.scan_ipc(path).slice(asked.start, asked.limit).collect()
    rest, total = asked.start + page.height, int(found.found.get("decisions", 0))
    about: Mapping[str, Any] = {
        "total": total, "start": asked.start, "next": rest if rest < total else None
    }  # fmt: skip
    texts = lines(page, TOLD).to_list() if page.height else []
    return f'{json.dumps(about)[:-1]},"decisions":[{",".join(texts)}]}}'.encode()
