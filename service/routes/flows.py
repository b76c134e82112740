"""Flows: which are bottlenecked, which match a search, and the signals of one over time."""

import asyncio
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from pipeline import Question, duration_text, length_bounds
from service.coverage import NOTHING
from service.cursor import next_page, page_of
from service.endpoint import time_text
from service.places import Places, sited
from service.polled import Awaited, Polled
from service.problem import Problem
from service.reader import Reader, reader_of
from service.routes.coverage import coverage_of
from service.routes.filtering import FilterText, filtered
from service.routes.parameter import (
    Cursor,
    FlowParameters,
    Interval,
    RangeParameters,
)
from service.routes.span import Span, check, check_window, completed
from service.routes.topology import located
from service.shape import flow_of, hop_of, interval, records, rest_of

router = APIRouter(prefix="/api/v1", tags=["flows"], route_class=Polled)


class WhereParameters(FlowParameters):
    """One directional flow, the time to look at, and how much is told."""

    frames: bool = Field(
        False,
        description="Evidence also names the frames that carried it, so that they can be opened;"
        " about as much work again. Else `frames` is null.",
    )


def question_of(asked: FlowParameters, *, frames: bool = False) -> Question:
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
        frames=frames,
    )


async def bottleneck(
    request: Request, asked: Annotated[WhereParameters, Query()]
) -> dict[str, Any]:
    """Where one flow is bottlenecked: verdict, evidence, candidates, history; 404 without one.

    Loads of an interval are means over its time; of several intervals each counts by its samples.
    `/flows/signals` tells means over samples.
    """
    state = request.app.state
    check_window(asked.window, state.settings.service.max_window_s)
    reader = reader_of(request)
    return await answered(reader, asked, frames=asked.frames)


async def answered(
    reader: Reader, asked: FlowParameters, *, frames: bool = False
) -> dict[str, Any]:
    """The answer about a flow that has a verdict. Raises Problem: 404 names what there is none of.

    That is the flow, or else the length of intervals that was asked for, or the time.
    """
    found = await reader.answer(question_of(asked, frames=frames))
    if found["verdict"] is not None:
        return found
    others = found["interval"] and found["interval"]["lengths_ns"]
    field = "interval" if others and asked.interval else "at" if found["interval"] else "src"
    raise Problem(404, found["message"], field=field, flows=found["flows"], notes=found["notes"])


router.add_api_route("/flows/bottleneck", bottleneck, route_class_override=Awaited)


class BottlenecksParameters(RangeParameters):
    """A time range and how many flows."""

    interval: Interval = None
    filter: FilterText = ""
    cursor: Cursor = None
    limit: int = Field(500, ge=1, le=10_000, description="Most flows of the answer.")


@router.get("/bottlenecks")
async def bottlenecks(
    request: Request, asked: Annotated[BottlenecksParameters, Query()]
) -> dict[str, Any]:
    """Flows that the network held back in a range, the worst first.

    Those are the worst whose hop has the largest load times the share of their time in which it
    held them back.

    `flows_seen` counts all flows that the store knows, whenever they were seen. `u_mean` is the
    mean of the intervals in which the hop held the flow back, each by its samples, as verdicts tell
    it (docs/explanation/verdicts.md). A filter asks about the flow's hop with the largest load,
    which need not be the one that held it back longest and is told.
    """
    reader, most_s = reader_of(request), request.app.state.settings.service.max_window_s
    sifted, start = filtered("flows", asked.filter), 0
    extent = (await reader.ask("extent")).row(0, named=True)
    if asked.cursor:
        span, start = page_of(asked.cursor, asked)
        check(span.from_ns, span.to_ns, most_s)
    elif (latest := completed(extent, asked, most_s)) is None:
        return NOTHING | {"stored": None, "flows_seen": 0, "more": False, "cursor": None,
                          "bottlenecks": []}  # fmt: skip
    else:
        span = latest
    suits = length_bounds(span.to_ns - span.from_ns, asked.interval)
    last = start + asked.limit
    found, seen, places, covered = await asyncio.gather(
        reader.ask("top_bottlenecks", **span.touched, **suits, **sifted, rows=last + 1),
        reader.ask("flows_known"),
        located(reader, span.last_ns),
        coverage_of(reader, span, length_ns=asked.interval),
    )
    if asked.interval is not None and found.is_empty():
        await _there(reader, span, asked.interval)
    page = found.slice(start, asked.limit).drop("load", "congested")
    shown = await run_in_threadpool(_held_back, page, places)
    more = found.height > last
    answer: dict[str, Any] = covered | {
        "stored": interval(int(extent["from_ns"]), int(extent["to_ns"])),
        "flows_seen": int(seen["flows"][0]),
        "more": more,
        "cursor": next_page(span, last, asked) if more else None,
        "bottlenecks": shown,
    }
    return answer


async def _there(reader: Reader, span: Span, length_ns: int) -> None:
    """Raises Problem where a range has verdicts, but none on intervals of the length asked for."""
    found = await reader.ask("verdict_lengths", **span.touched)
    lengths = found["interval_ns"].to_list()
    if lengths and length_ns not in lengths:
        there = ", ".join(map(duration_text, lengths))
        raise Problem(
            404,
            f"no verdict on intervals of {duration_text(length_ns)} from {time_text(span.from_ns)}"
            f" to {time_text(span.to_ns)}; there are such of {there}",
            field="interval",
        )


def _held_back(rows: pl.DataFrame, places: Places) -> list[dict[str, Any]]:
    """Flows that are held back as the answer shows them, with where their ends are."""
    return [
        {"flow": flow_of(row), "hop": hop_of(row), **rest_of(row)}
        for row in records(sited(rows, places))
    ]
