"""What can be typed behind `hopsight analyze`; what it does is in `service/commands/analyze.py`."""

from typing import Annotated

import typer

from service import completion
from service.argument import (
    Assignments,
    Expression,
    Following,
    Inputs,
    Interfaces,
    IntReports,
    Json,
    Point,
    Sflow,
    Store,
    Topology,
)


def analyze(
    captures: Inputs = None,
    *,
    interface: Interfaces = None,
    expression: Expression = None,
    int_reports: IntReports = None,
    sflow: Sflow = None,
    follow: Following = False,
    json: Json = False,
    store: Store = None,
    topology: Topology = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            help="How the senders run DCTCP: auto, rfc8257, linux, linux_before, ns3, classic.",
            autocompletion=completion.dialects,
        ),
    ] = None,
    base_rtt: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Base RTT T of HPCC++, such as 12us.")
    ] = None,
    assignments: Assignments = None,
    point: Point = None,
    slow_path: Annotated[
        bool, typer.Option("--slow-path", help="Ask tshark about frames that are not known.")
    ] = False,
    slow_path_frames: Annotated[
        int, typer.Option(help="Most frames that tshark is asked about.", min=1)
    ] = 10_000,
) -> None:
    """Say for each flow where it is bottlenecked; no service is needed. Ctrl-C ends a feed."""
    from service.commands import analyze as command
    from service.sources import Feeds

    request = command.Request(
        captures=captures or [],
        feeds=Feeds(interface or (), expression, int_reports or (), sflow or (), follow),
        json=json,
        store=store,
        topology=topology,
        dialect=dialect,
        base_rtt=base_rtt,
        assignments=assignments or [],
        point=point,
        slow_path=slow_path_frames if slow_path else 0,
    )
    command.run(request)
