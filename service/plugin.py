"""What can be typed behind `hopsight wireshark`; what it does is in `service/commands/`."""

from pathlib import Path
from typing import Annotated

import typer

wireshark = typer.Typer(
    name="wireshark", help="Dissectors for Wireshark and tshark.", no_args_is_help=True
)


@wireshark.command()
def install(
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Folder; default: Wireshark's personal plugins."),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON for machines: the path, and what was done there."),
    ] = False,
) -> None:
    """Write the dissectors where Wireshark loads them."""
    from service.commands import wireshark as command

    command.install(to, json=json)


@wireshark.command("print")
def print_dissectors(
    json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON for machines: the script, its name and size."),
    ] = False,
) -> None:
    """Print the dissectors, for `tshark -X lua_script:FILE`."""
    from service.commands import wireshark as command

    command.print_dissectors(json=json)
