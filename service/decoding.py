"""What can be typed behind `hopsight decode`; what it does is in `service/commands/`."""

from pathlib import Path
from typing import Annotated

import typer

from service.argument import Captures, CollectorAssignments, Point


def decode(
    captures: Captures,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
    parquet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all observations as Parquet.")
    ] = None,
    arrow: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all observations as an Arrow file.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="These columns of the observation, as they are."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="CONDITION", help="Only rows for which this holds; SQL over columns."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="ROWS", help="Stop after so many; 100 on a terminal.", min=1),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on as the capture grows, until interrupted.")
    ] = False,
    assignments: CollectorAssignments = None,
    point: Point = None,
) -> None:
    """Print what each frame of captures says; the columns are those of an observation."""
    from service.commands import decode as command

    request = command.Request(
        captures=captures,
        json=json,
        parquet=parquet,
        arrow=arrow,
        columns=columns,
        where=where,
        limit=limit,
        follow=follow,
        assignments=assignments or [],
        point=point,
    )
    command.run(request)
