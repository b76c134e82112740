"""`hopsight topology import`: a topology file from what operators have."""

import json as json_format
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer
import yaml

from pipeline import Draft, TopologyError, containerlab, netbox, sonic
from service.commands.topology import text_of
from service.failure import ExitCode, Failure
from service.text import printable
from service.whole_file import write_text


def containerlab_file(file: Path, output: Path | None, *, json: bool) -> None:
    """From one containerlab topology."""
    written(lambda: containerlab(text_of(file)), str(file), output, json=json)


def sonic_files(files: Sequence[Path], output: Path | None, *, json: bool) -> None:
    """From the configurations of devices."""
    written(lambda: sonic({str(file): text_of(file) for file in files}), "", output, json=json)


def netbox_files(files: Sequence[Path], output: Path | None, *, json: bool) -> None:
    """From an export of NetBox, in one document or several."""
    written(lambda: netbox({str(file): text_of(file) for file in files}), "", output, json=json)


def written(made: Callable[[], Draft], name: str, output: Path | None, *, json: bool) -> None:
    """Write the file of a draft, then say what could not be told, each thing in a line."""
    try:
        draft = made()
        text = draft.text()
    except TopologyError as error:
        said = f"{name}: {error}" if name else str(error)
        raise Failure(ExitCode.INPUT, said) from None
    if output is not None:
        write_text(output, text, f"cannot write {output}")
    if json:
        typer.echo(json_format.dumps(plain(draft, text, output)))
    elif output is None:
        typer.echo(text, nl=False)
    for warning in draft.warnings:
        typer.echo(f"hopsight: {printable(warning)}", err=True)


def plain(draft: Draft, text: str, output: Path | None) -> dict[str, Any]:
    """What was made as plain data; the topology itself where no file has it."""
    told = {
        "path": None if output is None else str(output),
        "octets": len(text.encode()),
        "devices": len(draft.devices),
        "ports": sum(len(device.ports) for device in draft.devices.values()),
        "hosts": len(draft.hosts),
        "warnings": draft.warnings,
    }
    return told if output is not None else told | {"topology": yaml.safe_load(text)}
