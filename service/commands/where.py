"""`hopsight where`: where one flow is bottlenecked, from a store or the process that owns it."""

import json as json_format
from collections.abc import Mapping
from typing import Any

import typer

from pipeline import Question, StoreError, answer, open_or_ask
from service.commands.settings import chosen
from service.endpoint import (
    Endpoint,
    parse_duration,
    parse_endpoint,
    parse_protocol,
)
from service.failure import ExitCode, Failure
from service.remote_api import ask
from service.text import console
from service.typed import moment, parsed
from service.verdict_text import shown


def run(
    *,
    src: str,
    dst: str,
    proto: str,
    at: str | None,
    window: str,
    interval: str | None,
    network: Mapping[str, Any],
    store: str | None,
    server: str | None,
    json: bool,
) -> None:
    """Print the verdict; status 1 when there is none.

    `network` tells flows with the same ends apart: tenant, vrf and vni, None of what may be any.
    """
    source = parsed("SRC:PORT", parse_endpoint, src)
    target = parsed("DST:PORT", parse_endpoint, dst)
    question = Question(
        src=source.address,
        sport=source.port,
        dst=target.address,
        dport=target.port,
        protocol=parsed("--proto", parse_protocol, proto),
        at_ns=moment("--at", at),
        window_ns=parsed("--window", parse_duration, window),
        interval_ns=None if interval is None else parsed("--interval", parse_duration, interval),
        **network,
    )
    found = _ask(store, question) if server is None else _ask_there(server, question)
    if json:
        typer.echo(json_format.dumps(found, allow_nan=False))
    if found["verdict"] is None:
        raise Failure(ExitCode.WRONG, found["message"])
    if not json:
        console().print(shown(found))


def _ask(dsn: str | None, question: Question) -> dict[str, Any]:
    """The answer of the store, whoever has it open."""
    settings = chosen(store={"dsn": dsn})
    try:
        with open_or_ask(settings.store.dsn, settings.store) as store:
            return answer(store, question)
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None


def _ask_there(server: str, question: Question) -> dict[str, Any]:
    """The answer of a service elsewhere."""
    source, target = (
        str(Endpoint(*end))
        for end in ((question.src, question.sport), (question.dst, question.dport))
    )
    window, interval = (
        None if ns is None else f"{ns}ns" for ns in (question.window_ns, question.interval_ns)
    )
    found = ask(
        server,
        "/api/v1/flows/bottleneck",
        {"src": source, "dst": target, "proto": question.protocol, "window": window,
         "at": question.at_ns, "interval": interval, "frames": "true", "tenant": question.tenant,
         "vrf": question.vrf, "vni": question.vni},
        "flows",
    )  # fmt: skip
    return found if "verdict" in found else {"verdict": None, "message": found["detail"]} | found
