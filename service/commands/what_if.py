"""`hopsight replay --what-if`: the same signals under other parameters, or by another algorithm."""

import json as json_format
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import typer

from pipeline import COMPANIONS, Decider, Reran, Rerun, Tracked, end_text
from replay import Difference, difference, from_best, kept, steered, vantage
from service.absence import absence
from service.assignment import told_once
from service.decidable import Decidable, say
from service.decision_output import written
from service.endpoint import time_text
from service.failure import ExitCode, Failure, refused_by
from service.flow_names import FlowNames, flow_of
from service.rerunning import Making, Ran, Source, rerun
from service.run import settled
from service.settings import Settings
from service.text import NONE, signed
from service.topology_source import TopologySource
from service.window_step import steps_assumed

ALGORITHM, FABRIC = "algorithm=", "fabric."
SHOWN = ("hpcc", "dctcp")
HELD = (
    "The signals are held fixed: this is what would have been decided on what was captured, not"
    " what other windows would have made of the queues."
)
DIGITS = 4
SPREAD = ("mean", "p05", "p50", "p95", "farthest")


@dataclass(frozen=True)
class Asked:
    """What is compared: assignments of both runs, those of the other one, and what is shown."""

    assignments: Sequence[str]
    what_if: Sequence[str]
    algorithm: str | None
    flow: str | None
    point: str | None

    @property
    def other(self) -> str | None:
        """The algorithm that the other run is of; None: the same."""
        named = [text for text in self.what_if if text.startswith(ALGORITHM)]
        return named[-1].removeprefix(ALGORITHM) if named else None

    @property
    def changes(self) -> list[str]:
        """Assignments of the other run beyond its algorithm."""
        return [text for text in self.what_if if not text.startswith(ALGORITHM)]


class Sides:
    """Takes what two deciders made; keeps what a comparison needs, by algorithm."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.names = FlowNames(flow_of(asked.flow))
        self.decidable = Decidable()
        self.base: dict[str, list[pl.DataFrame]] = {}
        self.other: dict[str, list[pl.DataFrame]] = {}
        self.segments = pl.DataFrame(schema={"flow": pl.UInt64, "segment_bytes": pl.UInt32})

    def take(self, made: Reran) -> None:
        """Take the next decisions of both runs."""
        if not made.tracked:
            return
        self.names.know(made.rows)
        self.decidable.see(made.rows)
        own = made.rows.select("flow", pl.col("payload_bytes").alias("segment_bytes"))
        grown = pl.concat([self.segments, own.cast(self.segments.schema)])
        self.segments = grown.group_by("flow", maintain_order=True).max()
        for side, tracked in ((self.base, made.tracked[0]), (self.other, made.tracked[-1])):
            for algorithm, rows in parts(tracked):
                side.setdefault(algorithm, []).append(self.chosen(rows))

    def chosen(self, decisions: pl.DataFrame) -> pl.DataFrame:
        """Decisions of the flow and point that were asked for."""
        why = decisions["why"] if "why" in decisions.columns else pl.Series([None], dtype=pl.String)
        rows = kept(decisions).with_columns(why.cast(pl.String).alias("why"))
        if self.names.wanted is not None:
            rows = rows.join(self.names.keys, on="flow", how="semi", maintain_order="left")
        return rows.filter(point=self.asked.point) if self.asked.point else rows

    def pairs(self) -> list[tuple[str, str, pl.DataFrame, pl.DataFrame]]:
        """Each pair of algorithms that was asked for, with what either decided at the best points.

        What of it is in doubt `decidable` is told.
        """
        found = []
        named = self.asked.algorithm
        for algorithm in [named] if named else list(self.base):
            other = self.asked.other or algorithm
            base, beside = (
                pl.concat(side.get(name, []) or [pl.DataFrame()], how="diagonal")
                for side, name in ((self.base, algorithm), (self.other, other))
            )
            itself = named is None and algorithm == self.asked.other
            if base.is_empty() or beside.is_empty() or itself:
                continue
            best = vantage(base)
            base = from_best(base, best)
            self.decidable.add(base)
            beside = beside.join(best, on=["flow", "point"], how="semi", maintain_order="left")
            found.append((algorithm, other, base, beside))
        return found

    def differences(self) -> Iterator[tuple[str, str, Difference]]:
        """Each pair of algorithms that was asked for, and where they part."""
        for algorithm, other, base, beside in self.pairs():
            made = difference(base.drop("why"), beside.drop("why"), self.segments)
            yield algorithm, other, made


def parts(tracked: Tracked) -> Iterator[tuple[str, pl.DataFrame]]:
    """Decisions by algorithm."""
    for name in SHOWN:
        yield name, tracked.decisions.filter(pl.col("algorithm") == name)
    yield from tracked.companions.items()


def run(
    asked: Asked,
    source: Source,
    topology: TopologySource | None,
    *,
    json: bool,
    output: Path | None,
) -> None:
    """Print where the two runs part; status 1 when there is nothing to compare."""
    making = making_of(asked, topology)
    sides = Sides(asked)
    made = rerun(source, making, sides.take, "replaying twice")
    found = list(sides.differences())
    notes = [*steps_taken(asked, {one for one, _, _ in found}),
             *sides.decidable.notes(sides.names.keys, made.counters)]  # fmt: skip
    say(notes)
    if not found:
        raise Failure(ExitCode.WRONG, nothing(asked, made, sides.names))
    if output is not None:
        rows = pl.concat([each.rows for _, _, each in found], how="diagonal_relaxed")
        keyed = rows.join(sides.names.keys, on="flow", how="left", maintain_order="left")
        written(keyed, output)
    told = [told_of(asked, one, two, each, sides.names.keys) for one, two, each in found]
    if json:
        whole = {"held_fixed": HELD, "notes": notes, "comparisons": told}
        typer.echo(json_format.dumps(whole, allow_nan=False))
        return
    typer.echo(HELD)
    for each in told:
        for line in shown(each):
            typer.echo(line)


def steps_taken(asked: Asked, ran: Collection[str]) -> Iterator[str]:
    """What is taken for granted of the windows of both runs, by the algorithms of the first."""
    (_, own), (_, changed) = told_by(asked, []), told_by(asked, asked.changes)
    yield from steps_assumed((ran, own), ({asked.other} if asked.other else ran, changed))


def nothing(asked: Asked, made: Ran, names: FlowNames) -> str:
    """Why there is nothing to compare."""
    gone = absence(made.read, names, asked.point)
    return gone or "no decision that could be compared in these frames"


def making_of(asked: Asked, topology: TopologySource | None) -> Making:
    """What makes a rerun of both parameter sets; Failure names what is wrong."""
    fixed = [text for text in asked.changes if text.startswith("collector.")]
    if fixed:
        raise Failure(
            ExitCode.USAGE, f"--what-if {fixed[0]}: the signals are held fixed; use --set"
        )
    for name in (asked.algorithm, asked.other):
        if name not in (None, *SHOWN, *COMPANIONS):
            names = ", ".join((*SHOWN, *COMPANIONS))
            raise Failure(ExitCode.USAGE, f"algorithm {name!r} is none of {names}")
    base, own = told_by(asked, [])
    other, changed = told_by(asked, asked.changes)
    versions = topology.versions if topology else None
    runs = [(base, own), (other, changed)] if asked.changes else [(base, own)]

    def making(sources: tuple[str, ...]) -> Rerun:
        try:
            deciders = [Decider(each.pipeline, versions, told) for each, told in runs]
        except ValueError as error:
            raise Failure(ExitCode.USAGE, f"--what-if: {error}") from None
        return Rerun(base.pipeline, deciders, sources)

    return making


def told_by(asked: Asked, changes: Sequence[str]) -> tuple[Settings, dict[str, Any]]:
    """Settings and parameters of one run; companions of both run in either.

    A change takes the place of what both runs are told.
    """
    told_once("--set", asked.assignments)
    told_once("--what-if", asked.what_if)
    assignments = [*asked.assignments, *changes]
    closed = next((text for text in changes if text.startswith(FABRIC)), None)
    if closed:
        raise Failure(ExitCode.USAGE, f"--what-if {closed}: the fabric is changed by --closed-loop")
    named = [name for name in (asked.algorithm, asked.other) if name in COMPANIONS]
    if len(named) > 1:
        assignments.insert(0, f'pipeline.companions=["{named[0]}"]')
    with refused_by("--what-if") if changes else nullcontext():
        return settled(assignments, named[-1] if named else None)


def told_of(
    asked: Asked, one: str, two: str, made: Difference, keys: pl.DataFrame
) -> dict[str, Any]:
    """A comparison as plain data."""
    names = {row["flow"]: row for row in keys.iter_rows(named=True)}
    flows = []
    for row in made.flows.iter_rows(named=True):
        mine = pl.col("flow") == row["flow"], pl.col("point") == row["point"]
        spread = made.spread
        if spread.width:
            spread = spread.filter(*mine).drop("flow", "point")
        key = names.get(row["flow"], dict.fromkeys(("src", "sport", "dst", "dport")))
        flows.append({
            **{name: key[name] for name in ("src", "sport", "dst", "dport")},
            **{name: value for name, value in row.items() if name != "flow"},
            "spread": spread.to_dicts(),
        })  # fmt: skip
    return {
        "algorithm": one, "other": two, "what_if": list(asked.what_if), "flows": flows,
        "without_window": [] if one == two else [each for each in (one, two) if not steered(each)],
    }  # fmt: skip


def shown(told: Mapping[str, Any]) -> Iterator[str]:
    """A comparison as lines for people."""
    beside = "" if told["other"] == told["algorithm"] else f" beside {told['other']}"
    yield f"{told['algorithm']}{beside}, with {' '.join(told['what_if'])}:"
    for name in told["without_window"]:
        yield f"  {name} steers no window: no decision can be said to differ"
    for row in told["flows"]:
        yield " → ".join(end_text(row[end], row[f"{end[0]}port"]) for end in ("src", "dst"))
        missing = row["only_base"] + row["only_other"]
        alone = f", {missing:,} made by one run only" * bool(missing)
        unknown = f"; of {row['unknown']:,} the state is unknown" * bool(row["unknown"])
        yield f"  {row['differ']:,} of {row['decisions']:,} decisions differ{alone}{unknown}"
        if row["first_time_ns"] is not None:
            yield (
                f"  they part at {time_text(row['first_time_ns'])}, frame {row['first_frame']},"
                f" ack {row['first_ack']}: {row['first_branch']} | {row['first_branch_other']}"
            )
        for each in row["spread"]:
            shares = ", ".join(f"{name} {percent(each[name])}" for name in SPREAD)
            yield f"    {each['variable']:12} {shares}"


def percent(share: float | None) -> str:
    """A relative difference."""
    return NONE if share is None else signed(100 * share, f".{DIGITS}g", "%")
