"""What can be typed behind `hopsight collect`; what it does is in `service/commands/`."""

from typing import Annotated

import typer

from service.argument import (
    Expression,
    Following,
    Inputs,
    Interfaces,
    IntReports,
    Point,
    Sflow,
)

Bus = Annotated[
    str | None,
    typer.Option(
        "--bus", metavar="URL", help="Bus: kafka://host:port/topic. Default: setting bus.url."
    ),
]


def collect(
    captures: Inputs = None,
    interface: Interfaces = None,
    expression: Expression = None,
    int_reports: IntReports = None,
    sflow: Sflow = None,
    follow: Following = False,
    bus: Bus = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="collector.NAME=VALUE", help="Set a setting; repeatable."),
    ] = None,
    point: Point = None,
) -> None:
    """Publish observations on a bus, for pipelines in other processes. Ctrl-C ends a feed."""
    from service.commands import collect as command
    from service.sources import Feeds

    command.run(
        command.Request(
            captures=captures or [],
            feeds=Feeds(interface or (), expression, int_reports or (), sflow or (), follow),
            bus=bus,
            assignments=assignments or [],
            point=point,
        )
    )
