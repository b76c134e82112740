"""What can be typed behind `hopsight spans`; the work is in `service/commands/spans.py`."""

from typing import Annotated

import typer

from service import completion
from service.argument import At, Interval, Json, Server, Store, Tenant, Vni, Vrf, Window, network_of


def spans(
    src: Annotated[str, typer.Argument(metavar="SRC:PORT", help="Sender, as 10.0.1.2:40001.")],
    dst: Annotated[str, typer.Argument(metavar="DST:PORT", help="Receiver.")],
    *,
    proto: Annotated[
        str, typer.Option(metavar="NAME", help="Protocol.", autocompletion=completion.protocols)
    ] = "tcp",
    at: At = None,
    window: Window = "10s",
    interval: Interval = None,
    tenant: Tenant = None,
    vrf: Vrf = None,
    vni: Vni = None,
    traceparent: Annotated[
        str, typer.Option(metavar="TEXT", help="The span that the hops are put below.")
    ] = "",
    send: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Send them there, such as http://host:4318/v1/traces."),
    ] = None,
    store: Store = None,
    server: Server = None,
    json: Json = False,
) -> None:
    """Show the hops of a flow as spans, with the time that each queue takes (OTLP).

    A terminal shows a table; piped, or with --json, they are a request to export traces.
    """
    from service.commands import spans as command

    asked = {"src": src, "dst": dst, "proto": proto, "at": at, "window": window,
             "interval": interval, "traceparent": traceparent or None,
             **network_of(tenant, vrf, vni)}  # fmt: skip
    command.run(asked, store, server, send, json=json)
