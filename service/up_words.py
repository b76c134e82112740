"""What can be typed behind `hopsight up`; what it does is in `service/commands/up.py`."""

from service.argument import (
    Assignments,
    Expression,
    Following,
    Host,
    Inputs,
    Interfaces,
    IntReports,
    Json,
    Point,
    Port,
    Sflow,
    Store,
    Topology,
)
from service.hangup import wait_to_reload


def up(
    captures: Inputs = None,
    interface: Interfaces = None,
    expression: Expression = None,
    int_reports: IntReports = None,
    sflow: Sflow = None,
    follow: Following = False,
    store: Store = None,
    topology: Topology = None,
    assignments: Assignments = None,
    point: Point = None,
    *,
    host: Host = None,
    port: Port = None,
    json: Json = False,
) -> None:
    """Run everything in one process: read, judge, store, and serve API and console on loopback.

    Ctrl-C ends it: what has come is still judged and stored.

    A second Ctrl-C gives that up, and says how many frames are lost.

    Captures that have been read stay served.
    """
    wait_to_reload()
    from service.commands import up as command
    from service.sources import Feeds

    command.run(
        command.Request(
            captures=captures or [],
            feeds=Feeds(interface or (), expression, int_reports or (), sflow or (), follow),
            store=store,
            topology=topology,
            assignments=assignments or [],
            point=point,
            host=host,
            port=port,
            json=json,
        )
    )
