"""`hopsight replay --report FILE`: a replay as one file that explains itself."""

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pipeline import (
    Decider,
    Question,
    Rerun,
    Summary,
    Worker,
    answer,
    hpcc,
    open_or_ask,
)
from service.decidable import say
from service.decision_output import Told
from service.decisions import Decisions
from service.failure import ExitCode, Failure
from service.flow_names import end_text, flow_of
from service.provenance import command, inputs, programs, unusual
from service.report import as_html, as_markdown
from service.report_content import counted, names_of, parameter_section, provenance, report_of
from service.report_output import Kept
from service.rerunning import rerun
from service.run import Job, Sink, collector_of, run_job, settings_of, table_of
from service.topology_source import TopologySource, read_topology

if TYPE_CHECKING:
    from service.commands.replay import Request

FORMS = {".html": as_html, ".md": as_markdown}


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
    made = rerun(
        source_of(request, collector_of(settings, topology)),
        lambda sources: Rerun(
            settings.pipeline, [Decider(settings.pipeline, versions, parameters)], sources
        ),
        decisions.take,
        "replaying",
    )
    decisions.finish()
    courses = kept.courses()
    notes = [*decisions.decidable.notes(decisions.names.keys, made.counters)]
    if not courses:
        say(notes)
        raise Failure(ExitCode.WRONG, nothing(request, made.points))
    names = names_of(decisions.names.keys)
    ran = {course.algorithm for course in courses}
    in_force = {
        name: {row.name: (told.get(row.name, row.default), row.name in told) for row in table}
        for name, table, told in ((n, table_of(n), parameters.get(n, {})) for n in sorted(ran))
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
    limits = {"U": (f"eta {record.eta:g}", float(record.eta))}
    text = form(report_of(courses, names, judged(request, told_of, topology), limits, last))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(ExitCode.UNAVAILABLE, f"--report {path}: {error.strerror or error}") from None
    typer.echo(f"{path}: {kept.decisions:,} decisions of {counted(len(told_of))}")


def judged(
    request: "Request", names: Collection[str], topology: TopologySource | None
) -> list[dict[str, Any]]:
    """The verdict of each flow of the report: from the store, or from the captures."""
    from service.trace_file import is_trace

    if not request.captures:
        return stored(request)
    if any(map(is_trace, request.captures)):
        return []
    settings, parameters = settings_of(request.assignments)
    judging = settings.pipeline.model_copy(update={"companions": ()})
    read = collector_of(settings, topology)
    job = Job(request.captures, read, judging, topology, parameters, request.point)
    summary = Summary()

    def sink(worker: Worker) -> Sink:
        del worker
        return summary.take

    flows = summary.report(run_job(job, sink, "judging"))["flows"]
    verdicts = [told(each, each["bottleneck"]) for each in flows]
    return [each for each in verdicts if each["name"] in names]


def stored(request: "Request") -> list[dict[str, Any]]:
    """The verdict that the store has of the flow."""
    from service.commands.settings import chosen

    ends = flow_of(request.flow)
    held = chosen(store={"dsn": request.store}).store
    if ends is None:
        return []
    question = Question(ends[0].address, ends[0].port, ends[1].address, ends[1].port)
    with open_or_ask(held.dsn, held) as store:
        found = answer(store, question)
    return [told(found["flow"], found["verdict"])] if found["verdict"] else []


def told(flow: Mapping[str, Any], verdict: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict as the report tells it."""
    name = f"{end_text(flow['src'], flow['sport'])} → {end_text(flow['dst'], flow['dport'])}"
    return {"name": name, **verdict}
