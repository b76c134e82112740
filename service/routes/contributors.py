"""Who shares the hop that holds one flow back."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool

from service.polled import Polled
from service.reader import reader_of
from service.routes.crossing import NO_OTHERS, crossing, flows_of
from service.routes.flows import answered
from service.routes.parameter import FlowParameters
from service.routes.span import Span, check_window
from service.shape import interval

router = APIRouter(prefix="/api/v1", tags=["flows"], route_class=Polled)


@router.get("/flows/contributors")
async def contributors(
    request: Request, asked: Annotated[FlowParameters, Query()]
) -> dict[str, Any]:
    """The flows at the hop that holds a flow back, most bytes first, with the role of each.

    `hop` is null, and there are no flows, where the network does not hold it back. `first_ns` and
    `last_ns` are the edges of the intervals in which a flow crossed the hop. Where intervals are
    not kept any more, bytes, shares and roles are as `/links/flows` tells them.
    """
    limits, reader = request.app.state.settings.service, reader_of(request)
    check_window(asked.window, limits.max_window_s)
    found = await answered(reader, asked)
    span = Span(found["interval"]["from_ns"], found["interval"]["to_ns"] + 1)
    whole, verdict = found["interval"], found["verdict"]
    told: dict[str, Any] = {
        "flow": found["flow"],
        "interval": interval(span.from_ns, span.to_ns - 1) | {"covered": whole["covered"]},
        "captured": verdict["parts"]["captured"],
        "completeness": verdict["completeness"],
        "notes": found["notes"],
    }
    hop = verdict["hop"]
    if hop is None:
        return told | {"hop": None, "others": NO_OTHERS, "flows": []}
    place = {"node": hop["node"], "port": hop["port"]}
    rows, others, notes = await crossing(reader, span, place, limits.max_rows)
    shown = await run_in_threadpool(flows_of, rows)
    told["notes"] = [*told["notes"], *notes]
    return told | {"hop": hop, "others": others, "flows": shown}
