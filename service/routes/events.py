"""Changes as they happen: server-sent events."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from service.access import AGAIN, LOCAL, Identity, identity_of
from service.hub import Hub, Listener, stream
from service.problem import Problem
from service.routes.parameter import Parameters

router = APIRouter(prefix="/api/v1", tags=["events"])

MEDIA_TYPE = "text/event-stream"
MOST_ID = 64
Id = Annotated[str, Field(max_length=MOST_ID)]


class EventsParameters(Parameters):
    """From where on."""

    last_event_id: Id = Field("", description="As the header Last-Event-ID, for who cannot set it.")


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    asked: Annotated[EventsParameters, Query()],
    last_event_id: Annotated[Id, Header(description="The last event that was heard.")] = "",
) -> StreamingResponse:
    """What changes, as it happens: `verdict` (a flow's bottleneck), `alert`, `stored` (new rows).

    After a break the events since `Last-Event-ID` are sent again; `reset` says that these are not
    known any more, and that all should be asked anew. The stream ends with the login.
    """
    hub: Hub = request.app.state.hub
    if len(hub.listeners) >= hub.most:
        raise Problem(503, f"{hub.most} listen already (service.max_streams); try again later")
    identity = identity_of(request)
    tenants = None if identity is None or identity.sees_all else identity.tenants
    who = "" if identity is None or identity == LOCAL else identity.name
    if who and sum(each.who == who for each in hub.listeners) >= max(hub.most // 2, 1):
        raise Problem(503, f"{who} has half of service.max_streams already; try again later")
    listener = Listener(tenants, who)

    async def known() -> bool:
        try:
            again: Identity | None = await request.scope[AGAIN]()
        except Problem:
            return False
        return again == identity

    told = stream(hub, listener, last_event_id or asked.last_event_id, known)
    return StreamingResponse(told, media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})
