"""What can be typed behind `hopsight conform`; what it does is in `service/commands/conform.py`."""

from service.argument import Assignments, Json, Store, Tenant, Topology, Vni, Vrf, network_of
from service.replay_words import (
    Flow,
    From,
    FromOffset,
    ReplayedBus,
    ReplayedPoint,
    To,
    Traces,
)


def conform(
    captures: Traces = None,
    *,
    flow: Flow = None,
    assignments: Assignments = None,
    topology: Topology = None,
    json: Json = False,
    point: ReplayedPoint = None,
    tenant: Tenant = None,
    vrf: Vrf = None,
    vni: Vni = None,
    store: Store = None,
    bus: ReplayedBus = None,
    from_offset: FromOffset = None,
    from_: From = None,
    to: To = None,
) -> None:
    """Say whether senders and receivers do what their congestion control asks, and who does not."""
    from service.commands import conform as command

    request = command.Request(
        captures=captures or [], flow=flow, assignments=assignments or [], topology=topology,
        json=json, point=point, store=store, from_=from_, to=to,
        bus=bus, from_offset=from_offset, network=network_of(tenant, vrf, vni),
    )  # fmt: skip
    command.run(request)
