"""What can be typed behind `hopsight health`; what it does is in `service/commands/health.py`."""

from typing import Annotated

import typer

from service.argument import Json, Store


def health(
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="End of the window; default: the latest that is stored."),
    ] = None,
    window: Annotated[
        str, typer.Option(metavar="DURATION", help="How far back from TIME to look.")
    ] = "10m",
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is as it should be.")
    ] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Say what is wrong with the telemetry: where it is missing, and which devices mislead.

    Status 1 when a finding is sure and worth a look, or nothing was judged in that time.
    """
    from service.commands import health as command

    command.run(at=at, window=window, everything=everything, store=store, json=json)
