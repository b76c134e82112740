"""`hopsight settings`: check what is set, or print it as a TOML file that can be used."""

import json as json_format
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from pipeline import parse_address
from service import settings as service_settings
from service.failure import ExitCode, Failure
from service.usable import usable


def chosen(**flags: Mapping[str, Any]) -> service_settings.Settings:
    """The settings in force with flags of the command line on top; a wrong one ends the command."""
    try:
        return service_settings.load(flags)
    except service_settings.SettingsError as error:
        raise Failure(ExitCode.USAGE, str(error)) from None


def run(*, check: bool, dump: bool, json: bool) -> None:
    """Print every setting in force, or one line that says they are fine."""
    if check and dump:
        raise Failure(ExitCode.USAGE, "--check and --dump: one of them; --dump checks too")
    settings = chosen()
    usable(settings)
    rows = [_without_login(*row) for row in service_settings.rows(settings)]
    if json and check:
        typer.echo(json_format.dumps({"settings": len(rows), "usable": True}))
    elif json:
        values = {name: value for name, _, value, _ in rows}
        typer.echo(json_format.dumps(values, indent=2, default=str))
    elif dump:
        typer.echo("\n".join(_toml(rows)))
    else:
        typer.echo(f"{len(rows)} settings are fine; `hopsight settings --dump` prints them")


def _without_login(name: str, variable: str, value: Any, doc: str) -> tuple[str, str, Any, str]:
    """A setting as it is shown: of a server's address without what a stranger must not see."""
    if name == "store.dsn" and (address := parse_address(value)).dsn not in {"", address.name}:
        value, doc = address.name, f"{doc} Its user, password and options are left out here."
    return name, variable, value, doc


def _toml(rows: list[tuple[str, str, Any, str]]) -> Iterator[str]:
    """The settings as the lines of a hopsight.toml, each with its meaning and its variable."""
    yield "# Settings of hopsight. A flag wins over the environment, that over this file."
    section = ""
    usual = {name: value for name, _, value, _ in service_settings.rows()}
    for name, variable, value, doc in rows:
        group, _, key = name.rpartition(".")
        if group != section:
            yield f"\n[{group}]"
            section = group
        yield f"# {doc} ({variable})"
        if value is None and usual[name] is None:
            yield f"# {key} is not set"
        else:
            yield f"{key} = {toml_value(service_settings.NONE if value is None else value)}"


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        pairs = (f'"{key}" = {toml_value(item)}' for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return json_format.dumps(value) if isinstance(value, str) else repr(value)
