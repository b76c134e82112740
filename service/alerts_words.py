"""What can be typed behind `hopsight alerts`; the work is in `service/commands/alerts.py`."""

from pathlib import Path
from typing import Annotated

import typer

from service.argument import Json, Server, Store

alerts = typer.Typer(
    name="alerts", help="What is wrong by the rules, what was, and who asked for silence."
)


@alerts.callback(invoke_without_command=True)
def standing(
    context: typer.Context, store: Store = None, server: Server = None, json: Json = False
) -> None:
    """Show alerts that are pending or firing; a silence is said beside them.

    As the service has them that has the store open, or as it was kept last.
    """
    from service.commands import alerts as command

    if context.invoked_subcommand is None:
        command.standing(store, server, json=json)


@alerts.command()
def history(
    rule: Annotated[str, typer.Option(metavar="NAME", help="Only changes of this rule.")] = "",
    rows: Annotated[int, typer.Option("-n", "--rows", help="Most changes shown.", min=1)] = 50,
    store: Store = None,
    json: Json = False,
) -> None:
    """Show how alerts changed, the latest first."""
    from service.commands import alerts as command

    command.history(rule, rows, store, json=json)


@alerts.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of rules (TOML).")],
    json: Json = False,
) -> None:
    """Say what is wrong with a file of rules; status 1 if something is."""
    from service.commands import alerts as command

    command.check(file, json=json)


@alerts.command()
def silences(store: Store = None, server: Server = None, json: Json = False) -> None:
    """List silences and maintenance windows that are not over.

    `alerts silence` and `alerts unsilence` make and end them in a store.

    For a service elsewhere its console does, or POST and DELETE of /api/v1/alerts/silences.
    """
    from service.commands import alerts as command

    command.silences(store, server, json=json)


@alerts.command()
def silence(
    matchers: Annotated[
        list[str], typer.Argument(metavar="LABEL=TEXT...", help="Labels; * is any text.")
    ],
    length: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long.")] = "2h",
    comment: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "",
    maintenance: Annotated[
        bool, typer.Option("--maintenance", help="It is a maintenance window.")
    ] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Ask for silence: alerts with these labels are not delivered."""
    from service.commands import alerts as command

    kind = "maintenance" if maintenance else "silence"
    command.silence(command.Wish(matchers, length, comment, kind), store, json=json)


@alerts.command()
def unsilence(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="As `alerts silence` printed it, and `alerts silences` lists it."
        ),
    ],
    store: Store = None,
    json: Json = False,
) -> None:
    """End a silence now."""
    from service.commands import alerts as command

    command.unsilence(name, store, json=json)
