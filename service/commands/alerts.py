"""`hopsight alerts`: what stands, what was, and silences, out of the store whoever has it open."""

import getpass
import json as json_format
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from pydantic import TypeAdapter, ValidationError

from pipeline import OwnerClient, Store, StoreError, open_or_ask
from service.alerts.engine import MOST_ALERTS, labels_of, named
from service.alerts.rule import AlertFile, AlertsError, Mistake, Rule, read
from service.alerts.silence import LONGEST_NS, MOST_DAYS, Matchers, Silence, ending, silences_of
from service.alerts.standing import as_kept, latest_first
from service.alerts.watch import MOST_SILENCES
from service.commands.settings import chosen
from service.endpoint import MAX_NS, parse_duration, time_text
from service.failure import ExitCode, Failure
from service.form import Text, said_of
from service.future import MOST_AHEAD_NS, reached
from service.remote_api import ask
from service.shape import changes_of
from service.text import Heading, console, several, table
from service.typed import parsed

STANDING = (
    Heading("state"), Heading("rule"), Heading("labels"), Heading("value", numeric=True),
    Heading("since"), Heading("silenced by"),
)  # fmt: skip
CHANGES = (
    Heading("time"), Heading("state"), Heading("rule"), Heading("labels"),
    Heading("value", numeric=True),
)  # fmt: skip
SILENCES = (
    Heading("name"), Heading("labels"), Heading("kind"), Heading("state"), Heading("from"),
    Heading("until"), Heading("by"), Heading("why"),
)  # fmt: skip
AS_KEPT = (
    "by the last change that was kept: no service that looks at rules was asked (--server asks one)"
)
MISTAKES = (Heading("file"), Heading("place"), Heading("mistake"))


@dataclass(frozen=True)
class Wish:
    """The command line of `silence`."""

    matchers: Sequence[str]
    length: str
    comment: str
    kind: str


@contextmanager
def opened(dsn: str | None, *, writes: bool = False) -> Iterator[Store | OwnerClient]:
    """The store; Failure has its sentence."""
    settings = chosen(store={"dsn": dsn})
    try:
        with open_or_ask(settings.store.dsn, settings.store, writes=writes) as store:
            yield store
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None


def standing(dsn: str | None, server: str | None, *, json: bool) -> None:
    """Print what is pending or firing, as the service has it that moves it, or as it was kept."""
    said = ""
    if server is not None:
        told = ask(server, "/api/v1/alerts", {})
    else:
        with opened(dsn) as store:
            if isinstance(store, OwnerClient):
                told = store.alerts()
            else:
                told, said = kept(store), AS_KEPT
    if json:
        typer.echo(json_format.dumps(told, allow_nan=False))
        return
    if told["alerts"]:
        console().print(table(STANDING, map(_standing, told["alerts"]), title="alerts"))
    else:
        typer.echo("no alert is pending or firing")
    if now_ns := told["now_ns"]:
        said = f"looked at {time_text(now_ns)}, in the time of the data"
    typer.echo(said or "no rule was looked at yet")


def kept(store: Store) -> dict[str, Any]:
    """The same by the changes that a store has; when it was looked at last is not known."""
    now_ns = time.time_ns()
    given = {"until_ns": now_ns + MOST_AHEAD_NS, "rows": MOST_ALERTS}
    rows = store.query("alerts_last", **given).to_dicts()
    quiet = silences_of(store.query("silences", after_ns=now_ns, rows=MOST_SILENCES))
    to_ns = reached(store, now_ns).to_ns
    rules = _rules() if rows else {}
    stood = latest_first(as_kept(row, rules, to_ns) for row in rows)
    return {"now_ns": None, "alerts": [each.shown(quiet, now_ns) for each in stood]}


def _rules() -> dict[str, Rule]:
    """The rules that the settings name; alerts are shown where these cannot be read as well."""
    try:
        return named(read(chosen().service.alerts_file))
    except AlertsError as error:
        typer.echo(f"service.alerts_file: {error}", err=True)
        return {}


def _standing(row: dict[str, Any]) -> tuple[Any, ...]:
    state = f"{row['state']}, flapping" if row["flapping"] else row["state"]
    return (state, row["rule"], _labels(row["labels"]), _value(row["value"]),
            time_text(row["since_ns"]), ", ".join(row["silenced_by"]) or None)  # fmt: skip


def history(rule: str, most: int, dsn: str | None, *, json: bool) -> None:
    """Print how alerts changed."""
    with opened(dsn) as store:
        told = changes_of(store.query("alerts_history", rule=rule, before_ns=MAX_NS, rows=most))
    if json:
        typer.echo(json_format.dumps({"changes": told}, allow_nan=False))
    elif not told:
        typer.echo(f"no alert of a rule {rule!r} has changed" if rule else "no alert has changed")
    else:
        lines = ((time_text(row["time_ns"]), row["state"], row["rule"], _labels(row["labels"]),
                  _value(row["value"])) for row in told)  # fmt: skip
        console().print(table(CHANGES, lines, title="changes of alerts, the latest first"))


def check(file: Path, *, json: bool) -> None:
    """Print every mistake of a file of rules; status 1 when there is one."""
    found = AlertFile()
    wrong: tuple[Mistake, ...] = ()
    try:
        found = read(file)
    except AlertsError as error:
        if not error.mistakes:
            raise Failure(ExitCode.INPUT, str(error)) from None
        wrong = error.mistakes
    rules, receivers = (None, None) if wrong else (len(found.rule), len(found.receiver))
    if json:
        errors = [{"file": str(file), **mistake._asdict()} for mistake in wrong]
        told = {"rules": rules, "receivers": receivers, "errors": errors}
        typer.echo(json_format.dumps(told))
    elif not wrong:
        typer.echo(
            f"fine: {several(len(found.rule), 'rule')}, {several(len(found.receiver), 'receiver')}"
        )
    else:
        lines = ((file.name, mistake.place or None, mistake.sentence) for mistake in wrong)
        console().print(table(MISTAKES, lines))
        typer.echo(f"{len(wrong)} wrong")
    if wrong:
        raise typer.Exit(int(ExitCode.WRONG))


def silences(dsn: str | None, server: str | None, *, json: bool) -> None:
    """Print the silences that are not over, as a store or a service elsewhere has them."""
    now_ns = time.time_ns()
    if server is not None:
        told = ask(server, "/api/v1/alerts/silences", {})["silences"]
    else:
        with opened(dsn) as store:
            rows = store.query("silences", after_ns=now_ns, rows=MOST_SILENCES)
        told = [each.shown() for each in silences_of(rows)]
    if json:
        typer.echo(json_format.dumps({"silences": told}))
    elif not told:
        typer.echo("no silence is in force or to come")
    else:
        lines = (_silence(row, now_ns) for row in told)
        console().print(table(SILENCES, lines, title="silences that are not over"))


def _silence(row: dict[str, Any], now_ns: int) -> tuple[Any, ...]:
    labels = " ".join(f"{name}={text}" for name, text in row["matchers"].items())
    state = "to come" if row["from_ns"] > now_ns else "in force"
    return (row["id"], labels, row["kind"], state, time_text(row["from_ns"]),
            time_text(row["to_ns"]), row["author"], row["comment"])  # fmt: skip


def silence(wish: Wish, dsn: str | None, *, json: bool) -> None:
    """Keep a silence and print its name."""
    if wrong := [pair for pair in wish.matchers if "=" not in pair]:
        raise Failure(ExitCode.USAGE, f"{wrong[0]!r} is not LABEL=TEXT")
    matchers: dict[str, str] = {}
    for name, _, text in (pair.partition("=") for pair in wish.matchers):
        if not name:
            raise Failure(ExitCode.USAGE, f"'={text}': a label has a name")
        if name in matchers:
            raise Failure(
                ExitCode.USAGE, f"{name} is given twice: a silence has one text of each label"
            )
        matchers[name] = text
    given(Matchers, matchers, "matchers")
    given(Text, wish.comment, "--comment")
    length_ns = parsed("--for", parse_duration, wish.length)
    now_ns = time.time_ns()
    made = Silence(secrets.token_hex(8), now_ns, now_ns, now_ns + length_ns, matchers, wish.kind,
                   getpass.getuser(), wish.comment)  # fmt: skip
    if length_ns > LONGEST_NS:
        raise Failure(ExitCode.USAGE, f"--for: is more than {MOST_DAYS} days")
    with opened(dsn, writes=True) as store:
        store.insert("silences", made.row(), f"{made.id} {now_ns}")
    warn(matchers)
    if json:
        typer.echo(json_format.dumps(made.shown()))
    else:
        typer.echo(f"{made.id} until {time_text(made.to_ns)}")


def given(kind: Any, value: object, name: str) -> None:
    """Raises Failure for what cannot be asked for, with the same words as the service."""
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        label = next((str(each) for each in first["loc"] if str(each).isidentifier()), name)
        raise Failure(ExitCode.USAGE, f"{label}: {said_of(first)}") from None


def warn(matchers: Mapping[str, str]) -> None:
    """Say which labels no alert has, by the rules of this place; without rules nobody knows."""
    rules = _rules()
    known = {name for rule in rules.values() for name in labels_of(rule)}
    for name in matchers.keys() - known if rules else ():
        there = ", ".join(sorted(known))
        typer.echo(f"no rule here gives alerts a label {name}; there are {there}", err=True)


def unsilence(name: str, dsn: str | None, *, json: bool) -> None:
    """End a silence."""
    now_ns = time.time_ns()
    with opened(dsn, writes=True) as store:
        held = silences_of(store.query("silences", after_ns=now_ns, rows=MOST_SILENCES))
        try:
            made = ending(held, name, now_ns)
        except KeyError as error:
            raise Failure(ExitCode.WRONG, str(error.args[0])) from None
        store.insert("silences", made.row(), f"{made.id} {now_ns}")
    typer.echo(json_format.dumps(made.shown()) if json else f"{name} is over")


def _labels(labels: dict[str, str]) -> str:
    told = (f"{name}={value}" for name, value in labels.items() if name != "alertname")
    return " ".join(told)


def _value(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"
