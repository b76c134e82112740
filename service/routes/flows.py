"""Flows: which are bottlenecked, which match a search, and the signals of one over time."""

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from pydantic import Field

from pipeline import Question, address_words, answer, length_bounds
from service.problem import Problem, invalid
from service.reader import Reader
from service.routes.parameter import FlowParameters, Interval, Name, Parameters, RangeParameters
from service.routes.span import check_window, chosen
from service.search import SearchEnd, parse_search
from service.shape import flow_of, hop_of, interval, records, rest_of

router = APIRouter(prefix="/api/v1", tags=["flows"])


class BottlenecksParameters(RangeParameters):
    """A time range and how many flows."""

    interval: Interval = None
    limit: int = Field(500, ge=1, le=10_000, description="Most flows of the answer.")


class SearchParameters(Parameters):
    """What a flow must have at either end."""

    q: Name = Field("", description="Address, ADDRESS:PORT, :PORT, or two ends; empty: every flow.")
    limit: int = Field(200, ge=1, le=10_000, description="Most flows of the answer.")


@router.get("/bottlenecks")
async def bottlenecks(
    request: Request, asked: Annotated[BottlenecksParameters, Query()]
) -> dict[str, Any]:
    """Flows that the network held back in a range, the most loaded hops first."""
    state = request.app.state
    span = await chosen(state.reader, asked, state.settings.service.max_window_s)
    if span is None:
        return {"interval": None, "stored": None, "flows_seen": 0, "bottlenecks": []}
    extent = await state.reader.ask("extent")
    suits = length_bounds(span.to_ns - span.from_ns, asked.interval)
    found = await state.reader.ask("top_bottlenecks", **span.touched, **suits, rows=asked.limit + 1)
    shown = found.head(asked.limit).drop("load", "congested")
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
    try:
        ends = parse_search(asked.q)
    except ValueError as error:
        raise invalid({"q": str(error)}) from None
    found = await _matching(
        request.app.state.reader, ends, request.app.state.settings.service.max_rows
    )
    return {"flows": records(found.head(asked.limit)), "more": found.height > asked.limit}


async def _matching(reader: Reader, ends: tuple[SearchEnd, ...], most: int) -> pl.DataFrame:
    """Flows with these ends; the store finds by address or port, the rest is sifted here."""
    first = next((end for end in ends if end.address), ends[0] if ends else SearchEnd(None, None))
    high, low = address_words(first.address) if first.address else (0, 0)
    found = await reader.ask(
        "flows_search",
        any_address=int(first.address is None),
        hi=high,
        lo=low,
        port=-1 if first.port is None else first.port,
        rows=most,
    )
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
    reader: Reader = state.reader
    found = await reader.run("answer", answer, reader.store, _question(asked))
    if found["verdict"] is None:
        raise Problem(404, found["message"], field="src", flows=found["flows"])
    return found
