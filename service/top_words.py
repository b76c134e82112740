"""What can be typed behind `hopsight top` and `watch`; the work is in `service/commands/top.py`."""

from typing import Annotated

import typer

from service.argument import Json, Store

At = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="End of the window; default: the latest that is stored."),
]
Window = Annotated[str, typer.Option(metavar="DURATION", help="Length of the window.")]
Rows = Annotated[
    int, typer.Option("-n", "--rows", help="Most hops and flows shown; --json has all.", min=1)
]
Filter = Annotated[
    str,
    typer.Option(
        "--filter",
        metavar="FILTER",
        help="Only flows that this keeps, such as: stage = tor and u.p99 > 0.95",
    ),
]


def top(
    at: At = None,
    window: Window = "10s",
    rows: Rows = 10,
    keep: Filter = "",
    store: Store = None,
    json: Json = False,
) -> None:
    """Say which hops hold flows back, and which flows, the worst first."""
    from service.commands import top as command

    command.run(command.Request(at, window, rows, keep, store, json=json))


def watch(
    every: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Seconds between two looks.", min=0.2, max=86_400),
    ] = 2.0,
    window: Window = "10s",
    rows: Rows = 10,
    keep: Filter = "",
    store: Store = None,
    json: Json = False,
) -> None:
    """Show which hops hold flows back, again and again, until Ctrl-C; as JSON a line a look."""
    from service.commands import top as command

    command.run(command.Request(None, window, rows, keep, store, json=json, every_s=every))
