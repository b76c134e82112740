"""`hopsight token`: make a token, and the line by which the service knows it."""

import json as json_format
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import typer

from service.access import Identity, Scope
from service.failure import ExitCode, Failure
from service.tokens import TokensError, faults, line_of, made, parsed, until_ns

OPTIONS = {"name": "NAME", "scope": "--scope", "tenants": "--tenants", "expiry": "--expires"}
"""Where each word of a token is given."""
HELD = "{} has another token in {}, which holds on; remove its line when this one has its place"


@dataclass(frozen=True)
class Request:
    """The command line of `token`."""

    name: str
    scope: str
    tenants: str
    expires: str | None = None
    file: Path | None = None
    json: bool = False


def run(request: Request) -> None:
    """Print a new token, once; its hash goes to the file, or is printed too."""
    token, expires = made(), request.expires or ""
    for word, reason in faults(request.name, request.scope, request.tenants, expires):
        raise Failure(ExitCode.USAGE, f"{OPTIONS[word]}: {reason}")
    if until_ns(expires) <= time.time_ns():
        raise Failure(ExitCode.USAGE, f"--expires: {expires} is over")
    line = line_of(request.name, request.scope, request.tenants, token, expires)
    if request.file is not None:
        held = holds(request.file, line)
        append(request.file, line)
        if held:
            typer.echo(HELD.format(request.name, request.file), err=True)
    if request.json:
        told = {"token": token, "name": request.name, "scope": request.scope}
        typer.echo(json_format.dumps(told if request.file else told | {"line": line}))
        return
    if request.file is None:
        typer.echo(
            f"# put this line into service.tokens_file or HOPSIGHT_TOKENS:\n{line}", err=True
        )
    typer.echo(token)


def holds(file: Path, line: str) -> bool:
    """Whether a file has a token of the person of a line, whose place that may take.

    Raises Failure where it knows somebody else by that name.
    """
    wanted, now_ns = parsed(line, "the line").identity, time.time_ns()
    try:
        told = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    except OSError:
        return False  # whoever writes it says so
    found = False
    for each in told.splitlines():
        with suppress(TokensError):  # one that cannot be read lets nobody in
            held = parsed(each.partition("#")[0], "a line")
            known, alive = held.identity, now_ns < held.expires_ns
            if not alive or known.name != wanted.name:
                continue
            found = True
            if rights(known) != rights(wanted):
                said = f"{wanted.name} has another scope or other tenants in {file}"
                hint = "take another name, or remove that line"
                raise Failure(ExitCode.USAGE, f"NAME: {said}; {hint}")
    return found


def rights(identity: Identity) -> tuple[Scope, set[str]]:
    """What somebody may do, and whose flows they see."""
    return identity.scope, set(identity.tenants)


def begun(file: Path) -> str:
    """What ends the last line of a file that somebody has left without an end."""
    text = file.read_bytes() if file.is_file() else b""
    return "\n" if text and not text.endswith(b"\n") else ""


def append(file: Path, line: str) -> None:
    """Add a line to a file that only its owner may read; a part of it would let nobody in."""
    had = file.stat().st_size if file.is_file() else None
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            os.fchmod(out.fileno(), 0o600)
            out.write(f"{begun(file)}{line}\n")
    except OSError as error:
        if file.is_file():
            os.truncate(file, had) if had is not None else file.unlink()
        raise Failure(ExitCode.UNAVAILABLE, f"--file {file}: {error.strerror}") from None
