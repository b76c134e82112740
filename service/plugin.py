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
) -> None:
    """Write the dissectors where Wireshark loads them."""
    from service.commands import wireshark as command

    command.install(to)


@wireshark.command("print")
def print_dissectors() -> None:
    """Print the dissectors, for `tshark -X lua_script:FILE`."""
    from service.commands import wireshark as command

    command.print_dissectors()
