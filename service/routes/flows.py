"""Flows: which are bottlenecked, which match a search, and the signals of one over time."""

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from pydantic import Field

from pipeline import Question, address_words, answer, length_bounds
from service.places import sited
from service.problem import Problem, invalid
from service.reader import Reader, reader_of
from service.routes.parameter import FlowParameters, Interval, Parameters, RangeParameters
from service.routes.span import check_window, chosen
from service.routes.topology import LATEST, located
from service.search import MOST_TEXT, SearchEnd, parse_search
from service.shape import flow_of, hop_of, interval, records, rest_of

router = APIRouter(prefix="/api/v1", tags=["flows"])


class BottlenecksParameters(RangeParameters):
    """A time range and how many flows."""

    interval: Interval = None
    limit: int = Field(500, ge=1, le=10_000, description="Most flows of the answer.")


class SearchParameters(Parameters):
    """What a flow must have at either end."""

    q: Annotated[str, Field(max_length=MOST_TEXT, pattern=r"^[^\x00-\x1f]*$")] = Field(
        "", description="Ends as they are pasted: a line of ss, hosts, 5-tuples; empty: every flow."
    )
    limit: int = Field(200, ge=1, le=10_000, description="Most flows of the answer.")


@router.get("/bottlenecks")
async def bottlenecks(
    request: Request, asked: Annotated[BottlenecksParameters, Query()]
) -> dict[str, Any]:
    """Flows that the network held back in a range, the most loaded hops first."""
    reader = reader_of(request)
    span = await chosen(reader, asked, request.app.state.settings.service.max_window_s)
    if span is None:
        return {"interval": None, "stored": None, "flows_seen": 0, "bottlenecks": []}
    extent = await reader.ask("extent")
    suits = length_bounds(span.to_ns - span.from_ns, asked.interval)
    found = await reader.ask("top_bottlenecks", **span.touched, **suits, rows=asked.limit + 1)
    places = await located(reader, span.to_ns)
    shown = sited(found.head(asked.limit).drop("load", "congested"), places)
    return {
        "interval": interval(span.from_ns, span.to_ns),
        "stored": interval(int(extent["from_ns"][0]), int(extent["to_ns"][0])),
        "flows_seen": int(extent["flows"][0]),
        "more": found.height > shown.height,
        "bottlenecks": [
            {"flow": flow_of(row), "hop": hop_of(row), **rest_of(row)} for row in records(shown)
        ],
    }


@router.get("/flows")
async def search(request: Request, asked: Annotated[SearchParameters, Query()]) -> dict[str, Any]:
    """Flows that were seen, newest first."""
    reader = reader_of(request)
    places = await located(reader, LATEST)
    try:
        ends = parse_search(asked.q, places.addresses)
    except ValueError as error:
        raise invalid({"q": str(error)}) from None
    found = await _matching(reader, ends, request.app.state.settings.service.max_rows)
    return {"flows": records(found.head(asked.limit)), "more": found.height > asked.limit}


async def _matching(reader: Reader, ends: tuple[SearchEnd, ...], most: int) -> pl.DataFrame:
    """Flows with these ends; the store finds by address or port, the rest is sifted here."""
    first = next((end for end in ends if end.addresses), ends[0] if ends else SearchEnd((), None))
    port = -1 if first.port is None else first.port
    parts = [
        await reader.ask(
            "flows_search", any_address=int(not first.addresses), hi=hi, lo=lo, port=port, rows=most
        )
        for hi, lo in [address_words(each) for each in first.addresses] or [(0, 0)]
    ]
    found = pl.concat(parts).unique("flow").sort("last_ns", "flow", descending=[True, False])
    keep = [_has(row, ends) for row in found.iter_rows(named=True)]
    return found.filter(pl.Series(keep, dtype=pl.Boolean))


def _has(row: dict[str, Any], ends: tuple[SearchEnd, ...]) -> bool:
    """Whether a flow has every end that was asked for, in either order."""
    here = ((row["src"], row["sport"]), (row["dst"], row["dport"]))
    if len(ends) < len(here):
        return all(any(end.matches(*one) for one in here) for end in ends)
    return any(
        ends[0].matches(*one) and ends[1].matches(*other) for one, other in (here, here[::-1])
    )


def _question(asked: FlowParameters) -> Question:
    """The request as the store is asked."""
    return Question(
        src=asked.src.address,
        sport=asked.src.port,
        dst=asked.dst.address,
        dport=asked.dst.port,
        protocol=asked.proto,
        at_ns=asked.at,
        window_ns=asked.window,
        tenant=asked.tenant,
        vrf=asked.vrf,
        vni=asked.vni,
        interval_ns=asked.interval,
    )


@router.get("/flows/bottleneck")
async def bottleneck(request: Request, asked: Annotated[FlowParameters, Query()]) -> dict[str, Any]:
    """Where one flow is bottlenecked: verdict, evidence, candidates, history; 404 without one."""
    state = request.app.state
    check_window(asked.window, state.settings.service.max_window_s)
    reader = reader_of(request)
    found = await reader.run("answer", answer, reader.store, _question(asked))
    if found["verdict"] is None:
        raise Problem(404, found["message"], field="src", flows=found["flows"])
    return found
