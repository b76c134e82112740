"""`hopsight topology import`: a topology file from what operators have."""

from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from pipeline import Draft, TopologyError, containerlab, netbox, sonic
from service.commands.topology import text_of
from service.failure import ExitCode, Failure
from service.text import printable


def containerlab_file(file: Path, output: Path | None) -> None:
    """From one containerlab topology."""
    written(lambda: containerlab(text_of(file)), str(file), output)


def sonic_files(files: Sequence[Path], output: Path | None) -> None:
    """From the configurations of devices."""
    written(lambda: sonic({str(file): text_of(file) for file in files}), "", output)


def netbox_files(files: Sequence[Path], output: Path | None) -> None:
    """From an export of NetBox, in one document or several."""
    written(lambda: netbox({str(file): text_of(file) for file in files}), "", output)


def written(made: Callable[[], Draft], name: str, output: Path | None) -> None:
    """Write the file of a draft, then say what could not be told, each thing in a line."""
    try:
        draft = made()
        text = draft.text()
    except TopologyError as error:
        said = f"{name}: {error}" if name else str(error)
        raise Failure(ExitCode.INPUT, said) from None
    if output is None:
        typer.echo(text, nl=False)
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            sentence = f"cannot write {output}: {error.strerror}"
            raise Failure(ExitCode.UNAVAILABLE, sentence) from None
    for warning in draft.warnings:
        typer.echo(f"hopsight: {printable(warning)}", err=True)
