"""`hopsight analyze`: where each flow of captures is bottlenecked, without any service."""

import json as json_format
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from collector import SlowAccounting
from pipeline import (
    Output,
    StoreError,
    Summary,
    Worker,
    open_or_ask,
    stored_last,
    worth_a_look,
)
from service.accounting_text import accounting_line
from service.decidable import say
from service.endpoint import parse_duration
from service.failure import ExitCode, Failure
from service.health_text import findings_table
from service.keeping import store_sink
from service.readings import Readings, judged_by
from service.run import (
    Job,
    Sink,
    collector_of,
    run_job,
    settings_of,
)
from service.sources import Feeds
from service.stored_twice import noticing
from service.text import NONE, Heading, console, flow, load, number, share, table
from service.topology_source import read_topology, store_topology
from service.typed import parsed
from service.verdict_text import kind_text
from service.window_step import step_assumed

MICROSECOND = 1e3
MOST_IDS = 8
"""Ids that the topology lacks which a line names; `--json` has all that were counted."""
HEADINGS = (
    Heading("flow"),
    Heading("bottleneck"),
    Heading("kind"),
    Heading("u", numeric=True),
    Heading("confidence", numeric=True),
    Heading("frames", numeric=True),
    Heading("U", numeric=True),
    Heading("W bytes", numeric=True),
    Heading("Wc bytes", numeric=True),
    Heading("alpha", numeric=True),
    Heading("marked", numeric=True),
    Heading("state"),
)


TOO_LATE = (
    "frames that came too late (pipeline.lateness_ms): {:,}; verdicts do not have them, and where"
    " several taps saw them TE counts them more than once"
)


@dataclass(frozen=True)
class Request:
    """The command line of `analyze`."""

    captures: Sequence[Path]
    json: bool = False
    store: str | None = None
    topology: Path | None = None
    dialect: str | None = None
    base_rtt: str | None = None
    assignments: Sequence[str] = field(default_factory=list)
    point: str | None = None
    slow_path: int = 0
    feeds: Feeds = field(default_factory=Feeds)


def run(request: Request) -> None:
    """Analyze and print; with a store, keep what was found as well."""
    request.feeds.beside(request.captures)
    flags: dict[str, Any] = {}
    if request.dialect is not None:
        flags["dctcp_dialect"] = request.dialect
    if request.base_rtt is not None:
        flags["base_rtt_us"] = parsed("--base-rtt", parse_duration, request.base_rtt) / MICROSECOND
    settings, parameters = settings_of(
        request.assignments, pipeline=flags, store={"dsn": request.store}
    )
    topology = read_topology(request.topology, settings.pipeline.topology)
    job = Job(
        request.captures,
        collector_of(settings, topology),
        settings.pipeline.model_copy(update={"companions": ()}),  # the report has no place for them
        topology,
        parameters,
        request.point,
        request.slow_path,
        feeds=request.feeds,
    )
    summary, workers = Summary(), []

    def sink(worker: Worker, readings: Readings | None = None) -> Sink:
        workers.append(worker)
        if readings is None:
            return noticing(summary.take, None, say)
        take = both(summary, readings.keeping(store_sink(readings.store)))
        return noticing(take, readings.store, say, readings.begin)

    if request.store is None:
        accounting = run_job(job, sink, "analyzing")
    else:
        try:
            with open_or_ask(settings.store.dsn, settings.store, create=True) as store:
                readings = Readings(
                    store, request.captures, judged_by(job, settings),
                    alone=not request.feeds.endless,
                )  # fmt: skip
                renewed = partial(store_topology, store, beside=True)
                if topology is not None:
                    renewed(topology.versions)
                told = partial(sink, readings=readings)
                made = replace(job, renewed=renewed, heard=stored_last(store))
                accounting = run_job(made, told, "analyzing")
                readings.end()
        except StoreError as error:
            raise Failure(ExitCode.STORE, str(error)) from None
    report = summary.report(accounting)
    report["topology"] = {"unknown_ids": workers[0].unknown_ids.counters}
    ran = {"hpcc"} if any(each["hpcc"] for each in report["flows"]) else ()
    late = workers[0].counters["too_late"]
    report["notes"] = [*step_assumed(ran, parameters), *([TOO_LATE.format(late)] * (late > 0))]
    say(report["notes"])
    if isinstance(accounting, SlowAccounting):
        report["accounting"]["slow_path"] = accounting.slow_path
    if request.json:
        typer.echo(json_format.dumps(report, allow_nan=False, default=str))
    else:
        show(report)


def both(summary: Summary, kept: Sink) -> Sink:
    """Sum up and store."""

    def take(output: Output, token: str) -> None:
        summary.take(output, token)
        kept(output, token)

    return take


def show(report: Mapping[str, Any]) -> None:
    """The flows as a table, what is wrong with their telemetry, then the accounting as a line."""
    screen = console()
    flows = report["flows"]
    if flows:
        screen.print(table(HEADINGS, ([*_row(each)] for each in flows)))
    else:
        screen.print("no flow in these frames sends data")
    found = [*worth_a_look(report["telemetry_health"])]
    if found:
        screen.print(findings_table(found))
    screen.print(accounting_line(report["accounting"]))
    if lacking := report["topology"]["unknown_ids"]:
        told = [f"{name} ({samples:,} samples)" for name, samples in lacking.items()]
        more = f" and {len(told) - MOST_IDS} more" if len(told) > MOST_IDS else ""
        screen.print(f"the topology lacks {', '.join(told[:MOST_IDS])}{more}", soft_wrap=True)


def _row(each: Mapping[str, Any]) -> Iterator[Any]:
    """One flow's line."""
    verdict, hpcc, dctcp = each["bottleneck"], each["hpcc"] or {}, each["dctcp"] or {}
    hop = verdict["hop"]
    yield flow(each["src"], each["sport"], each["dst"], each["dport"], each["protocol"])
    yield hop["name"] if hop else NONE
    yield kind_text(verdict["kind"])
    yield load(verdict["u_mean"])
    yield share(verdict["confidence"])
    yield f"{each['frames']:,}"
    yield load(hpcc.get("U"))
    yield number(hpcc.get("W"))
    yield number(hpcc.get("Wc"))
    yield number(dctcp.get("alpha"))
    yield share(dctcp.get("mark_share"))
    yield _state(hpcc or dctcp)


def _state(state: Mapping[str, Any]) -> str:
    """How well the sender's state is known, and why not better."""
    if not state:
        return NONE
    dialect = f" {state['dialect']}" if state.get("dialect") else ""
    why = f" ({state['why']})" if state["why"] not in (None, "none") else ""
    return f"{state['quality']}{dialect}{why}"
