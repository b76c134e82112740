"""`hopsight replay`: what congestion control decided at each ACK, and by which branch."""

import json as json_format
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import typer

from collector import directed
from pipeline import COMPANIONS, Output, Tracked, Worker, address_text, companion_fields, hpcc
from replay import from_best, objects, trace, vantage
from service.endpoint import Endpoint, parse_endpoint, time_text
from service.failure import ExitCode, Failure
from service.run import Job, Sink, collector_of, run_job, settings_of
from service.text import NONE
from service.topology_source import read_topology

SHOWN = ("hpcc", "dctcp")
"""Algorithms whose decisions are shown where packets show them."""
ALGORITHMS = (*SHOWN, *COMPANIONS)
STATE = {
    "hpcc": ("U", "W", "Wc", "R", "incStage", "lastUpdateSeq"),
    "dctcp": ("alpha", "BytesAcked", "BytesMarked", "WindowEnd"),
}
"""What a line for people shows of each algorithm."""
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
DIGITS = 6
ENDS = {
    "src_hi": "dst_hi",
    "src_lo": "dst_lo",
    "dst_hi": "src_hi",
    "dst_lo": "src_lo",
    "sport": "dport",
    "dport": "sport",
}
"""Columns of a flow's key and those of its reverse."""
KEYS = pl.Schema(
    {
        "flow": pl.UInt64(),
        "src": pl.String(),
        "sport": pl.UInt16(),
        "dst": pl.String(),
        "dport": pl.UInt16(),
    }
)
"""Keys of flows, addresses as text."""
KEY = ("flow", "algorithm")
BEGUN = pl.Schema({"flow": pl.UInt64(), "algorithm": pl.String(), "point": pl.String()})
"""From which point each flow was told already."""


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


def run(request: Request) -> None:
    """Print decisions as they come; status 1 when there was none."""
    if request.algorithm not in (None, *ALGORITHMS):
        raise Failure(
            ExitCode.USAGE,
            f"--algorithm: {request.algorithm!r} is none of {', '.join(ALGORITHMS)}",
        )
    wanted = flow_of(request.flow)
    settings, parameters = settings_of(request.assignments, companion_of(request.algorithm))
    topology = read_topology(request.topology, settings.pipeline.topology)
    record = hpcc.record(parameters.get("hpcc"))
    upper = [name for name, told in parameters.items() if told.get("acts_on") == "upper"]
    printed = Printer(request, wanted, float(record.eta), int(record.maxStage), upper)
    job = Job(
        request.captures,
        collector_of(settings, topology),
        settings.pipeline,
        topology,
        parameters,
        request.point,
    )
    run_job(job, printed.sink, "replaying")
    printed.finish()
    if not printed.decisions:
        raise Failure(ExitCode.WRONG, printed.nothing())


def companion_of(algorithm: str | None) -> str | None:
    """The companion that must be run for an algorithm: packets do not show it."""
    return None if algorithm in SHOWN else algorithm


def together(tracked: Tracked) -> pl.DataFrame:
    """The decisions of all algorithms in order of time; columns that one does not have are null."""
    names = pl.col("algorithm", "branch").cast(pl.String)
    if not tracked.companions:
        return tracked.decisions.with_columns(names)
    parts = [part.with_columns(names) for part in (tracked.decisions, *tracked.companions.values())]
    return pl.concat(parts, how="diagonal_relaxed").sort("time_ns", maintain_order=True)


def flow_of(text: str | None) -> tuple[Endpoint, Endpoint] | None:
    """The two ends of `SRC:PORT DST:PORT`."""
    if text is None:
        return None
    ends = text.replace("→", " ").replace("->", " ").split()
    try:
        source, destination = (parse_endpoint(end) for end in ends)
    except ValueError as error:
        told = "two ends are needed" if "unpack" in str(error) else str(error)
        raise Failure(ExitCode.USAGE, f'--flow must be "SRC:PORT DST:PORT": {told}') from None
    return source, destination


@dataclass
class Printer:
    """Prints decisions; counts them.

    With one observation point they are printed as they come. With several, the same ACK is seen
    more than once: they wait for the end; each flow is told from the point that knows it best, or
    from which it was told before another point was known.
    """

    request: Request
    wanted: tuple[Endpoint, Endpoint] | None
    eta: float
    max_stage: int
    upper: Sequence[str]
    points: set[str] = field(default_factory=set)
    decisions: int = 0
    waiting: list[pl.DataFrame] = field(default_factory=list)
    begun: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=BEGUN))
    keys: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=KEYS))

    def sink(self, worker: Worker) -> Sink:
        """A sink that knows the worker's flows."""

        def take(output: Output, _token: str) -> None:
            if output.tracked is not None:
                self.know(worker.flows)
                self.points.update(worker.tracker.points.known)
                chosen = self.chosen(together(output.tracked))
                if len(worker.tracker.points.known) == 1 or self.request.point:
                    self.begun = pl.concat([self.begun, vantage(chosen)]).unique(KEY, keep="first")
                    self.show(chosen)
                else:
                    self.waiting.append(chosen)

        return take

    def finish(self) -> None:
        """Print what has waited, each flow from its best point."""
        if self.waiting:
            decisions = pl.concat(self.waiting, how="diagonal_relaxed")
            best = pl.concat([self.begun, vantage(decisions)])
            self.show(from_best(decisions, best.unique(KEY, keep="first")))

    def chosen(self, decisions: pl.DataFrame) -> pl.DataFrame:
        """What was asked for."""
        rows = decisions.join(self.keys, on="flow", how="semi", maintain_order="left")
        if self.request.algorithm:
            rows = rows.filter(pl.col("algorithm") == self.request.algorithm)
        return rows.filter(point=self.request.point) if self.request.point else rows

    def show(self, decisions: pl.DataFrame) -> None:
        """Print decisions."""
        self.decisions += decisions.height
        for row in objects(trace(decisions, self.keys, self.eta, self.max_stage, self.upper)):
            typer.echo(self.line(row))

    def know(self, flows: pl.DataFrame) -> None:
        """Learn the keys of new flows."""
        both = pl.concat([flows, reverse(flows)], how="diagonal_relaxed").unique("flow")
        new = both.join(self.keys, on="flow", how="anti")
        self.keys = pl.concat([self.keys, self.keys_of(new)])

    def keys_of(self, flows: pl.DataFrame) -> pl.DataFrame:
        """Keys of the flows that were asked for, addresses as text."""
        rows = [
            {"flow": row["flow"], "src": address_text(row, "src"), "sport": row["sport"],
             "dst": address_text(row, "dst"), "dport": row["dport"]}
            for row in flows.iter_rows(named=True)
        ]  # fmt: skip
        if self.wanted is not None:
            ends = [(str(end.address), end.port) for end in self.wanted]
            rows = [r for r in rows if [(r["src"], r["sport"]), (r["dst"], r["dport"])] == ends]
        return pl.DataFrame(rows, schema=KEYS)

    def line(self, row: Mapping[str, Any]) -> str:
        """One decision for machines or for people."""
        if self.request.json:
            kept = row if self.request.explain else without(row, ("line", "sentence"))
            return json_format.dumps(kept, allow_nan=False)
        return "  ".join(self.words(row))

    def words(self, row: Mapping[str, Any]) -> Iterator[str]:
        """One decision as the words of a line."""
        yield time_text(row["time_ns"])
        yield " → ".join(end_text(row[end], row[f"{end[0]}port"]) for end in ("src", "dst"))
        yield f"{row['algorithm']} {row['branch']}"
        yield f"ack={row['ack']}"
        algorithm = row["algorithm"]
        for name in STATE.get(algorithm) or companion_fields(algorithm):
            value = ",".join(row["fault_names"]) or None if name == "faults" else row[name]
            shown = f"{value:.{DIGITS}g}" if isinstance(value, float) else value
            yield f"{name}={NONE if value is None else shown}"
        yield quality_text(row)
        if self.request.explain and row["line"]:
            yield f"[{row['line']}] {row['sentence']}"

    def nothing(self) -> str:
        """Why there is nothing to show."""
        algorithm = self.request.algorithm
        what = f"{algorithm} " if algorithm else ""
        whose = f" for {self.request.flow}" if self.request.flow else ""
        where = f" at {self.request.point}" if self.request.point else ""
        if where and self.request.point not in self.points:
            return f"no frame was seen{where}; points are {', '.join(sorted(self.points)) or NONE}"
        needs = [NEEDS[name] for name in ([algorithm] if algorithm else SHOWN)]
        others = "" if algorithm else "; others are run by name, --algorithm"
        return f"no {what}decision in these frames{whose}{where}: {', '.join(needs)}{others}"


def end_text(address: str, port: int) -> str:
    """An end as `--flow` takes it: IPv6 addresses in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def quality_text(row: Mapping[str, Any]) -> str:
    """How well the sender's state is known, and why not better."""
    why = f" ({row['why']})" if row["why"] not in (None, "none") else ""
    return f"{row['quality']}{why}"


def reverse(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows whose acknowledgments these are: a tap may see only one direction."""
    other = (1 - flows["direction"]).cast(pl.UInt8)
    flow = np.empty(flows.height, np.uint64)
    directed(flows["conversation"].to_numpy(), other.to_numpy(), flow)
    turned = [pl.col(other).alias(name) for name, other in ENDS.items()]
    return flows.select(pl.Series("flow", flow), *turned)


def without(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The row less some columns."""
    return {name: value for name, value in row.items() if name not in names}
