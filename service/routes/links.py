"""Links: which are hot over time, one link's timeline, and the flows that cross it."""

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from pipeline import ROLLED_NS
from service.coverage import NOTHING
from service.cursor import next_page, page_of
from service.polled import Polled
from service.problem import Problem
from service.reader import Reader, reader_of
from service.routes.coverage import coverage_of
from service.routes.crossing import NO_OTHERS, crossing, flows_of
from service.routes.filtering import FilterText, filtered
from service.routes.parameter import Cursor, Name, RangeParameters
from service.routes.span import Span, axis, check, chosen, step
from service.shape import HOP, hop_of, records, series

router = APIRouter(prefix="/api/v1", tags=["links"], route_class=Polled)

SERIES = ("u_mean", "u_max", "queue_mean_bytes", "queue_max_bytes", "samples", "flows")
MOST_LINKS = 200
NEVER = 1 << 62


class LinksParameters(RangeParameters):
    """A time range, and either one link by its names or how many of the hottest."""

    device: Name | None = None
    interface: Name | None = None
    filter: FilterText = ""
    cursor: Cursor = None
    limit: int = Field(24, ge=1, le=MOST_LINKS, description="Most links of the answer.")


class LinkParameters(RangeParameters):
    """One link by its names, and a time range."""

    device: Name
    interface: Name
    cursor: Cursor = None
    limit: int = Field(500, ge=1, le=10_000, description="Most flows of the answer.")


@router.get("/links")
async def links(request: Request, asked: Annotated[LinksParameters, Query()]) -> dict[str, Any]:
    """Load of links over time: the hottest of a range, or the one that is named.

    Loads are means over the samples of all flows, whoever asks, and `samples` are those of the
    telemetry that tells the load: INT where there is any. `flows` are those whose telemetry named
    the link in a cell; `/links/flows` has those that verdicts place there, too.

    Where intervals are not kept any more cells are minutes or hours, whose means are 4.4 % off at
    most, without queues; they count the flows that verdicts place there, too.
    """
    sifted = filtered("links", asked.filter)
    reader, span, start = await _start(request, asked)
    if span is None:
        return NOTHING | {"times_ns": [], "links": [], "cursor": None}
    width, old = await _width(reader, span)
    cells = span.bounds | {"step_ns": width} | old
    if asked.device is not None and asked.interface is not None:
        hop = await _hop(reader, asked.device, asked.interface, span)
        place = {"node": hop["node"], "port": hop["port"]}
        if old:
            rows = await reader.ask("old_links", **cells, **place, rows=1, skip=0)
        else:
            rows = await reader.ask("link_timeline", **cells, **place)
        rows = rows.with_columns(pl.lit(value).alias(name) for name, value in hop.items())
    elif asked.device is None and asked.interface is None:
        given = {"rows": asked.limit + 1, "skip": start}
        if old and sifted:
            said = "intervals of this range, which a filter asks about, are not kept any more"
            raise Problem(422, f"{said}; /te/links has a filter of what is kept", field="filter")
        if old:
            rows = await reader.ask("old_links", **cells, node=-1, port=-1, **given)
        else:
            rows = await reader.ask("hot_links", **cells, **given, **sifted)
    else:
        missing = "device" if asked.device is None else "interface"
        raise Problem(422, f"{missing}: a link is named by device and interface", field=missing)
    # Loads of links are told to all, and so is how much of all flows was judged.
    covered = await coverage_of(request.app.state.reader, span, width)
    times = axis(span, width)
    found = await run_in_threadpool(_timelines, rows, times)
    more = len(found) > asked.limit
    return covered | {
        "times_ns": times,
        "links": found[: asked.limit],
        "cursor": next_page(span, start + asked.limit, asked) if more else None,
    }


@router.get("/links/flows")
async def link_flows(request: Request, asked: Annotated[LinkParameters, Query()]) -> dict[str, Any]:
    """The flows that crossed a link, most bytes first, which it held back, and how long (share).

    Those are the flows whose telemetry names the link, or that it held back; `contributors` of a
    verdict may be more, by the topology.

    `u_mean` is the mean over the samples of the flow itself: what its own frames met at the link.
    `first_ns` and `last_ns` are the edges of the intervals in which it crossed the link.

    Where intervals of the range are not kept any more, `notes` says so: flows that the link held
    back are told by verdicts, and their bytes then are those of whole seconds, minutes or hours;
    of flows that it did not hold back nothing is known, so that `share` is null and `role` empty.
    """
    reader, span, start = await _start(request, asked)
    if span is None:
        nothing: dict[str, Any] = {
            "link": None,
            "others": NO_OTHERS,
            "flows": [],
            "notes": [],
            "cursor": None,
        }
        return NOTHING | nothing
    hop = await _hop(reader, asked.device, asked.interface, span)
    place = {"node": hop["node"], "port": hop["port"]}
    most = request.app.state.settings.service.max_rows
    whole, others, notes = await crossing(reader, span, place, most)
    last = start + asked.limit
    shown = await run_in_threadpool(flows_of, whole.slice(start, asked.limit))
    return await coverage_of(reader, span) | {
        "link": hop,
        "others": others,
        "flows": shown,
        "notes": notes,
        "cursor": next_page(span, last, asked) if last < whole.height else None,
    }


async def _start(
    request: Request, asked: LinksParameters | LinkParameters
) -> tuple[Reader, Span | None, int]:
    """Who is asked, about which time, and the row that the page begins with."""
    reader, most_s = reader_of(request), request.app.state.settings.service.max_window_s
    if asked.cursor:
        span, start = page_of(asked.cursor, asked)
        check(span.from_ns, span.to_ns, most_s)
        return reader, span, start
    return reader, await chosen(reader, asked, most_s, of_all=True), 0


async def _hop(reader: Reader, device: str, interface: str, span: Span) -> dict[str, Any]:
    """The hop of these names, or of raw ids (`node 7`, `port 3`).

    Names are those at the end of the range, or else at its begin, where they changed inside.
    """
    for at_ns in (span.last_ns, span.from_ns):
        known = await reader.ask("hops", at_ns=at_ns)
        named = await run_in_threadpool(_named, known, device, interface)
        if named is not None:
            return named
    node, port = _raw(device, "node "), _raw(interface, "port ")
    if node is None or port is None:
        unknown = "device" if node is None and device not in known["device"] else "interface"
        raise Problem(404, f"no topology names a link {device!r} {interface!r}", field=unknown)
    return dict.fromkeys(HOP) | {
        "node": node,
        "port": port,
        "device": device,
        "interface": interface,
    }


def _named(known: pl.DataFrame, device: str, interface: str) -> dict[str, Any] | None:
    """The hop that a topology names so."""
    named = known.filter((pl.col("device") == device) & (pl.col("interface") == interface))
    return named.select(HOP).row(0, named=True) if named.height else None


def _raw(name: str, prefix: str) -> int | None:
    """The id in a raw name of a hop that no topology names."""
    digits = name.removeprefix(prefix)
    plain = name.startswith(prefix) and digits.isascii() and digits.isdigit()
    return int(digits) if plain and int(digits[:11]) < 1 << 32 else None


async def _width(reader: Reader, span: Span) -> tuple[int, dict[str, Any]]:
    """The width of cells at which none is empty merely because what is stored is wider.

    It is that of all links, so that all pages have one time axis. With it how the rollup is asked
    that tells of loads where intervals are not kept any more; empty: they are.
    """
    length_ns, first_ns = (await reader.ask("links_length", **span.bounds)).row(0)
    minutes, hours = ROLLED_NS["minutes"], ROLLED_NS["hours"]
    if length_ns and first_ns - span.from_ns < minutes:
        return max(step(span), length_ns), {}
    by_minute, by_hour = [await _kept(reader, span, name) for name in ("minutes", "hours")]
    earliest = min(by_minute + minutes, by_hour + hours)
    if min(by_minute, by_hour) == NEVER or await _whole(reader, span, earliest):
        return max(step(span), length_ns), {}
    width, name = (minutes, "minutes") if by_minute < by_hour + hours else (hours, "hours")
    # Whole ones, so that each minute or hour is in the cell of its time.
    cell = -(-max(step(span), width) // width) * width
    return cell, _of(span, name)


async def _whole(reader: Reader, span: Span, earliest_ns: int) -> bool:
    """Whether intervals are kept as far back as a rollup tells, whose first cell ends then.

    What such a cell tells of may have been outside of the range, and in the range nothing.
    """
    hour = ROLLED_NS["hours"]
    bounds = {"from_ns": span.from_ns // hour * hour, "to_ns": -(-span.to_ns // hour) * hour}
    length_ns, first_ns = (await reader.ask("links_length", **bounds)).row(0)
    return bool(length_ns) and first_ns < earliest_ns


async def _kept(reader: Reader, span: Span, name: str) -> int:
    """From when on a rollup tells of loads in a range; `NEVER`: not at all."""
    rows, first_ns = (await reader.ask("links_kept", to_ns=span.to_ns, **_of(span, name))).row(0)
    return int(first_ns) if rows else NEVER


def _of(span: Span, name: str) -> dict[str, Any]:
    """How a rollup is asked of a range: from the minute or hour on in which that begins."""
    width = ROLLED_NS[name]
    return {"rollup": f"link_{name}", "from_ns": span.from_ns // width * width}


def _timelines(found: pl.DataFrame, times: list[int]) -> list[dict[str, Any]]:
    """One object a link, its values on the time axis, links in the order of their rows."""
    by_link: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in records(found):
        by_link.setdefault((row["node"], row["port"]), []).append(row)
    return [(hop_of(cells[0]) or {}) | series(cells, times, SERIES) for cells in by_link.values()]
