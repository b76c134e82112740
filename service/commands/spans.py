"""`hopsight spans`: the hops of a flow as spans, printed or sent to a tracing system."""

import json as json_format
from typing import Any

import httpx
import typer

from service.commands.settings import chosen
from service.failure import ExitCode, Failure
from service.remote_api import TIMEOUT_S, ask


def run(asked: dict[str, Any], server: str | None, send: str | None, *, json: bool) -> None:
    """Ask the service; print what it says, or send it on."""
    own = chosen().service
    host = f"[{own.host}]" if ":" in own.host else own.host
    told = ask(server or f"http://{host}:{own.port}", "/api/v1/flows/spans", asked)
    [resource] = told["resourceSpans"]
    made = resource["scopeSpans"][0]["spans"]
    if not made:
        raise Failure(ExitCode.WRONG, "no hop of this flow told its load in that time")
    if send is None:
        typer.echo(json_format.dumps(told, ensure_ascii=False))
        return
    try:
        answer = httpx.post(send, json=told, timeout=TIMEOUT_S)
        answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Failure(ExitCode.UNAVAILABLE, f"--send {send}: {error}") from None
    sent = json_format.dumps({"spans": len(made), "sent": send})
    typer.echo(sent if json else f"{len(made)} spans sent to {send}")
