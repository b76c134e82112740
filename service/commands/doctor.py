"""`hopsight doctor`: looks at every stage in order, and says what to do."""

import json as json_format
from dataclasses import asdict
from pathlib import Path

import typer

from service.check import Check
from service.doctor import checks
from service.failure import ExitCode, Failure
from service.text import Heading, console, table

HEADINGS = (
    Heading("stage"), Heading("state"), Heading("expected"), Heading("seen"), Heading("what to do"),
)  # fmt: skip
STYLES = {"ok": "green", "warning": "yellow", "broken": "bold red", "not asked": "dim"}


def run(*, store: str | None, topology: Path | None, bus: str | None, json: bool) -> None:
    """Print every check; status 1 when a stage is broken."""
    named = None if topology is None else str(topology)
    flags = {"store": {"dsn": store}, "pipeline": {"topology": named}, "bus": {"url": bus}}
    found = list(checks(flags))
    if json:
        typer.echo(json_format.dumps([asdict(check) for check in found]))
    else:
        from rich.text import Text

        def row(check: Check) -> tuple[object, ...]:
            state = Text(check.state, style=STYLES[check.state])
            return (check.stage, state, check.expected, check.seen, check.advice or None)

        console().print(table(HEADINGS, map(row, found)))
    if broken := [check.stage for check in found if check.state == "broken"]:
        raise Failure(ExitCode.WRONG, f"broken: {', '.join(broken)}; begin with the first")
