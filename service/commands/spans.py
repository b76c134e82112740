"""`hopsight spans`: the hops of a flow as spans, printed or sent to a tracing system."""

import asyncio
import json as json_format
import sys
from http import HTTPStatus
from typing import Any

import httpx
import typer
from pydantic import ValidationError

from pipeline import StoreError, open_or_ask
from service.commands.settings import chosen
from service.decidable import say
from service.failure import ExitCode, Failure
from service.form import said_of
from service.hop_spans import hop_spans
from service.metrics import Metrics
from service.problem import Problem
from service.reader import Reader
from service.remote_api import TIMEOUT_S, ask, check_url
from service.routes.signals import signals_of
from service.routes.spans import SpansParameters
from service.span_text import shown
from service.text import console
from service.trust import trust
from service.turns import Turns
from service.version import version

MOST_SAID = 200
"""Letters of what a collector says."""
ENDS = {"src": "SRC:PORT", "dst": "DST:PORT"}
"""Arguments that no option names."""


def run(
    asked: dict[str, Any], store: str | None, server: str | None, send: str | None, *, json: bool
) -> None:
    """Ask a store, or a service elsewhere; print the spans, or send them on."""
    if send is not None:
        check_url("--send", send)
    given = {name: value for name, value in asked.items() if value is not None}
    told = ask(server, "/api/v1/flows/spans", given) if server else read(given, store)
    [resource] = told["resourceSpans"]
    made = resource["scopeSpans"][0]["spans"]
    if not made:
        raise Failure(ExitCode.WRONG, "no hop of this flow told its load in that time")
    if send is None:
        if json or not sys.stdout.isatty():  # piped, it is what a tracing system takes
            typer.echo(json_format.dumps(told))
        else:
            console().print(shown(told))
        return
    try:
        answer = httpx.post(send, json=told, timeout=TIMEOUT_S, verify=trust(send))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Failure(ExitCode.UNAVAILABLE, f"--send {send}: {error}") from None
    if not answer.is_success:
        why = f"{answer.status_code} {answer.reason_phrase} {shortened(answer.text)}".rstrip()
        raise Failure(ExitCode.UNAVAILABLE, f"--send {send}: {why}")
    left, why = refused(answer)
    if left:
        said = f"{left} of {len(made)} spans were refused{why and f': {why}'}"
        raise Failure(ExitCode.WRONG, f"--send {send}: {said}")
    if why:
        say([f"--send {send}: {why}"])
    sent = json_format.dumps({"spans": len(made), "sent": send})
    typer.echo(sent if json else f"{len(made)} spans sent to {send}")


def refused(answer: httpx.Response) -> tuple[int, str]:
    """How many spans a collector did not take that took the rest, and what it says (OTLP/HTTP).

    With 0 what it says is a warning.
    """
    try:
        told = answer.json()["partialSuccess"]
        return int(told.get("rejectedSpans", 0)), shortened(str(told.get("errorMessage", "")))
    except (ValueError, LookupError, TypeError, AttributeError):
        return 0, ""  # it says nothing of them


def shortened(text: str) -> str:
    """What somebody else says, on one line."""
    return " ".join(text.split())[:MOST_SAID]


def read(given: dict[str, Any], dsn: str | None) -> dict[str, Any]:
    """The spans by what a store holds, whoever has it open. Raises Failure."""
    settings = chosen(store={"dsn": dsn})
    try:
        asked = SpansParameters.model_validate(given)
        with open_or_ask(settings.store.dsn, settings.store) as store:
            turns = Turns(settings.store.readers, settings.store.wait_s)
            reader = Reader(store, Metrics(), turns)
            found = asyncio.run(signals_of(reader, asked, settings.service.max_window_s))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise Failure(ExitCode.USAGE, f"{ENDS.get(name, f'--{name}')}: {said_of(first)}") from None
    except Problem as problem:
        seen = problem.status == HTTPStatus.NOT_FOUND
        raise Failure(ExitCode.WRONG if seen else ExitCode.STORE, problem.detail) from None
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None
    return hop_spans(found, asked.traceparent, asked.limit, version())
