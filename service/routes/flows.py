"""Flows: which are bottlenecked, which match a search, and the signals of one over time."""

import asyncio
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BeforeValidator, Field

from pipeline import Question, address_words, duration_text, length_bounds
from service.coverage import NOTHING, told
from service.cursor import cursor_of, next_page, numbers_of, page_of
from service.endpoint import MAX_NS, NS_PER_S, time_text
from service.form import PRINTED
from service.places import Places, sited
from service.polled import Awaited, Polled
from service.problem import Problem, invalid
from service.reader import Reader, reader_of
from service.routes.coverage import captured_of, coverage_of
from service.routes.filtering import FilterText, filtered
from service.routes.parameter import (
    TIMES,
    Cursor,
    FlowParameters,
    Interval,
    RangeParameters,
    Time,
)
from service.routes.span import Span, check, check_window, chosen, completed, ordered
from service.routes.topology import LATEST, located
from service.search import MOST_TEXT, SearchEnd, in_one_line, parse_protocol, parse_search
from service.shape import flow_of, hop_of, interval, records, rest_of

router = APIRouter(prefix="/api/v1", tags=["flows"], route_class=Polled)


class WhereParameters(FlowParameters):
    """One directional flow, the time to look at, and how much is told."""

    frames: bool = Field(
        False,
        description="Evidence also names the frames that carried it, so that they can be opened;"
        " about as much work again. Else `frames` is null.",
    )


class BottlenecksParameters(RangeParameters):
    """A time range and how many flows."""

    interval: Interval = None
    filter: FilterText = ""
    cursor: Cursor = None
    limit: int = Field(500, ge=1, le=10_000, description="Most flows of the answer.")


class SearchParameters(RangeParameters):
    """What a flow must have; a filter means verdicts in the range."""

    from_: Time | None = Field(
        None, alias="from", description=f"Only flows seen since: {TIMES}; else whenever."
    )
    to: Time | None = Field(None, description=f"Only flows seen before: {TIMES}; else whenever.")
    q: Annotated[
        str, Field(max_length=MOST_TEXT, pattern=PRINTED), BeforeValidator(in_one_line)
    ] = Field(
        "", description="Ends as they are pasted: a line of ss, hosts, 5-tuples; empty: every flow."
    )
    filter: FilterText = ""
    cursor: Cursor = None
    limit: int = Field(200, ge=1, le=10_000, description="Most flows of the answer.")


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
        located(reader, span.to_ns),
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


@router.get("/flows")
async def search(request: Request, asked: Annotated[SearchParameters, Query()]) -> dict[str, Any]:
    """Flows that were seen, newest first."""
    reader, limits = reader_of(request), request.app.state.settings.service
    sifted: dict[str, Any] = dict(filtered("flows", asked.filter))
    span: Span | None = None
    if asked.from_ is not None and asked.to is not None:
        ordered(asked.from_, asked.to)
    if sifted and (span := await chosen(reader, asked, limits.max_window_s)) is not None:
        sifted |= span.touched | length_bounds(span.to_ns - span.from_ns, None)
    elif sifted:
        return NOTHING | {"flows": [], "more": False, "cursor": None}
    places = await located(reader, LATEST)
    try:
        ends = await run_in_threadpool(parse_search, asked.q, places.addresses)
    except ValueError as error:
        raise invalid({"q": str(error)}) from None
    before_ns, after = numbers_of(asked.cursor, 2) if asked.cursor else (-1, 0)
    if before_ns > MAX_NS:
        raise invalid({"cursor": "is none that an answer gave"})
    given = sifted | seen_in(asked) | {
        "before_ns": before_ns, "after": after, "rows": limits.max_rows,
    }  # fmt: skip
    found, behind = await _matching(reader, ends, parse_protocol(asked.q), given)
    time = await _time_of(reader, asked, span, limits.max_window_s)
    more = found.height > asked.limit
    shown = found.head(asked.limit)
    last = (shown if more else behind).tail(1)
    return time | {
        "flows": await run_in_threadpool(records, shown),
        "more": more,
        "cursor": cursor_of(*last.select("last_ns", "flow").row(0)) if last.height else None,
    }


async def _time_of(
    reader: Reader, asked: SearchParameters, span: Span | None, most_s: float
) -> dict[str, Any]:
    """What a search says of its time, the span of its filter, or else what the store holds of it.

    Of a time whose beginning nobody asked for it is not counted what was judged.
    """
    if span is None:
        extent = (await reader.ask("extent")).row(0, named=True)
        if not extent["verdicts"]:
            return NOTHING
        from_ns = extent["from_ns"] if asked.from_ is None else asked.from_
        span = Span(from_ns, max(extent["to_ns"] if asked.to is None else asked.to, from_ns))
        if asked.from_ is None or span.to_ns - span.from_ns > most_s * NS_PER_S:
            share = await captured_of(reader, span)
            return told((span.from_ns, span.to_ns), None, share, None)
    return await coverage_of(reader, span)


def seen_in(asked: SearchParameters) -> dict[str, int]:
    """The range in which flows were seen; what it leaves open is any time."""
    from_ns = -MAX_NS if asked.from_ is None else asked.from_
    return {"seen_from_ns": from_ns, "seen_to_ns": MAX_NS if asked.to is None else asked.to - 1}


async def _matching(
    reader: Reader, ends: tuple[SearchEnd, ...], protocol: int | None, given: dict[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Flows with these ends, and those that the next questions begin behind, if there are more.

    The store finds by address or port, the rest is sifted here.
    """
    first = next((end for end in ends if end.addresses), ends[0] if ends else SearchEnd((), None))
    port = -1 if first.port is None else first.port
    parts = [
        await reader.ask(
            "flows_search", any_address=int(not first.addresses), hi=hi, lo=lo, port=port, **given
        )
        for hi, lo in [address_words(each) for each in first.addresses] or [(0, 0)]
    ]
    return await run_in_threadpool(_sifted, parts, ends, protocol, given["rows"])


def _sifted(
    parts: list[pl.DataFrame], ends: tuple[SearchEnd, ...], protocol: int | None, rows: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of all parts that have every end and the protocol, and all that are known."""
    found = pl.concat(parts).unique("flow").sort("last_ns", "flow", descending=[True, False])
    # Of what an address has more of than was asked for, nothing behind its last row is known.
    cut = [part["last_ns"][-1] for part in parts if part.height >= rows]
    known = found.filter(pl.col("last_ns") >= max(cut)) if cut else found
    keep = [
        protocol in {None, row["protocol"]} and _has(row, ends)
        for row in known.iter_rows(named=True)
    ]
    return known.filter(pl.Series(keep, dtype=pl.Boolean)), known if cut else known.clear()


def _has(row: dict[str, Any], ends: tuple[SearchEnd, ...]) -> bool:
    """Whether a flow has every end that was asked for, in either order."""
    here = ((row["src"], row["sport"]), (row["dst"], row["dport"]))
    if len(ends) < len(here):
        return all(any(end.matches(*one) for one in here) for end in ends)
    return any(
        ends[0].matches(*one) and ends[1].matches(*other) for one, other in (here, here[::-1])
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
    raise Problem(404, found["message"], field=field, flows=found["flows"])


router.add_api_route("/flows/bottleneck", bottleneck, route_class_override=Awaited)
