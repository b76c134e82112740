"""Replay: what congestion control decided at each acknowledgment of a flow that the store holds."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import polars as pl
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from pipeline import COMPANIONS, NETWORK, SHOWN, Question, parameter_table, same_ends
from replay import COMMON, TOLD, known, lines, pseudocode, variables
from service.coverage import NOTHING
from service.problem import invalid
from service.reader import Reader, reader_of
from service.representation import CSV, JSON, documented, flat, media_type, tagged
from service.routes.coverage import coverage_of
from service.routes.parameter import Algorithm, EndsParameters, Name, Parameters, Start, Time
from service.routes.signals import flows_with
from service.routes.span import Span
from service.shape import flow_of
from service.stored_replay import PORTS, Replayed, Replays, Wanted
from service.watched import in_words

router = APIRouter(prefix="/api/v1/replay", tags=["replay"])


class DecisionsParameters(EndsParameters):
    """One flow, a time range, what is run with which parameters, and a page."""

    from_: Time | None = Field(None, alias="from")
    to: Time | None = None
    algorithm: Algorithm | None = Field(
        None, description="What is run; default: what the packets show."
    )
    set_: list[Name] = Field(
        default_factory=list, alias="set", max_length=32,
        description="A parameter as NAME=VALUE, such as eta=0.9; may be repeated.",
    )  # fmt: skip
    point: Name | None = Field(None, description="Observation point; default: the best one.")
    start: Start = Field(0, description="Number of the first decision of the page.")
    limit: int = Field(2000, ge=1, le=10_000, description="Most decisions of the answer.")
    format: Literal["json", "csv"] | None = Field(None, description="Representation.")


@router.get("/decisions")
async def decisions(request: Request, asked: Annotated[DecisionsParameters, Query()]) -> Response:
    """The decisions at each acknowledgment, in order, with the line and the sentence of each.

    They are those of `hopsight replay`. `next` is where the next page starts, null at the end. The
    interval is that from the first to the last decision, whatever was asked for. A table (CSV) has
    the variables of all algorithms that decided, on every page the same columns.
    """
    state, reader = request.app.state, reader_of(request)
    same = await flows_with(reader, asked, asked.from_, asked.to and asked.to + 1)
    flow = same[0]
    if asked.from_ is not None and asked.to is not None and asked.to <= asked.from_:
        raise invalid({"to": "is not after from"})
    versions = state.source.versions if state.source else None
    found = await replays_of(state).of(reader, wanted_of(asked, flow), versions)
    page = found.decisions.slice(asked.start, asked.limit)
    rest = asked.start + page.height
    about = await covered(reader, found.decisions, int(flow["flow"])) | {
        "observations": found.observations,
        "total": found.decisions.height,
        "start": asked.start,
        "next": rest if rest < found.decisions.height else None,
    }
    if media_type(request) == CSV:
        told = dict(flat("Hopsight", about))
        text = await run_in_threadpool(as_csv, page, columns_of(found.decisions, asked.algorithm))
        return tagged(request, text, json.dumps(about).encode(), CSV, told)
    names = await hop_names(reader, page)
    about |= {
        "flow": flow_of(flow | {"flow": str(flow["flow"])}),
        "parameters": await run_in_threadpool(in_force, found, page),
        "notes": [*same_ends(same), *found.notes],
        "conformance": conduct(found),
        "paths": names,
    }
    text = await run_in_threadpool(body, about, page, names)
    return tagged(request, text, b"", JSON, {})


class AlgorithmsParameters(Parameters):
    """Which algorithm."""

    name: Algorithm | None = None


@router.get("/algorithms")
async def algorithms(request: Request, asked: Annotated[AlgorithmsParameters, Query()]) -> Response:
    """What can be replayed: pseudo-code with the branches of each line, variables, parameters."""
    names = [asked.name] if asked.name else [*SHOWN, *COMPANIONS]
    told = await run_in_threadpool(lambda: [described(str(name)) for name in names])
    return documented(request, {"algorithms": told})


def described(name: str) -> dict[str, Any]:
    """One algorithm."""
    code = [
        {"number": line.number, "indent": line.indent, "text": line.text, "branches": line.branches}
        for line in pseudocode(name)
    ]
    own = [
        {"name": row.name, "default": row.default, "unit": row.unit, "accepted": row.accepted(),
         "meaning": row.doc, "section": row.section}
        for row in parameter_table(name)
    ]  # fmt: skip
    return {"name": name, "variables": variables(name), "pseudocode": code, "parameters": own}


def replays_of(state: Any) -> Replays:
    """The replays that this service keeps."""
    if not hasattr(state, "replays"):
        state.replays = Replays(state.settings.pipeline)
    kept: Replays = state.replays
    return kept


def wanted_of(asked: DecisionsParameters, flow: Mapping[str, Any]) -> Wanted:
    """The request as a replay is asked for."""
    question = Question(
        src=asked.src.address, sport=asked.src.port, dst=asked.dst.address, dport=asked.dst.port,
        protocol=asked.proto, tenant=flow["tenant"], vrf=flow["vrf"], vni=flow["vni"],
    )  # fmt: skip
    told = tuple(asked.set_)
    return Wanted(question, asked.from_, asked.to, asked.algorithm, told, asked.point)


async def covered(reader: Reader, rows: pl.DataFrame, flow: int) -> dict[str, Any]:
    """The time from the first to the last decision, and how much of it is known."""
    if rows.is_empty():
        return NOTHING
    first, last = rows.select(pl.col("time_ns").min().alias("a"), pl.col("time_ns").max()).row(0)
    return await coverage_of(reader, Span(first, last + 1), flow=flow)


def in_force(found: Replayed, page: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Parameters of the algorithms that decided, with what they were told."""
    ran = page["algorithm"].cast(pl.String).unique().sort() if page.height else ()
    told = {name: dict(values) for name, values in found.parameters.items()}
    return {
        name: {row.name: row.default for row in parameter_table(name)} | told.get(name, {})
        for name in ran
    }


def conduct(found: Replayed) -> dict[str, Any]:
    """What its sender, its receiver and the way back did, as `hopsight conform` has it."""
    told = found.conformance
    return {
        "sender": next((each["sender"] for each in told["flows"]), None),
        "findings": [in_words(each) for each in told["findings"]],
        "undecided": told["undecided"],
    }


async def hop_names(reader: Any, page: pl.DataFrame) -> list[list[str]]:
    """The paths of a page's decisions, each hop by its name; decisions tell their number."""
    paths = await run_in_threadpool(paths_of, page)
    if not paths:
        return []
    hops = await reader.ask("hops", at_ns=int(page["time_ns"][-1]))
    named = {
        (row["node"], row["port"]): f"{row['device']} {row['interface']}"
        for row in hops.iter_rows(named=True)
    }
    return [[name_of(hop, named) for hop in path] for path in paths]


def name_of(hop: int, named: Mapping[tuple[int, int], str]) -> str:
    """A hop by its name, or by its ids where no topology names it."""
    node, port = divmod(hop, PORTS)
    return named.get((node, port)) or f"node {node} port {port}"


def paths_of(page: pl.DataFrame) -> list[list[int]]:
    """The paths that occur, in order."""
    if page.is_empty():
        return []
    return [list(path) for path in page["hop_ids"].drop_nulls().unique(maintain_order=True)]


def body(about: dict[str, Any], page: pl.DataFrame, names: list[list[str]]) -> bytes:
    """The answer; each decision says by `path` which of `paths` was its own."""
    numbers = {tuple(path): number for number, path in enumerate(paths_of(page))}
    own = [None if ids is None else numbers[tuple(ids)] for ids in page["hop_ids"]] if names else []
    texts = lines(page, TOLD).to_list() if page.height else []
    paths = [json.dumps(path) for path in own] or ["null"] * len(texts)
    rows = [f'{text[:-1]},"path":{path}}}' for text, path in zip(texts, paths, strict=True)]
    head = json.dumps(about, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return f'{head[:-1]},"decisions":[{",".join(rows)}]}}'.encode()


def columns_of(decisions: pl.DataFrame, asked: str | None) -> list[str]:
    """The columns of a table of decisions: what all have, then variables of those that decided.

    They are the same on every page, whichever decided there; of nothing those that were asked for.
    """
    ran, network = [asked] if asked else [], []
    if decisions.height:
        ran = decisions["algorithm"].cast(pl.String).unique().sort().to_list()
        there = (name for name in NETWORK if name in decisions.columns)
        network = [name for name in there if decisions[name].count()]
    own = (each for name in ran for each in variables(name))
    return [*dict.fromkeys([*COMMON, *network, *own, *TOLD])]


def as_csv(page: pl.DataFrame, names: list[str]) -> bytes:
    """The page as a table with these columns; of no decisions the heading alone."""
    if page.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String)).write_csv().encode()
    rows = known(page, names)
    listed = [name for name, kind in rows.schema.items() if isinstance(kind, pl.List)]
    words = pl.col(listed).cast(pl.List(pl.String))
    joined = [words.list.join(" ", ignore_nulls=True)] if listed else []
    return rows.with_columns(joined).write_csv().encode()
