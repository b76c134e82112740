"""`hopsight conform`: do senders and receivers do what their congestion control asks of them."""

import json as json_format
from typing import Any

import typer

from pipeline import Decider, Reran, Rerun
from replay import Conformance, conformance_answer, judged
from service.absence import absence
from service.commands.replay import Request, source_of
from service.conform_text import lines
from service.decidable import Decidable, say
from service.failure import ExitCode, Failure
from service.flow_names import FlowNames, flow_of
from service.rerunning import Ran, rerun
from service.run import collector_of, settings_of
from service.text import console
from service.topology_source import read_topology

__all__ = ["Request", "run"]
RECEIVER = "dctcp_receiver"
"""The companion that watches receivers."""


class Watched:
    """Takes what a rerun made, and keeps what senders and receivers did."""

    def __init__(self, request: Request) -> None:
        self.names = FlowNames(flow_of(request.flow))
        self.decidable = Decidable()
        self.point = request.point
        self.conformance = Conformance()
        self.decider: Decider | None = None

    def take(self, made: Reran) -> None:
        """Take the next rows and decisions."""
        if not made.tracked or self.decider is None:
            return
        self.names.know(made.rows)
        self.decidable.see(made.rows)
        self.conformance.advance(self.decider.hints.told(made.rows), made.tracked[0])

    def answer(self) -> dict[str, Any]:
        """What was found, of the flows and the point that were asked for."""
        accounts = self.conformance.finish()
        if self.point:
            accounts = accounts.seen_from(self.point)
        return conformance_answer(
            judged(accounts), accounts.sources, self.names.keys, accounts.unplaced
        )


def run(request: Request) -> None:
    """Print what was found; status 1 when there was nothing to judge."""
    settings, parameters = settings_of(request.assignments, RECEIVER)
    topology = read_topology(request.topology, settings.pipeline.topology)
    source = source_of(request, collector_of(settings, topology))
    watched = Watched(request)

    def making(sources: tuple[str, ...]) -> Rerun:
        try:
            versions = topology.versions if topology else None
            watched.decider = Decider(settings.pipeline, versions, parameters)
        except ValueError as error:
            raise Failure(ExitCode.USAGE, f"--set: {error}") from None
        return Rerun(settings.pipeline, [watched.decider], sources)

    made = rerun(source, making, watched.take, "watching")
    answer = watched.answer()
    if not answer["flows"] and not answer["undecided"]:
        say(watched.decidable.notes(watched.names.keys, made.counters))
        raise Failure(ExitCode.WRONG, nothing(request, made, watched.names))
    if request.json:
        typer.echo(json_format.dumps(answer, allow_nan=False))
        return
    screen = console()
    for line in lines(answer):
        screen.print(line, soft_wrap=isinstance(line, str))


def nothing(request: Request, made: Ran, names: FlowNames) -> str:
    """Why there is nothing to judge."""
    if gone := absence(made.read, names, request.point):
        return gone
    whose = f" of {request.flow}" if request.flow else ""
    return (
        f"nothing{whose} to judge: ECN-capable TCP is needed, or telemetry that HPCC++ reads,"
        " with the acknowledgments"
    )
