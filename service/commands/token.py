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
        alone(request.file, line)
        append(request.file, line)
    if request.json:
        told = {"token": token, "name": request.name, "scope": request.scope}
        typer.echo(json_format.dumps(told if request.file else told | {"line": line}))
        return
    if request.file is None:
        typer.echo(
            f"# put this line into service.tokens_file or HOPSIGHT_TOKENS:\n{line}", err=True
        )
    typer.echo(token)


def alone(file: Path, line: str) -> None:
    """Raises Failure where a file knows somebody else by the name of a line.

    Another token of the same person is none: one takes the place of the other.
    """
    wanted, now_ns = parsed(line, "the line").identity, time.time_ns()
    try:
        told = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    except OSError:
        return  # whoever writes it says so
    for each in told.splitlines():
        with suppress(TokensError):  # one that cannot be read lets nobody in
            held = parsed(each.partition("#")[0], "a line")
            known, alive = held.identity, now_ns < held.expires_ns
            if alive and known.name == wanted.name and rights(known) != rights(wanted):
                said = f"{wanted.name} has another scope or other tenants in {file}"
                hint = "take another name, or remove that line"
                raise Failure(ExitCode.USAGE, f"NAME: {said}; {hint}")


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
