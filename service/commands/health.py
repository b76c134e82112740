"""`hopsight health`: what was found out about the telemetry, from a store or its owner."""

import json as json_format
from typing import Any

import polars as pl
import typer

from pipeline import StoreError, findings_of, open_or_ask, widened, worth_a_look
from service.commands.settings import chosen
from service.endpoint import parse_duration
from service.failure import ExitCode, Failure
from service.health_text import findings_table
from service.text import console
from service.typed import moment, parsed

MOST = 10_000


def run(*, at: str | None, window: str, everything: bool, store: str | None, json: bool) -> None:
    """Print the findings of a window; status 1 when the store has no verdicts at all."""
    to_ns = moment("--at", at)
    length_ns = parsed("--window", parse_duration, window)
    try:
        rows, span = asked(store, to_ns, length_ns)
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None
    if rows is None:
        raise Failure(ExitCode.WRONG, "the store holds nothing yet")
    findings = findings_of(rows)
    if json:
        from_ns, end_ns = span
        told: dict[str, Any] = {"from_ns": from_ns, "to_ns": end_ns, "findings": findings}
        typer.echo(json_format.dumps(told, allow_nan=False))
        return
    shown = findings if everything else [*worth_a_look(findings)]
    left = len(findings) - len(shown)
    if shown:
        console().print(findings_table(shown))
    else:
        console().print("nothing is wrong with the telemetry, as far as was seen")
    if left:
        console().print(f"{left} more are as they should be; --all shows them")


def asked(
    store: str | None, to_ns: int | None, length_ns: int
) -> tuple[pl.DataFrame | None, tuple[int, int]]:
    """Rows of the window, and what they cover; None where the store is empty without a time."""
    settings = chosen(store={"dsn": store})
    with open_or_ask(settings.store.dsn, settings.store) as opened:
        if to_ns is None:
            extent = opened.query("extent").row(0, named=True)
            if not extent["verdicts"]:
                return None, (0, 0)
            to_ns = int(extent["to_ns"])
        span = (to_ns - length_ns, to_ns)
        given = {"from_ns": span[0], "to_ns": span[1], "class": "", "verdict": "", "rows": MOST}
        rows = opened.query("health_findings", **given)
        return rows, widened(rows, *span)
