"""`hopsight dissect`: one packet as hopsight reads it and Wireshark does, and what it decided."""

import json as json_format
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from replay import COMMON, TOLD
from service.dissection import explained, find
from service.field_text import columns_text, moment_text
from service.frame_decisions import decisions_at
from service.frame_meaning import meanings
from service.run import collector_of, settings_of
from service.text import console, printable
from service.topology_source import read_topology
from service.window_step import step_assumed

GROUP = 4
"""Octets that stand together."""


def run(capture: Path, frame: int, assignments: Sequence[str], *, json: bool) -> None:
    """Print one frame of a capture."""
    settings, parameters = settings_of(assignments)
    topology = read_topology(None, settings.pipeline.topology)
    told = collector_of(settings, topology)
    found = find(capture, frame)
    report = explained(found, frame, told)
    known = topology.versions.at(report["time_ns"]) if topology else None
    report["meaning"] = meanings(found, told, known)
    decided = decisions_at(capture, frame, (told, settings.pipeline), topology, parameters)
    report["decisions"] = decided
    report["notes"] = [*step_assumed({each["algorithm"] for each in decided}, parameters)]
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
        f" {report['length']:,} octets, link type {report['link']},"
        f" {moment_text(report['time_ns'])}"
    )
    for reading in report["hopsight"]:
        yield Text()
        yield Text(f"hopsight: {reading['reason']}", "bold")
        for header in reading["headers"]:
            yield from _header(header)
        yield from _columns(reading)
    if report["meaning"]:
        yield Text()
        yield Text("meaning", "bold")
        yield from (Text(printable(f"  {said}")) for said in report["meaning"])
    yield from _decisions(report["decisions"])
    yield from (Text(f"  {note}", "yellow") for note in report["notes"])
    yield Text()
    yield Text("wireshark", "bold")
    for layer in report["wireshark"]:
        yield Text(f"  {layer['name']}", "cyan")
        for field in layer["fields"]:
            yield Text(f"    {field['shown']}")


def _decisions(decisions: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """What congestion control decided at the frame, and why."""
    for each in decisions:
        yield Text()
        yield Text(f"decision: {each['algorithm']} {each['branch']}", "bold")
        yield Text(f"  [{each['line']}] {each['sentence']}")
        yield Text(f"  {each['standing']}", "green")
        told = {
            name: value for name, value in each.items()
            if name not in (*COMMON, *TOLD) and value is not None and value != []
        }  # fmt: skip
        shown = columns_text(told).items()
        yield Text("    " + ", ".join(f"{name}={value}" for name, value in shown))


def _header(header: Mapping[str, Any]) -> Iterator[Text]:
    """A header with its place and octets, then its fields."""
    octets = header["octets"]
    words = " ".join(octets[at : at + 2 * GROUP] for at in range(0, len(octets), 2 * GROUP))
    name = Text(f"  {header['name']}", "cyan")
    yield name.append(f"  octet {header['octet']}  {words}  {header['source']}", "dim")
    fields = ", ".join(f"{name} {value}" for name, value in header["shown"].items())
    if fields:
        yield Text(f"    {fields}")


def _columns(reading: Mapping[str, Any]) -> Iterator[Text]:
    """The columns that the walk keeps, the frame's own and each hop's."""
    kept = reading["shown"]
    if kept:
        yield Text("  kept", "green")
        yield Text("    " + ", ".join(f"{name}={value}" for name, value in sorted(kept.items())))
    for number, hop in enumerate(reading["hops_shown"]):
        told = ", ".join(f"{name}={value}" for name, value in hop.items())
        yield Text(f"    hop {number}: {told}")
