"""`hopsight topology`: check a topology file, or show what it tells."""

import json as json_format
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from pipeline import Device, Finding, Interface, Topology, TopologyError, findings
from service.endpoint import parse_time, time_text
from service.failure import ExitCode, Failure
from service.text import NONE, Heading, console, table
from service.topology_source import files_of, read_versions

GIGABIT = 1e9
MOST_FINDINGS = 200
"""Findings that are shown of a check, mistakes first; JSON has all."""
MOST_LOCATORS = 8
"""Locators of a port that are shown one by one."""
FINDINGS = (
    Heading("file"), Heading("line", numeric=True), Heading("level"), Heading("place"),
    Heading("finding"),
)  # fmt: skip
DEVICES = (
    Heading("device"), Heading("node", numeric=True), Heading("stage"), Heading("site"),
    Heading("ports", numeric=True), Heading("Gbit/s", numeric=True), Heading("CSIG"),
    Heading("marks ECN"),
)  # fmt: skip
PORTS = (
    Heading("port"), Heading("id", numeric=True), Heading("faces"),
    Heading("Gbit/s", numeric=True), Heading("leads to"), Heading("locators"),
)  # fmt: skip
HOSTS = (Heading("host"), Heading("at"), Heading("tenant"), Heading("site"), Heading("prefixes"))
POINTS = (
    Heading("point"), Heading("at"), Heading("side"), Heading("sampling", numeric=True),
    Heading("clock ns", numeric=True),
)  # fmt: skip


def check(path: Path, *, json: bool) -> None:
    """Print every finding of a file or a folder; status 1 when one of them is a mistake."""
    found = [(file, finding) for file in listed(path) for finding in findings(text_of(file))]
    wrong = sum(finding.level == "inconsistent" for _, finding in found)
    if json:
        told = [{"file": str(file), **asdict(finding)} for file, finding in found]
        typer.echo(json_format.dumps({"inconsistent": wrong, "findings": told}))
    else:
        shown_first = first(found)
        if found:
            console().print(table(FINDINGS, (tuple(_finding(*one)) for one in shown_first)))
        typer.echo(f"{wrong:,} inconsistent, {len(found) - wrong:,} unknown")
        if len(shown_first) < len(found):
            typer.echo(f"{len(found) - len(shown_first):,} more; --json shows all")
    if wrong:
        raise typer.Exit(int(ExitCode.WRONG))


def first(found: list[tuple[Path, Finding]]) -> list[tuple[Path, Finding]]:
    """What is shown of many findings: in their order, of too many the mistakes before the rest."""
    if len(found) <= MOST_FINDINGS:
        return found
    mistakes = [one for one in found if one[1].level == "inconsistent"]
    rest = [one for one in found if one[1].level != "inconsistent"]
    return [*mistakes, *rest][:MOST_FINDINGS]


def show(path: Path, *, at: str | None, json: bool) -> None:
    """Print one version of a topology."""
    try:
        versions = read_versions(path)
        known = versions.newest if at is None else versions.at(parse_time(at))
    except TopologyError as error:
        raise Failure(ExitCode.INPUT, f"{path}: {error}") from None
    except ValueError as error:
        raise Failure(ExitCode.USAGE, f"--at: {error}") from None
    if known is None:
        raise Failure(ExitCode.INPUT, f"{path}: no version is in force then")
    if json:
        typer.echo(json_format.dumps(plain(known)))
        return
    screen = console()
    since = time_text(known.valid_from_ns)
    screen.print(f"version {known.version}, in force since {since}, {len(known.hosts)} hosts")
    screen.print(table(DEVICES, (tuple(_device(known, device)) for device in known.devices)))
    screen.print(table(PORTS, _ports(known)))
    for headings, rows in ((HOSTS, _hosts(known)), (POINTS, _points(known))):
        if lines := list(rows):
            screen.print(table(headings, lines))


def listed(path: Path) -> list[Path]:
    """The files of a path; Failure where there are none."""
    try:
        return list(files_of(path))
    except OSError as error:
        raise Failure(ExitCode.INPUT, f"{path}: {error.strerror or error}") from None


def text_of(path: Path) -> str:
    """The text of a file; Failure where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise Failure(ExitCode.INPUT, f"{path}: {reason}") from None


def plain(known: Topology) -> dict[str, Any]:
    """A topology as JSON has it: the units and names of columns."""
    names = ("devices", "interfaces", "hosts", "points", "tenants", "base_rtts")
    head = {"version": known.version, "valid_from_ns": known.valid_from_ns,
            "base_rtt_ns": known.base_rtt_ns}  # fmt: skip
    return head | {name: [asdict(each) for each in getattr(known, name)] for name in names}


def _finding(file: Path, finding: Finding) -> Iterator[Any]:
    yield from (file.name, finding.line, finding.level, finding.place, finding.sentence)


def _device(known: Topology, device: Device) -> Iterator[Any]:
    ports = known.links.get(device.name, [])
    yield from (device.name, device.node_id, device.stage, device.site, len(ports))
    yield f"{sum(port.capacity_bps for port in ports) / GIGABIT:g}"
    if device.csig is None:
        yield None
    else:
        does = [name for name in ("updates", "strips", "adds") if getattr(device.csig, name)]
        yield ", ".join(does) or "passes"
    yield {True: "yes", False: "no", None: None}[device.marks_ecn]


def _ports(known: Topology) -> Iterator[tuple[Any, ...]]:
    locators: dict[tuple[int, int], dict[str, None]] = {}
    for variant, lm, *hop in known.locators.select("variant", "lm", "node", "port").iter_rows():
        locators.setdefault((hop[0], hop[1]), {})[f"{'ce'[variant - 1]}{lm}"] = None
    for port in known.interfaces:
        name = f"{port.device}:{port.name}"
        rate = f"{port.capacity_bps / GIGABIT:g}" if port.capacity_bps else None
        yield (name, port.port_id, port.orientation, rate, _peer(port),
               shown(list(locators.get(port.hop, ()))))  # fmt: skip


def shown(locators: list[str]) -> str:
    """Locators in a line; of the many that a time to live makes the first and the last."""
    if len(locators) <= MOST_LOCATORS:
        return " ".join(locators)
    return f"{locators[0]} … {locators[-1]} ({len(locators)})"


def _peer(port: Interface) -> str:
    return f"{port.peer_device}:{port.peer_interface}".removesuffix(":")


def _hosts(known: Topology) -> Iterator[tuple[Any, ...]]:
    for host in known.hosts:
        yield (host.name, f"{host.device}:{host.interface}", host.tenant, known.site_of(host),
               ", ".join(host.prefixes) or NONE)  # fmt: skip


def _points(known: Topology) -> Iterator[tuple[Any, ...]]:
    for point in known.points:
        at = f"{point.device}:{point.interface}".strip(":")
        yield point.name, at, point.side, point.sampling, point.clock_bound_ns
