"""`hopsight dissect`: one packet, as hopsight reads it and as Wireshark does with its help."""

import json as json_format
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from service.commands.settings import chosen
from service.dissection import explained, find
from service.text import console, printable

GROUP = 4
"""Octets that stand together."""


def run(capture: Path, frame: int, *, json: bool) -> None:
    """Print one frame of a capture."""
    settings = chosen().collector
    report = explained(find(capture, frame), frame, settings)
    if json:
        typer.echo(json_format.dumps(report, allow_nan=False))
        return
    screen = console()
    for line in lines(report):
        screen.print(line, soft_wrap=True)


def lines(report: Mapping[str, Any]) -> Iterator[Text]:
    """The report as lines: the tables' reading, then Wireshark's."""
    yield Text(
        f"frame {report['frame']:,} at {printable(report['point'])}: {report['captured']:,} of"
        f" {report['length']:,} octets, link type {report['link']}"
    )
    for reading in report["hopsight"]:
        yield Text()
        yield Text(f"hopsight: {reading['reason']}", "bold")
        for header in reading["headers"]:
            yield from _header(header)
        yield from _columns(reading)
    yield Text()
    yield Text("wireshark", "bold")
    for layer in report["wireshark"]:
        yield Text(f"  {layer['name']}", "cyan")
        for field in layer["fields"]:
            yield Text(f"    {field['shown']}")


def _header(header: Mapping[str, Any]) -> Iterator[Text]:
    """A header with its place and octets, then its fields."""
    octets = header["octets"]
    words = " ".join(octets[at : at + 2 * GROUP] for at in range(0, len(octets), 2 * GROUP))
    name = Text(f"  {header['name']}", "cyan")
    yield name.append(f"  octet {header['octet']}  {words}  {header['source']}", "dim")
    fields = ", ".join(f"{name} {value}" for name, value in header["fields"].items())
    if fields:
        yield Text(f"    {fields}")


def _columns(reading: Mapping[str, Any]) -> Iterator[Text]:
    """The columns that the walk keeps, the frame's own and each hop's."""
    kept = reading["columns"]
    if kept:
        yield Text("  kept", "green")
        yield Text("    " + ", ".join(f"{name}={value}" for name, value in sorted(kept.items())))
    for number, hop in enumerate(reading["hops"]):
        told = ", ".join(f"{name}={value}" for name, value in hop.items())
        yield Text(f"    hop {number}: {told}")
