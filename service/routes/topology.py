"""The topology that names hops and hosts, as the store has it at one time."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from service.endpoint import MAX_NS
from service.places import Places
from service.reader import Reader, reader_of
from service.representation import Tags, documented
from service.routes.parameter import Parameters, Time
from service.shape import records

router = APIRouter(prefix="/api/v1", tags=["topology"])

LATEST = MAX_NS
"""The time whose topology is the one in force last."""


class TopologyParameters(Parameters):
    """Which of several versions."""

    at: Time | None = None


@router.get("/topology")
async def topology(request: Request, asked: Annotated[TopologyParameters, Query()]) -> Response:
    """The hops with the device at the other end of each, and the hosts with their prefixes.

    Both are empty where no topology was told: hops then have raw names.
    """
    state, reader = request.app.state, reader_of(request)
    revision = reader.store.revision
    same: Response | None = state.tags.unchanged(request, revision)
    if same is not None:
        return same
    at_ns = LATEST if asked.at is None else asked.at
    hops = await reader.ask("hops", at_ns=at_ns)
    hosts = await reader.ask("te_hosts", at_ns=at_ns)
    versions = hops["topology"].unique().sort().to_list()

    def told() -> Response:
        answer = {
            "version": versions[-1] if versions else None,
            "hops": records(hops.drop("topology")),
            "hosts": records(hosts),
        }
        return documented(request, answer)

    made = await run_in_threadpool(told)
    state.tags.remember(Tags.key(request), revision, made.headers["etag"])
    return made


async def located(reader: Reader, at_ns: int) -> Places:
    """Where addresses are by the topology in force at a time."""
    return await run_in_threadpool(Places, await reader.ask("te_hosts", at_ns=at_ns))
