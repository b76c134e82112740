"""What can be typed behind `hopsight collect`; what it does is in `service/commands/`."""

from typing import Annotated

import typer

from service.argument import Captures, Point

Bus = Annotated[
    str | None,
    typer.Option(
        "--bus", metavar="URL", help="Bus: kafka://host:port/topic. Default: setting bus.url."
    ),
]


def collect(
    captures: Captures,
    bus: Bus = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on as the capture grows, until SIGTERM or Ctrl-C.")
    ] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="collector.NAME=VALUE", help="Set a setting; repeatable."),
    ] = None,
    point: Point = None,
) -> None:
    """Publish the observations of captures on a bus, for pipelines in other processes."""
    from service.commands import collect as command

    command.run(
        command.Request(
            captures=captures,
            bus=bus,
            follow=follow,
            assignments=assignments or [],
            point=point,
        )
    )
