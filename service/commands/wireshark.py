"""`hopsight wireshark`: the dissectors of the wire tables, written where Wireshark loads them."""

import json as json_format
import subprocess
from pathlib import Path
from shutil import which

import typer

from collector import dissectors
from service.commands.settings import chosen
from service.failure import ExitCode, Failure
from service.version import version
from service.whole_file import write_text

NAME = "hopsight.lua"
FOLDER = "Personal Lua Plugins"
"""How `tshark -G folders` names the folder whose scripts are loaded."""
PATIENCE_S = 30


def print_dissectors(*, json: bool) -> None:
    """Print the script, as the settings in force have the tables."""
    script = _script()
    if json:
        typer.echo(json_format.dumps({"name": NAME, **_size(script), "script": script}))
        return
    typer.echo(script, nl=False)


def install(to: Path | None, *, json: bool) -> None:
    """Write the script into a folder, or where Wireshark looks for it."""
    place = (to if to is not None else folder()) / NAME
    script = _script()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() and not place.is_file():
            raise Failure(
                ExitCode.UNAVAILABLE, f"{place} is not a file; --to DIR takes another folder"
            )
        before = place.read_text(encoding="utf-8", errors="replace") if place.exists() else ""
        if before and not before.startswith(script.partition(version())[0]):
            raise Failure(
                ExitCode.UNAVAILABLE,
                f"{place} was not written by hopsight and is left as it is; --to DIR takes another"
                " folder",
            )
        write_text(place, script, f"cannot write the dissectors: {place}")
    except OSError as error:
        sentence = f"{error.filename or place}: {error.strerror}"
        raise Failure(ExitCode.UNAVAILABLE, f"cannot write the dissectors: {sentence}") from None
    done = "already up to date" if before == script else "replaced" if before else "written"
    if json:
        typer.echo(json_format.dumps({"path": str(place), "outcome": done, **_size(script)}))
        return
    typer.echo(f"{place}: {done} ({len(script.splitlines()):,} lines); restart Wireshark, then")
    typer.echo("filter by hopsight.csig, hopsight.int_md.hop.node and the like")


def folder() -> Path:
    """The folder of personal Lua plugins, by tshark's own word."""
    tshark = which("tshark")
    if tshark is None:
        raise Failure(
            ExitCode.UNAVAILABLE,
            "tshark is not installed (packages tshark or wireshark-cli), so Wireshark's folder is"
            " not known; --to DIR names it",
        )
    try:
        asked = subprocess.run(  # noqa: S603 - tshark by its full path, with fixed words
            [tshark, "-G", "folders"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Failure(
            ExitCode.UNAVAILABLE, f"tshark does not say where plugins are ({error}); use --to DIR"
        ) from None
    for line in asked.stdout.splitlines():
        name, _, path = line.partition(":")
        if name.strip() == FOLDER and path.strip():
            return Path(path.strip())
    raise Failure(
        ExitCode.UNAVAILABLE, "this tshark has no folder of Lua plugins; --to DIR names one"
    )


def _script() -> str:
    """The script under the settings in force."""
    return dissectors(chosen().collector, version())


def _size(script: str) -> dict[str, int]:
    """How large the script is."""
    return {"lines": len(script.splitlines()), "octets": len(script.encode())}
