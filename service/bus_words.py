"""What can be typed behind `collect` and `pipeline`; what they do is in `service/commands/`."""

from typing import Annotated

import typer

from service.argument import (
    Assignments,
    Bus,
    CollectorAssignments,
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
from service.hangup import wait_to_reload

RawStore = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DSN",
        help="Keep raw rows here, unjudged: chdb:///directory, http(s)://…",
    ),
]

Rows = Annotated[
    bool,
    typer.Option("--rows", help="Store what each frame said, and judge nothing."),
]


def collect(
    captures: Inputs = None,
    interface: Interfaces = None,
    expression: Expression = None,
    int_reports: IntReports = None,
    sflow: Sflow = None,
    follow: Following = False,
    bus: Bus = None,
    store: RawStore = None,
    assignments: CollectorAssignments = None,
    point: Point = None,
    json: Json = False,
) -> None:
    """Publish observations on a bus, for pipelines in other processes, or store them unjudged.

    Ctrl-C ends a feed.
    """
    wait_to_reload()
    from service.commands import collect as command
    from service.sources import Feeds

    command.run(
        command.Request(
            captures=captures or [],
            feeds=Feeds(interface or (), expression, int_reports or (), sflow or (), follow),
            bus=bus,
            store=store,
            assignments=assignments or [],
            point=point,
            json=json,
        )
    )


def pipeline(
    bus: Bus = None,
    store: Store = None,
    topology: Topology = None,
    assignments: Assignments = None,
    rows: Rows = False,
    json: Json = False,
) -> None:
    """Be one worker of the group that turns a bus into rows of a store, until SIGTERM."""
    wait_to_reload()
    from service.commands import pipeline as command

    command.run(
        command.Request(
            bus=bus,
            store=store,
            topology=topology,
            assignments=assignments or [],
            rows=rows,
            json=json,
        )
    )
