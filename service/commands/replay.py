"""`hopsight replay`: what congestion control decided at each ACK, and by which branch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector import CollectorSettings
from pipeline import COMPANIONS, Decider, Rerun, Versions, hpcc
from service.absence import Read, absence
from service.captures import written_apart
from service.commands.settings import chosen
from service.commands.sweep import Sweep
from service.decidable import say
from service.decision_comments import Comments
from service.decision_output import Output, Told, output_of
from service.decisions import Decisions
from service.failure import ExitCode, Failure
from service.flow_names import FlowNames, flow_of
from service.rerunning import CaptureSource, Source, rerun
from service.run import collector_of, settings_of
from service.stored_trace import StoredTrace
from service.topology_source import read_topology
from service.trace_file import TraceSource, is_trace

SHOWN = ("hpcc", "dctcp")
"""Algorithms whose decisions are shown where packets show them."""
ALGORITHMS = (*SHOWN, *COMPANIONS)
NEEDS = {
    "hpcc": "HPCC++ needs INT telemetry and the acknowledgments",
    "dctcp": "DCTCP needs ECN-capable TCP with its acknowledgments",
    "dctcp_receiver": "it needs TCP data and the acknowledgments",
    "dre": "it needs data",
    "hpcc_aecn": "it needs Advanced ECN on data and the acknowledgments",
    "hpcc_csig": "it needs CSIG tags or their reflections and the acknowledgments",
    "hpcc_latency": "it needs stacks of hops and the acknowledgments",
    "hpcc_probe": "it needs probes (pipeline.probe_dscp) or notifications with telemetry",
    "hpcc_qos": "it needs stacks of hops and the acknowledgments",
    "hpcc_receiver": "it needs INT telemetry on data",
    "hpcc_reported": "it needs stacks of hops and the acknowledgments",
    "poseidon": "it needs data and its acknowledgments",
    "swift": "it needs data and its acknowledgments",
}
"""What each algorithm reads."""


@dataclass(frozen=True)
class Request:
    """The command line of `replay`."""

    captures: Sequence[Path]
    flow: str | None = None
    algorithm: str | None = None
    assignments: Sequence[str] = field(default_factory=list)
    topology: Path | None = None
    json: bool = False
    explain: bool = False
    point: str | None = None
    output: Path | None = None
    what_if: Sequence[str] = ()
    store: str | None = None
    from_: str | None = None
    to: str | None = None
    closed_loop: bool = False
    sweep: Sequence[str] = ()
    by: str | None = None
    conduct: bool = False
    jobs: int | None = None
    report: Path | None = None
    pcapng: Path | None = None
    bus: str | None = None
    from_offset: int | None = None
    network: Mapping[str, Any] = field(default_factory=dict)
    """Tenant, vrf and vni of the flow of a store; None, or nothing, of what may be any."""


def run(request: Request) -> None:
    """Print or write decisions as they come; status 1 when there was none."""
    check(request.algorithm)
    check_form(request)
    written = {"--output": request.output, "--report": request.report, "--pcapng": request.pcapng}
    for option, path in written.items():
        written_apart(option, path, request.captures)
    if request.closed_loop:
        close_loop(request)
        return
    if request.what_if or request.sweep:
        compare(request)
        return
    if request.report is not None:
        tell(request, request.report)
        return
    wanted = flow_of(request.flow)
    settings, parameters = settings_of(request.assignments, companion_of(request.algorithm))
    topology = read_topology(request.topology, settings.pipeline.topology)
    versions = topology.versions if topology else None
    record = hpcc.record(parameters.get("hpcc"))
    upper = tuple(name for name, told in parameters.items() if told.get("acts_on") == "upper")
    told = Told(float(record.eta), int(record.maxStage), upper, explain=request.explain)
    source = source_of(request, collector_of(settings, topology))

    def making(sources: tuple[str, ...]) -> Rerun:
        try:
            decider = Decider(settings.pipeline, versions, parameters)
        except ValueError as error:
            raise Failure(ExitCode.USAGE, f"--set: {error}") from None
        return Rerun(settings.pipeline, [decider], sources)

    with chosen_output(request, told) as output:
        decisions = Decisions(output, wanted, request.algorithm, request.point)
        made = rerun(source, making, decisions.take, "replaying")
        decisions.finish()
    say(decisions.notes(made.counters, parameters))
    if not output.decisions:
        raise Failure(ExitCode.WRONG, nothing(request, made.read, decisions.names))


def check_form(request: Request) -> None:
    """Of what a replay can be made into only one thing is made."""
    forms = {
        "--closed-loop": request.closed_loop,
        "--what-if": bool(request.what_if) and not request.closed_loop,
        "--sweep": bool(request.sweep) and not request.closed_loop,
        "--report": request.report is not None,
        "--pcapng": request.pcapng is not None,
    }
    asked = [name for name, given in forms.items() if given]
    if asked == ["--what-if", "--sweep"]:
        return
    if len(asked) > 1:
        raise Failure(ExitCode.USAGE, f"{asked[-1]}: not beside {asked[0]}")
    for name, given in (("--by", request.by), ("--jobs", request.jobs)):
        if given is not None and not request.sweep:
            raise Failure(ExitCode.USAGE, f"{name}: of a --sweep")
    if request.conduct and request.report is None:
        raise Failure(ExitCode.USAGE, "--conduct: of a --report")
    if request.report is not None and request.bus is not None:
        raise Failure(ExitCode.USAGE, "--bus: not beside --report")


def tell(request: Request, path: Path) -> None:
    """Write a report."""
    from service.commands import report

    if request.output is not None or request.json:
        name = "json" if request.json else "output"
        raise Failure(ExitCode.USAGE, f"--{name}: of decisions, not of --report")
    report.run(request, path)


def chosen_output(request: Request, told: Told) -> Output:
    """Where decisions go."""
    if request.pcapng is None:
        return output_of(told, request.output, json=request.json)
    if request.output is not None or request.json:
        raise Failure(ExitCode.USAGE, "--pcapng: not beside --output or --json")
    if not request.captures or any(is_trace(path) for path in request.captures):
        raise Failure(ExitCode.USAGE, "--pcapng: of captures, which are written once more")
    return Comments(told, request.pcapng, request.captures)


def compare(request: Request) -> None:
    """Print where the decisions of two parameter sets part."""
    from service.commands import what_if

    asked = what_if.Asked(
        request.assignments, request.what_if, request.algorithm, request.flow, request.point
    )
    settings, _ = what_if.told_by(asked, [])
    topology = read_topology(request.topology, settings.pipeline.topology)
    source = source_of(request, collector_of(settings, topology))
    if request.sweep:
        from service.commands import sweep_open

        sweep_open.run(source, asked, request.topology, sweep_of(request))
        return
    what_if.run(asked, source, topology, json=request.json, output=request.output)


def close_loop(request: Request) -> None:
    """Rebuild the fabric of the frames, and play it."""
    from service.commands import closed_loop
    from service.gathering import Frames

    output = request.output is not None and not request.sweep
    told = {"flow": request.flow, "algorithm": request.algorithm, "output": output,
            "explain": request.explain, "pcapng": request.pcapng}  # fmt: skip
    idle = [name for name, value in told.items() if value]
    if idle:
        raise Failure(ExitCode.USAGE, f"--{idle[0]}: of decisions, not of --closed-loop")
    if not (request.captures or request.bus or request.from_offset is not None):
        reason = "of captures, files of observations or a bus; `hopsight archive` writes the flows"
        raise Failure(ExitCode.USAGE, f"--closed-loop: {reason} of a store to such a file")
    settings, parameters = settings_of(request.assignments)
    topology = read_topology(request.topology, settings.pipeline.topology)
    source = source_of(request, collector_of(settings, topology))
    versions = topology.versions if topology else Versions()
    frames = Frames(source, settings, versions, parameters, request.point)
    if request.sweep:
        from service.commands import sweep_closed

        sweep_closed.run(frames, sweep_of(request))
        return
    closed_loop.run(frames, request.what_if, json=request.json)


def sweep_of(request: Request) -> Sweep:
    """What is swept."""
    return Sweep(
        request.sweep, request.what_if, request.by, request.output, request.jobs, request.json
    )


def source_of(request: Request, settings: CollectorSettings) -> Source:
    """Captures, traces, the bus or the store; Failure for a mixture."""
    told = [name for name in ("store", "from_", "to") if getattr(request, name) is not None]
    of_store(request)
    if request.bus is not None or request.from_offset is not None:
        return bus_source(request)
    if not request.captures:
        held = chosen(store={"dsn": request.store}).store
        flows = () if request.flow is None else (request.flow,)
        return StoredTrace(held.dsn, held, flows, request.from_, request.to, request.network)
    if told:
        word = told[0].rstrip("_")
        said = f"--{word}: of a store or a bus, which are read where no file is named"
        raise Failure(ExitCode.USAGE, said)
    traces = [path for path in request.captures if is_trace(path)]
    if not traces:
        return CaptureSource(request.captures, settings, request.point)
    if len(traces) < len(request.captures):
        raise Failure(ExitCode.USAGE, "captures and files of observations: only one kind at a time")
    return TraceSource(traces)


def of_store(request: Request) -> None:
    """Failure for what tells stored flows apart where none is read."""
    given = [name for name, value in request.network.items() if value is not None]
    elsewhere = request.captures or request.bus is not None or request.from_offset is not None
    if given and elsewhere:
        said = f"--{given[0]}: of a store, which is read where no file or bus is named"
        raise Failure(ExitCode.USAGE, said)


def bus_source(request: Request) -> Source:
    """The bus, from an offset or a time on; Failure for another source beside it."""
    from service.bus_source import BusSource

    if request.captures or request.store is not None:
        option = "--bus" if request.bus is not None else "--from-offset"
        raise Failure(ExitCode.USAGE, f"{option}: of a bus, not beside captures or --store")
    settings = chosen(bus={"url": request.bus}).bus
    if settings.url is None:
        raise Failure(ExitCode.USAGE, "--from-offset: of a bus, --bus kafka://host:port/topic")
    return BusSource(settings.url, settings, request.from_offset, request.from_, request.to)


def check(algorithm: str | None) -> None:
    """Failure for an algorithm that does not exist."""
    if algorithm not in (None, *ALGORITHMS):
        names = ", ".join(ALGORITHMS)
        raise Failure(ExitCode.USAGE, f"--algorithm: {algorithm!r} is none of {names}")


def companion_of(algorithm: str | None) -> str | None:
    """The companion that must be run for an algorithm: packets do not show it."""
    return None if algorithm in SHOWN else algorithm


def nothing(request: Request, read: Read, names: FlowNames) -> str:
    """Why there is nothing to show."""
    if gone := absence(read, names, request.point):
        return gone
    algorithm = request.algorithm
    what = f"{algorithm} " if algorithm else ""
    whose = f" for {request.flow}" if request.flow else ""
    where = f" at {request.point}" if request.point else ""
    needs = [NEEDS[name] for name in ([algorithm] if algorithm else SHOWN)]
    others = "" if algorithm else "; others are run by name, --algorithm"
    return f"no {what}decision in these frames{whose}{where}: {', '.join(needs)}{others}"
