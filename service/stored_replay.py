"""A replay of what the store still holds of one flow, bounded, for answers over HTTP."""

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread
import polars as pl

from pipeline import (
    COMPANIONS,
    SHOWN,
    Decider,
    PipelineSettings,
    Question,
    Rerun,
    Value,
    Versions,
    held,
    hpcc,
    parameter_table,
)
from service.assignment import AND_SETTINGS, parameter_of, told_once
from service.decision_output import Output, Told
from service.decisions import Decisions
from service.endpoint import Endpoint
from service.failure import Failure
from service.problem import Problem, invalid
from service.reader import Reader
from service.watched import Watched

MOST_OBSERVATIONS = 200_000
"""Observations of one replay; a longer time has to be asked for in parts."""
REMEMBERED = 4
"""Replays that are kept, so that pages of one are cut from the same run."""
WAIT_S = 30.0
"""Seconds that a request waits while others are replayed."""


@dataclass(frozen=True)
class Wanted:
    """What is replayed: a flow, a time, an algorithm and what its parameters are told."""

    question: Question
    from_ns: int | None = None
    to_ns: int | None = None
    algorithm: str | None = None
    told: tuple[str, ...] = ()
    point: str | None = None


@dataclass(frozen=True)
class Replayed:
    """Decisions in order with their reasons, the hops of their paths, and what is in doubt."""

    decisions: pl.DataFrame
    observations: int
    parameters: Mapping[str, Mapping[str, Value]]
    notes: Sequence[str]
    conformance: Mapping[str, Any]


class Kept(Output):
    """Keeps decisions with their reasons."""

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        self.parts: list[pl.DataFrame] = []

    def show(self, traced: pl.DataFrame) -> None:
        """Keep."""
        self.parts.append(traced)


@dataclass
class Replays:
    """Replays one flow at a time; the last ones are kept while the store is as it was.

    Whoever waits or computes here holds no turn of the store.
    """

    settings: PipelineSettings
    made: "OrderedDict[Any, Replayed]" = field(default_factory=OrderedDict)
    turns: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    wait_s: float = WAIT_S

    async def of(self, reader: Reader, wanted: Wanted, versions: Versions | None) -> Replayed:
        """The replay; Problem where it is too long or a parameter is not accepted."""
        settings = with_companion(wanted, self.settings)
        parameters = parameters_of(wanted.told, settings)
        store = reader.store
        key = (wanted, store.revision, tuple(getattr(store, "tenants", ())))
        if key not in self.made or store.revision is None:
            rows = await reader.run("replay", observations, store, wanted)
            compute = functools.partial(replayed, rows, wanted, settings, parameters, versions)
            await self._in_turn(key, compute, again=store.revision is None)
        self.made.move_to_end(key)
        found = self.made[key]
        while len(self.made) > REMEMBERED:
            self.made.popitem(last=False)
        return found

    async def _in_turn(self, key: Any, compute: Callable[[], Replayed], *, again: bool) -> None:
        """Compute in a thread, unless another one did so meanwhile. Raises Problem."""
        turn = object()
        try:
            with anyio.fail_after(self.wait_s):
                await self.turns.acquire_on_behalf_of(turn)
        except TimeoutError:
            raise Problem(503, "other flows are being replayed; try again") from None
        try:
            if again or key not in self.made:
                self.made[key] = await anyio.to_thread.run_sync(compute)
        finally:
            self.turns.release_on_behalf_of(turn)


def with_companion(wanted: Wanted, settings: PipelineSettings) -> PipelineSettings:
    """The settings under which the algorithm that is asked for runs."""
    if wanted.algorithm not in COMPANIONS or wanted.algorithm in settings.companions:
        return settings
    more = (*settings.companions, wanted.algorithm)
    return settings.model_copy(update={"companions": more})


def replayed(
    rows: pl.DataFrame,
    wanted: Wanted,
    settings: PipelineSettings,
    parameters: Mapping[str, Mapping[str, Value]],
    versions: Versions | None,
) -> Replayed:
    """Run the recurrences over what the store held."""
    record = hpcc.record(parameters.get("hpcc"))
    upper = tuple(name for name, told in parameters.items() if told.get("acts_on") == "upper")
    output = Kept(Told(float(record.eta), int(record.maxStage), upper, explain=True))
    decisions = Decisions(output, ends_of(wanted.question), wanted.algorithm, wanted.point)
    decider, watched = Decider(settings, versions, parameters), Watched(parameters, place=1)
    paths: list[pl.DataFrame] = []
    notes: tuple[str, ...] = ()
    if rows.height:
        check_point(rows, wanted.point)
        sources = tuple(rows["source"].unique().sort())
        deciders = [decider, watched.deciding(settings, versions)]
        rerun = Rerun(settings, deciders, sources)
        for made in (rerun.advance(rows), *map(rerun.end, sources), rerun.finish()):
            decisions.take(made)
            watched.take(made)
            paths += [tracked.hop_loads for tracked in made.tracked[:1]]
        decisions.finish()
        notes = tuple(decisions.notes(rerun.counters, parameters))
    found = pl.concat(output.parts, how="diagonal_relaxed") if output.parts else pl.DataFrame()
    conformance = watched.answer(decisions.names.keys, wanted.point)
    return Replayed(with_hops(found, paths), rows.height, parameters, notes, conformance)


def check_point(rows: pl.DataFrame, point: str | None) -> None:
    """Refuse a point at which no frame of the flow was seen. Raises Problem."""
    if point and point not in (seen := rows["point"].unique().sort()):
        told = ", ".join(seen.drop_nulls()) or "none"
        raise invalid({"point": f"no frame of the flow was seen there; points are {told}"})


def observations(store: Any, wanted: Wanted) -> pl.DataFrame:
    """What the store holds of the flow, both directions. Raises Problem when it is too much."""
    parts: list[pl.DataFrame] = []
    asked = wanted.from_ns, wanted.to_ns
    for part in held(store, wanted.question, *asked).pages(store, *asked):
        parts.append(part)
        if sum(each.height for each in parts) > MOST_OBSERVATIONS:
            most = f"{MOST_OBSERVATIONS:,}"
            raise invalid(
                {"to": f"the flow has more than {most} frames in that time; ask for less"}
            )
    return pl.concat(parts, how="diagonal") if parts else pl.DataFrame()


def ends_of(question: Question) -> tuple[Endpoint, Endpoint]:
    """The two ends of the flow that is asked for."""
    return Endpoint(question.src, question.sport), Endpoint(question.dst, question.dport)


def parameters_of(told: Sequence[str], settings: PipelineSettings) -> dict[str, dict[str, Value]]:
    """Parameters out of NAME=VALUE, over those that settings tell; others of these are not taken.

    Problem names what is not accepted.
    """
    tables = {name: parameter_table(name) for name in (*SHOWN, *settings.companions)}
    made: dict[str, dict[str, Value]] = {}
    try:
        told_once("--set", told)
        for text in told:
            name, equals, value = text.partition("=")
            if not equals:
                raise invalid({"set": f"{text!r} is not of the form NAME=VALUE"})
            for algorithm, values in parameter_of(name, value, tables).items():
                made.setdefault(algorithm, {}).update(values)
    except Failure as error:
        said = str(error).removeprefix("--set").lstrip(": ").removesuffix(AND_SETTINGS)
        raise invalid({"set": said}) from None
    return settings.parameters_with(made)


def with_hops(decisions: pl.DataFrame, paths: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Decisions with `hop_ids`: node and port of each hop of the path that was known by then."""
    known = [ids(part) for part in paths if part.height]
    if decisions.is_empty() or not known:
        return decisions.with_columns(pl.lit(None, HOP_IDS).alias("hop_ids"))
    seen = pl.concat(known).sort("time_ns", maintain_order=True)
    numbered = decisions.with_row_index("at").sort("time_ns", maintain_order=True)
    joined = numbered.join_asof(seen, on="time_ns", by=["flow", "point"], check_sortedness=False)
    return joined.sort("at").drop("at")


HOP_IDS = pl.List(pl.UInt64)
PORTS = 1 << 32
MISSING = (1 << 32) - 1


def ids(loads: pl.DataFrame) -> pl.DataFrame:
    """Each hop of each path as one number, node times 2^32 plus port."""
    count = sum(f"h{hop}_node" in loads.columns for hop in range(loads.width))
    missing = pl.lit(MISSING)
    hops = []
    for hop in range(count):
        port = pl.col(f"h{hop}_port") if f"h{hop}_port" in loads.columns else missing
        hops.append(pl.col(f"h{hop}_node").cast(pl.UInt64) * PORTS + port.cast(pl.UInt64))
    listed = pl.concat_list(hops).list.drop_nulls() if hops else pl.lit(None, HOP_IDS)
    return loads.select("time_ns", "flow", "point", listed.alias("hop_ids"))
