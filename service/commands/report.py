"""`hopsight replay --report FILE`: a replay as one file that explains itself."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from collector import CollectorSettings
from pipeline import (
    NETWORK,
    Output,
    Question,
    Reran,
    Rerun,
    Summary,
    Versions,
    Worker,
    answer,
    held,
    hpcc,
    open_or_ask,
    parameter_table,
)
from service.absence import Read
from service.decidable import say
from service.decision_output import Told
from service.decisions import Decisions
from service.failure import ExitCode, Failure
from service.flow_names import flow_of, name_of
from service.provenance import command, inputs, programs, unusual
from service.report import as_html, as_markdown
from service.report_conduct import conduct_section
from service.report_content import counted, names_of, parameter_section, provenance, report_of
from service.report_output import Kept
from service.rerunning import Source, rerun, tell_unread
from service.run import Job, Sink, collector_of, run_job, settings_of
from service.settings import Settings
from service.topology_source import TopologySource, read_topology
from service.typed import moment
from service.watched import Watched
from service.whole_file import write_text

if TYPE_CHECKING:
    from service.commands.replay import Request

Taking = Callable[[Reran], None]
FORMS = {".html": as_html, ".md": as_markdown}


class Made(NamedTuple):
    """What moved, the points that are known, and the verdict of each flow."""

    counters: Mapping[str, int]
    points: tuple[str, ...]
    verdicts: list[dict[str, Any]]
    unread: int = 0


def run(request: "Request", path: Path) -> None:
    """Replay, judge, write; Failure when nothing was decided."""
    from service.commands.replay import companion_of, nothing, source_of

    form = FORMS.get(path.suffix)
    if form is None:
        raise Failure(ExitCode.USAGE, f"--report {path}: the name must end in {' or '.join(FORMS)}")
    settings, parameters = settings_of(request.assignments, companion_of(request.algorithm))
    topology = read_topology(request.topology, settings.pipeline.topology)
    versions = topology.versions if topology else None
    record = hpcc.record(parameters.get("hpcc"))
    upper = tuple(name for name, told in parameters.items() if told.get("acts_on") == "upper")
    kept = Kept(Told(float(record.eta), int(record.maxStage), upper, explain=True))
    decisions = Decisions(kept, flow_of(request.flow), request.algorithm, request.point)
    read = collector_of(settings, topology)
    watched = Watched(parameters, wanted=request.conduct)
    told = watched.before(decisions.take, settings.pipeline)
    made = (
        judged(request, settings, read, topology, watched, told)
        if captured(request)
        else decided(source_of(request, read), settings, versions, watched, told)
    )
    decisions.finish()
    courses = kept.courses()
    notes = [*decisions.notes(made.counters, parameters)]
    if not courses:
        say(notes)
        seen = Read(request.captures, made.points, made.unread)
        raise Failure(ExitCode.WRONG, nothing(request, seen, decisions.names))
    names = names_of(decisions.names.keys)
    ran = {course.algorithm for course in courses}
    in_force = {
        name: {row.name: (told.get(row.name, row.default), row.name in told) for row in table}
        for name, table, told in (
            (n, parameter_table(n), parameters.get(n, {})) for n in sorted(ran)
        )
    }
    last = [
        parameter_section(in_force),
        *provenance(
            command(sys.argv[1:], os.environ, stored=not request.captures),
            inputs(request.captures, topology.path if topology else None, request.flow),
            programs(),
            unusual(settings),
            notes,
        ),
    ]
    told_of = {names[course.flow] for course in courses if course.flow in names}
    shown = [each for each in made.verdicts if each["name"] in told_of]
    if not request.captures:
        shown = stored(request)
    limits = {"U": (f"eta {record.eta:g}", float(record.eta))}
    found = watched.answer(decisions.names.keys, request.point) if request.conduct else None
    conduct = [conduct_section(found)] if found else []
    archived = bool(request.captures) and not captured(request)
    text = form(report_of(courses, names, shown, limits, conduct, last, archived=archived))
    write_text(path, text, f"--report {path}")
    typer.echo(f"{path}: {kept.decisions:,} decisions of {counted(len(told_of))}")


def captured(request: "Request") -> bool:
    """Whether frames are read, which can be judged beside."""
    from service.trace_file import is_trace

    return bool(request.captures) and not any(map(is_trace, request.captures))


def decided(
    source: Source,
    settings: Settings,
    versions: Versions | None,
    watched: Watched,
    take: Taking,
) -> Made:
    """Decisions of what was observed before; there are no verdicts beside them."""

    def making(sources: tuple[str, ...]) -> Rerun:
        return Rerun(settings.pipeline, [watched.deciding(settings.pipeline, versions)], sources)

    ran = rerun(source, making, take, "replaying", watched=watched.wanted)
    return Made(ran.counters, ran.points, [], ran.unread)


def judged(
    request: "Request",
    settings: Settings,
    read: CollectorSettings,
    topology: TopologySource | None,
    watched: Watched,
    take: Taking,
) -> Made:
    """Decisions of captures, and verdicts on their flows: the stream decides as replay does."""
    summary, workers = Summary(), list[Worker]()
    pipeline = watched.needs(settings.pipeline)
    job = Job(request.captures, read, pipeline, topology, watched.parameters, request.point)

    def sink(worker: Worker) -> Sink:
        workers.append(worker)
        watched.decider = worker

        def taken(output: Output, source: str) -> None:
            summary.take(output, source)
            if output.tracked is not None:
                take(Reran(output.tables["observations"], (output.tracked,)))

        return taken

    accounting = run_job(job, sink, "replaying", watched=watched.wanted)
    tell_unread(accounting.decoded, accounting.reasons)
    verdicts = [told(each, each["bottleneck"]) for each in summary.report(accounting)["flows"]]
    [worker] = workers
    return Made(
        worker.counters,
        tuple(worker.tracker.points.known),
        verdicts,
        sum(accounting.reasons.values()),
    )


def stored(request: "Request") -> list[dict[str, Any]]:
    """The verdict that the store has of the flow."""
    from service.commands.settings import chosen

    ends = flow_of(request.flow)
    limits = chosen(store={"dsn": request.store}).store
    if ends is None:
        return []
    question = Question(
        ends[0].address, ends[0].port, ends[1].address, ends[1].port, **request.network
    )
    from_ns, to_ns = moment("--from", request.from_), moment("--to", request.to)
    with open_or_ask(limits.dsn, limits) as store:
        for flow in held(store, question, from_ns, to_ns).apart[:1]:  # that of the decisions
            network = {name: flow[name] for name in NETWORK}
            question = replace(question, **network)
        found = answer(store, question)
    return [told(found["flow"], found["verdict"])] if found["verdict"] else []


def told(flow: Mapping[str, Any], verdict: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict as the report tells it."""
    return {"name": name_of(flow), **verdict}
