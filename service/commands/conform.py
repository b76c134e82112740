"""`hopsight conform`: do senders and receivers do what their congestion control asks of them."""

import json as json_format

import typer

from pipeline import Reran, Rerun
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
from service.watched import RECEIVER, Watched

__all__ = ["Request", "run"]


def run(request: Request) -> None:
    """Print what was found; status 1 when there was nothing to judge."""
    settings, parameters = settings_of(request.assignments, RECEIVER)
    topology = read_topology(request.topology, settings.pipeline.topology)
    source = source_of(request, collector_of(settings, topology))
    names, decidable, watched = FlowNames(flow_of(request.flow)), Decidable(), Watched(parameters)

    def making(sources: tuple[str, ...]) -> Rerun:
        try:
            versions = topology.versions if topology else None
            decider = watched.deciding(settings.pipeline, versions)
        except ValueError as error:
            raise Failure(ExitCode.USAGE, f"--set: {error}") from None
        return Rerun(settings.pipeline, [decider], sources)

    def take(made: Reran) -> None:
        if made.tracked:
            names.know(made.rows)
            decidable.see(made.rows)
        watched.take(made)

    made = rerun(source, making, take, "watching", watched=True)
    answer = watched.answer(names.keys, request.point)
    if not answer["flows"] and not answer["undecided"]:
        say(decidable.notes(names.keys, made.counters))
        raise Failure(ExitCode.WRONG, nothing(request, made, names))
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
