"""What can be typed behind `hopsight token`; the work is in `service/commands/token.py`."""

from pathlib import Path
from typing import Annotated

import typer

from service import completion
from service.argument import Json


def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who it is for.")],
    scope: Annotated[
        str,
        typer.Option(
            metavar="SCOPE",
            help="What it may do: read, operate or admin.",
            autocompletion=completion.scopes,
        ),
    ] = "read",
    tenants: Annotated[
        str, typer.Option(metavar="NAMES", help="Whose flows it sees, commas between; * is all.")
    ] = "*",
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="Until when it is good; default: for ever.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Add its hash to this file (mode 0600).")
    ] = None,
    json: Json = False,
) -> None:
    """Make a token for the API and print it, once: only its hash is kept."""
    from service.commands import token as command

    command.run(command.Request(name, scope, tenants, expires, file, json=json))
