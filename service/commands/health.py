"""`hopsight health`: what was found out about the telemetry, from a store or its owner."""

import json as json_format
from collections.abc import Mapping
from typing import Any

import typer

from pipeline import Asked, StoreError, findings_of, gaps_of, open_or_ask, widened, worth_a_look
from service.commands.settings import chosen
from service.coverage import NOTHING, captured_share, of_rows
from service.coverage_text import spoken_of
from service.endpoint import parse_duration
from service.failure import ExitCode, Failure
from service.health_text import findings_table, wrong
from service.text import console
from service.typed import moment, parsed

MOST = 10_000


def run(*, at: str | None, window: str, everything: bool, store: str | None, json: bool) -> None:
    """Print the findings of a window.

    Status 1 where one is sure and worth a look, and where nothing was judged or is stored at all.
    """
    to_ns = moment("--at", at)
    length_ns = parsed("--window", parse_duration, window)
    settings = chosen(store={"dsn": store})
    try:
        with open_or_ask(settings.store.dsn, settings.store) as opened:
            found = look(opened, to_ns, length_ns)
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None
    lacking = nothing(found)
    if json:
        typer.echo(json_format.dumps(found, allow_nan=False))
    elif not lacking:
        _print(found, everything=everything)
    if said := lacking or wrong(found["findings"]):
        raise Failure(ExitCode.WRONG, said)


def look(store: Asked, to_ns: int | None, length_ns: int) -> dict[str, Any]:
    """What was found in the window that ends at a time; none: with the latest that is stored.

    Keys: those of `GET /api/v1/health/telemetry`, and from_ns and to_ns of its interval; all of
    them None where nothing is stored.
    """
    extent = store.query("extent").row(0, named=True)
    if to_ns is None:
        # Findings, and gaps among them, may be stored of what nobody has judged.
        to_ns = int(extent["to_ns"] or store.query("stored_end")["to_ns"][0])
        if not to_ns:
            return {"from_ns": None, "to_ns": None} | NOTHING | {"findings": [], "more": False}
    from_ns = to_ns - length_ns
    given = {"from_ns": from_ns, "to_ns": to_ns, "class": "", "verdict": "", "rows": MOST + 1}
    rows = store.query("health_findings", **given)
    if extent["verdicts"]:
        # Of before nothing is stored; a time without anything stored is none that was well.
        begun_ns = min([extent["from_ns"], *rows["from_ns"]])
        from_ns = begun_ns if from_ns < begun_ns < to_ns else from_ns
    bounds = widened(rows, from_ns, to_ns)
    judged = store.query("coverage", from_ns=bounds[0], to_ns=bounds[1] - 1)
    return (
        {"from_ns": bounds[0], "to_ns": bounds[1]}
        | of_rows(bounds, judged, captured_share(bounds, gaps_of(store)))
        | {"findings": findings_of(rows.head(MOST)), "more": rows.height > MOST}
    )


def nothing(found: Mapping[str, Any]) -> str:
    """What there is nothing of, empty where something was judged or found."""
    if found["interval"] is None:
        return "the store holds nothing yet"
    if found["findings"] or found["interval"]["covered"]:
        return ""
    return "no telemetry was judged in that time"


def _print(found: Mapping[str, Any], *, everything: bool) -> None:
    """The findings as a person reads them, and of how much of the time they speak."""
    findings = found["findings"]
    shown = findings if everything else [*worth_a_look(findings)]
    left = len(findings) - len(shown)
    if shown:
        console().print(findings_table(shown))
    else:
        console().print("nothing is wrong with the telemetry, as far as was seen")
    if left:
        console().print(f"{left} more are as they should be; --all shows them")
    if found["more"]:
        console().print(f"there are more than {MOST:,} findings; a shorter --window has fewer")
    console().print(spoken_of(found), style="dim")
