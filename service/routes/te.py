"""Traffic engineering: loads of paths and links across flows, and the ways between two ends."""

from ipaddress import ip_network
from typing import Annotated, Any, Literal, NamedTuple

import polars as pl
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field, ValidationInfo, field_validator

from pipeline import ROLLED_NS, completeness_of_all
from service.coverage import NOTHING, told
from service.cursor import next_page, page_of
from service.polled import asked as whole_of
from service.reader import Reader, reader_of
from service.representation import media_type, represented
from service.routes.coverage import captured_of
from service.routes.filtering import FilterText, filtered
from service.routes.parameter import TIMES, Class, Cursor, Name, RangeParameters, Time
from service.routes.span import Span, check, ordered, stored

router = APIRouter(prefix="/api/v1/te", tags=["traffic engineering"])

WIDTHS = {f"1{word[0]}": (word, width) for word, width in ROLLED_NS.items()}
"""Rollups by the interval that is asked for, and their width, ns."""
MOST_ROWS = 100_000
MOST_ALL = 1_000_000
"""Rows that pages are cut from; the store's own limit (`store.query_rows`) may be lower."""


class CellParameters(RangeParameters):
    """Which cells of time and which class; without from and to, the latest cell."""

    from_: Time | None = Field(
        None, alias="from", description=f"Where the first cell begins: {TIMES}; else one cell."
    )
    interval: Literal["1s", "1m", "1h"] = Field("1s", description="Width of a cell of time.")
    class_: Class | None = Field(
        None, alias="class", description="DSCP; none: every class has its own rows."
    )


class TeParameters(CellParameters):
    """Which cells, page and representation."""

    limit: int = Field(10_000, ge=1, le=MOST_ROWS, description="Most rows of the answer.")
    cursor: Cursor = None
    filter: FilterText = ""
    format: Literal["json", "csv", "arrow"] | None = Field(
        None, description="Representation; without it the Accept header decides, else JSON."
    )


class PathsParameters(TeParameters):
    """What the ends of a path are, and one pair of them."""

    by: Literal["site", "prefix", "device"] = Field("site", description="What an end is.")
    src: Name = Field("", description="Only paths from this end.")
    dst: Name = Field("", description="Only paths to this end.")

    @field_validator("src", "dst")
    @classmethod
    def written(cls, end: str, info: ValidationInfo) -> str:
        """A prefix as paths have it; no path begins at what is none. Raises ValueError."""
        if not end or info.data.get("by") != "prefix":
            return end
        try:
            return str(ip_network(end))
        except ValueError as error:
            raise ValueError(f"should be a prefix, such as 10.0.0.0/24: {error}") from None


@router.get("/paths")
async def paths(request: Request, asked: Annotated[PathsParameters, Query()]) -> Response:
    """Loads of the paths between pairs of ends, across their flows; the fullest first."""
    ends = {"scope": asked.by, "src": asked.src, "dst": asked.dst}
    return await _answered(request, asked, "path", ends)


@router.get("/links")
async def links(request: Request, asked: Annotated[TeParameters, Query()]) -> Response:
    """Loads of links across the flows whose telemetry tells of them; the fullest first."""
    return await _answered(request, asked, "link", {})


async def _answered(
    request: Request, asked: TeParameters, kind: str, ends: dict[str, Any]
) -> Response:
    """The rows of a rollup, or that nothing has changed."""
    state = request.app.state
    same: Response | None = state.tags.unchanged(request, reader_of(request).store.revision)
    if same is not None:
        return same
    return await whole_of(request, lambda: _made(request, asked, kind, ends))


async def _made(request: Request, asked: TeParameters, kind: str, ends: dict[str, Any]) -> Response:
    """The rows of a rollup, page by page."""
    reader, state = reader_of(request), request.app.state
    sifted = filtered(f"{kind}_cells", asked.filter)
    word, width = WIDTHS[asked.interval]
    rollup, start = f"{kind}_{word}", 0
    if asked.cursor:
        page, start = page_of(asked.cursor, asked)
        known: Span | None = page
    else:
        known = await cells(reader, asked, rollup, width)
    # Of an empty store the shape of an answer is told as well: columns, and no cell.
    span = known or Span(0, 0)
    if known is not None:
        check(span.from_ns, span.to_ns, state.settings.service.max_window_s)
    given = {"dscp": -1 if asked.class_ is None else asked.class_, "rows": MOST_ALL}
    wanted = {"rollup": rollup, **span.bounds, **given, **ends, **sifted}
    key = (kind, reader.seen, repr(wanted))
    told = state.pages.known(key) if asked.cursor else None
    found = await reader.ask(f"te_{kind}s", **wanted) if told is None else told
    rows = found.slice(start, asked.limit)
    rest = found.height - start - rows.height
    if rest > 0:
        state.pages.keep(key, found)
    last = next_page(span, start + rows.height, asked) if rest > 0 else None
    of = Covering(span, width, await captured_of(reader, span))

    def answered() -> Response:
        about = covered(found, of) | ({} if known else NOTHING)
        about |= {"total": found.height, "cursor": last}
        return represented(media_type(request), rows, about, f"{kind}s")

    return await run_in_threadpool(answered)


async def cells(reader: Reader, asked: CellParameters, rollup: str, width: int) -> Span | None:
    """The whole cells that are asked for: without `to` the latest, without `from` one alone."""
    extent = (await reader.ask("te_extent", rollup=rollup)).row(0, named=True)
    if asked.from_ is not None and asked.to is not None:
        ordered(asked.from_, asked.to)
    if not extent["rows"] and (asked.from_ is None or asked.to is None):
        return None
    to_ns = extent["last_ns"] + width if asked.to is None else -(-asked.to // width) * width
    from_ns = max(to_ns - width, 0) if asked.from_ is None else asked.from_ // width * width
    if asked.to is None:
        stored(from_ns, to_ns)
    return Span(from_ns, to_ns)


class Covering(NamedTuple):
    """A time that is asked for: in cells of so many ns, and which share of it was captured."""

    span: Span
    width: int
    captured: float


def covered(rows: pl.DataFrame, of: Covering) -> dict[str, Any]:
    """How much of the time has rows, and which share of the data frames telemetry covers.

    What live sources did not capture of the time, it does not cover either.
    """
    there = rows["time_ns"].n_unique() if rows.height else 0
    share = rows.select(completeness_of_all()).item() if rows.height else None
    bounds = of.span.from_ns, of.span.to_ns
    count = (bounds[1] - bounds[0]) // of.width
    whole = told(bounds, there / max(count, 1), of.captured, share, of.width)
    return whole | {"cells": count, "cells_with_rows": there}
