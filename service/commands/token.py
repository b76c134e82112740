"""`hopsight token`: make a token, and the line by which the service knows it."""

import json as json_format
import os
import time
from dataclasses import dataclass
from pathlib import Path

import typer

from service.failure import ExitCode, Failure
from service.tokens import faults, line_of, made, parsed, read, until_ns

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
    wanted = parsed(line, "the line").identity
    try:
        held = read(file.read_text(encoding="utf-8"), str(file)) if file.exists() else ()
    except (OSError, ValueError):
        return  # whoever reads it says so
    now_ns = time.time_ns()
    for each in held:
        other = each.identity.name == wanted.name and each.identity != wanted
        if other and now_ns < each.expires_ns:
            said = f"{wanted.name} has another scope or other tenants in {file}"
            raise Failure(ExitCode.USAGE, f"NAME: {said}; take another name, or remove that line")


def append(file: Path, line: str) -> None:
    """Add a line to a file that only its owner may read."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            os.fchmod(out.fileno(), 0o600)
            out.write(f"{line}\n")
    except OSError as error:
        raise Failure(ExitCode.UNAVAILABLE, f"--file {file}: {error.strerror}") from None
