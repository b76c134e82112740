"""Which flows are there: all of a time, or those with ends as people paste them, page by page.

Flows stand in the order in which they were last seen, which those that go on sending leave while
pages are asked for. So behind the last page those come that were seen anew since the first: no flow
is left out, and one of them may come twice.
"""

from typing import Annotated, Any, NamedTuple

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BeforeValidator, Field

from pipeline import address_words, length_bounds
from service.coverage import NOTHING, told
from service.cursor import place_behind, place_of
from service.endpoint import MAX_NS, NS_PER_S
from service.form import PRINTED
from service.polled import Polled
from service.problem import invalid
from service.reader import Reader, reader_of
from service.routes.coverage import captured_of, coverage_of
from service.routes.filtering import FilterText, filtered
from service.routes.parameter import TIMES, Cursor, RangeParameters, Time
from service.routes.span import Span, chosen, ordered
from service.routes.topology import LATEST, located
from service.search import MOST_TEXT, SearchEnd, in_one_line, parse_protocol, parse_search
from service.shape import records

router = APIRouter(prefix="/api/v1", tags=["flows"], route_class=Polled)


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


class Wanted(NamedTuple):
    """What is asked of all pages: ends of flows, their protocol, and what the store is given."""

    ends: tuple[SearchEnd, ...]
    protocol: int | None
    given: dict[str, Any]


class Place(NamedTuple):
    """Where a page begins: behind the flow `after` that was last seen at `before_ns`; -1: first.

    `until_ns` is when the newest flow of the first page was last seen. Where it is `moved` the page
    holds flows that were seen anew since, in the order of their numbers.
    """

    before_ns: int = -1
    after: int = 0
    until_ns: int = -1
    moved: int = 0

    @staticmethod
    def of(asked: SearchParameters) -> "Place":
        """The place that a cursor tells. Raises Problem when it is of no answer to this."""
        if not asked.cursor:
            return Place()
        before_ns, after, until_ns, moved = place_of(asked.cursor, asked, 4)
        place = Place(before_ns, after, until_ns, moved)
        if max(place.before_ns, place.until_ns) > MAX_NS or place.moved > 1:
            raise invalid({"cursor": "is none that an answer gave"})
        return place

    @property
    def asked(self) -> dict[str, int]:
        """The place as the store is asked."""
        until_ns = self.until_ns if self.moved else -1
        return {"before_ns": self.before_ns, "after": self.after, "until_ns": until_ns}

    @property
    def behind(self) -> "Place":
        """Where flows begin that were seen anew, behind the last that was not."""
        return Place(until_ns=self.until_ns, before_ns=0, moved=1)

    def next(self, told: pl.DataFrame) -> "Place":
        """The place behind the last of some flows."""
        first = self.until_ns < 0
        until_ns = int(told["last_ns"].to_numpy().max()) if first else self.until_ns
        before_ns, after = told.select("last_ns", "flow").row(-1)
        return Place(before_ns, after, until_ns, self.moved)


@router.get("/flows")
async def search(request: Request, asked: Annotated[SearchParameters, Query()]) -> dict[str, Any]:
    """Flows that were seen, newest first.

    Flows that go on sending while pages are asked for come behind all others, maybe again.
    """
    reader, limits = reader_of(request), request.app.state.settings.service
    begin = Place.of(asked)
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
    given = sifted | seen_in(asked) | {"rows": limits.max_rows}
    question = Wanted(ends, parse_protocol(asked.q), given)
    shown, place = await _page(reader, question, begin, asked.limit)
    time = await _time_of(reader, asked, span, limits.max_window_s)
    return time | {
        "flows": await run_in_threadpool(records, shown),
        "more": place is not None,
        "cursor": place_behind(asked, *place) if place else None,
    }


async def _page(
    reader: Reader, wanted: Wanted, place: Place, limit: int
) -> tuple[pl.DataFrame, Place | None]:
    """At most `limit` flows from a place on, and the place behind them; None: there are no more."""
    found, known = await _matching(reader, wanted, place)
    if found.height > limit:
        shown = found.head(limit)
        return shown, place.next(shown)
    if known.height:
        return found, place.next(known)
    if place.moved or place.until_ns < 0:  # all that there are, at one look
        return found, None
    room = limit - found.height
    anew, behind = await _page(reader, wanted, place.behind, max(room, 1))
    if not room:
        return found, place.behind if anew.height else None
    return pl.concat([found, anew]), behind


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
    reader: Reader, wanted: Wanted, place: Place
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Flows from a place on, and those that the next questions begin behind, if there are more.

    The store finds by address or port, the rest is sifted here.
    """
    ends = wanted.ends
    first = next((end for end in ends if end.addresses), ends[0] if ends else SearchEnd((), None))
    port = -1 if first.port is None else first.port
    asked = wanted.given | place.asked | {"any_address": int(not first.addresses), "port": port}
    parts = [
        await reader.ask("flows_search", hi=hi, lo=lo, **asked)
        for hi, lo in [address_words(each) for each in first.addresses] or [(0, 0)]
    ]
    return await run_in_threadpool(_sifted, parts, wanted, place)


def _sifted(
    parts: list[pl.DataFrame], wanted: Wanted, place: Place
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of all parts that have every end and the protocol, and all that are known."""
    order = [pl.col("flow")] if place.moved else [-pl.col("last_ns"), pl.col("flow")]
    found = pl.concat(parts).unique("flow").sort(order)
    # Of what an address has more of than was asked for, nothing behind its last row is known.
    cut = [part.select(order[0]).to_series()[-1] for part in parts
           if part.height >= wanted.given["rows"]]  # fmt: skip
    known = found.filter(order[0] <= min(cut)) if cut else found
    keep = [
        wanted.protocol in {None, row["protocol"]} and _has(row, wanted.ends)
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
