"""The ways between two ends, ranked by their links' loads, and the flows seen on each."""

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from pipeline import MOST_WAYS, Fabric, address_words, by_class, loads_of, ranked, taken
from service.endpoint import parse_address
from service.problem import Problem, invalid
from service.reader import Reader, reader_of
from service.representation import Tags, documented
from service.routes.coverage import captured_of
from service.routes.parameter import Name
from service.routes.span import Span, check
from service.routes.te import MOST_ALL, WIDTHS, CellParameters, Covering, cells, covered
from service.shape import records

router = APIRouter(prefix="/api/v1/te", tags=["traffic engineering"])

MOST_SIBLINGS = 1000
"""Flows, each as often as it changed the hops that it crosses."""
TIMES: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "from_ns": pl.Expr.min, "to_ns": pl.Expr.max, "seen_ns": pl.Expr.sum,
}  # fmt: skip
"""When a flow took a way: first and last, and how long of it."""
PORTS = 1 << 32
End = dict[str, Any]


class AlternativesParameters(CellParameters):
    """Two ends: each an address, a host, or a device of the topology."""

    src: Name
    dst: Name
    limit: int = Field(MOST_WAYS, ge=1, le=MOST_WAYS, description="Most ways of the answer.")


@router.get("/alternatives")
async def alternatives(
    request: Request, asked: Annotated[AlternativesParameters, Query()]
) -> Response:
    """All shortest ways between two ends, the best first, with the flows that take each.

    Two addresses are of one family, as those of a packet are. Without a class a link's load is that
    of its worst one, and `classes` rank the same ways by each class alone.
    """
    state = request.app.state
    revision = reader_of(request).store.revision
    same: Response | None = state.tags.unchanged(request, revision)
    if same is not None:
        return same
    tree = await _answered(request, asked)
    answer = await run_in_threadpool(documented, request, tree)
    state.tags.remember(Tags.key(request), revision, answer.headers["etag"])
    return answer


async def _answered(request: Request, asked: AlternativesParameters) -> dict[str, Any]:
    """The answer, out of the topology and the rollups of links."""
    state = request.app.state
    reader = reader_of(request)
    word, width = WIDTHS[asked.interval]
    span = await cells(reader, asked, f"link_{word}", width)
    if span is None:
        raise Problem(404, "the store holds no loads of links", field="from")
    check(span.from_ns, span.to_ns, state.settings.service.max_window_s)
    hops = await reader.ask("hops", at_ns=span.last_ns)
    hosts = await reader.ask("te_hosts", at_ns=span.last_ns)
    ends = await run_in_threadpool(ends_of, asked, hosts, hops)
    dscp = -1 if asked.class_ is None else asked.class_
    links = await reader.ask(
        "te_links", rollup=f"link_{word}", **span.bounds, dscp=dscp, rows=MOST_ALL
    )
    siblings = await _siblings(reader, ends, span)
    of = Covering(span, width, await captured_of(reader, span))
    return await run_in_threadpool(told_of, asked, (hops, links, siblings), ends, of)


def ends_of(asked: AlternativesParameters, hosts: pl.DataFrame, hops: pl.DataFrame) -> list[End]:
    """Both ends. Raises Problem, also for addresses that no packet has both."""
    src, dst = address_of(asked.src), address_of(asked.dst)
    if src and dst and src.version != dst.version:
        told = f"{dst} is IPv{dst.version}, and src is IPv{src.version}; no packet has both"
        raise invalid({"dst": told})
    named = (("src", asked.src), ("dst", asked.dst))
    return [end_of(name, hosts, hops, field) for field, name in named]


def told_of(
    asked: AlternativesParameters,
    rows: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame],
    ends: list[End],
    of: Covering,
) -> dict[str, Any]:
    """The ways, ranked, out of hops, loads of links and sibling flows; in a thread."""
    hops, links, siblings = rows
    fabric, loads = Fabric(hops), loads_of(links)
    last = fabric.last(ends[1]["device"], ends[1]["interface"]) if ends[1]["interface"] else []
    ways, count = fabric.ways(ends[0]["device"], ends[1]["device"], loads, last)
    best = ranked(ways, loads)
    told = best[: asked.limit]
    flows = on_ways(siblings, best)
    return {
        "src": ends[0],
        "dst": ends[1],
        "class": asked.class_,
        **covered(_of(links, told), of),
        "ways": count,
        "more": count > len(told),
        "siblings": siblings["flow"].n_unique(),
        "alternatives": [
            way | {"flows": records(rows)} for way, rows in zip(told, flows, strict=False)
        ],
        "classes": by_class(told, links),
    }


def _of(links: pl.DataFrame, ways: list[dict[str, Any]]) -> pl.DataFrame:
    """The rows of the links that ways go over."""
    crossed = [(link["node"], link["port"]) for way in ways for link in way["links"]]
    known = pl.DataFrame(
        crossed, schema={name: links.schema[name] for name in ("node", "port")}, orient="row"
    )
    return links.join(known.unique(), on=["node", "port"], how="semi")


def end_of(name: str, hosts: pl.DataFrame, hops: pl.DataFrame, field: str) -> End:
    """Where an end is: an address by the longest prefix that the topology has, or a name of it."""
    address = address_of(name)
    if address is not None:
        found = [row for row in hosts.iter_rows(named=True) if _within(address, row["prefix"])]
        if not found:
            raise Problem(404, f"{field}: no prefix of the topology has {address}", field=field)
        row = max(found, key=lambda row: ip_network(row["prefix"]).prefixlen)
        return {"address": str(address), **row}
    named = hosts.filter(pl.col("host") == name)
    if named.height:
        return {"address": None, **named.row(0, named=True)}
    if name in hops["device"]:
        unknown = dict.fromkeys(hosts.columns)
        return {"address": None, **unknown, "device": name, "interface": ""}
    raise Problem(
        404, f"{field}: {name!r} is no address, host or device of the topology", field=field
    )


def address_of(name: str) -> IPv4Address | IPv6Address | None:
    """The address that an end is told by, None for a name."""
    try:
        return parse_address(name)
    except ValueError:
        return None


def _within(address: IPv4Address | IPv6Address, prefix: str) -> bool:
    network = ip_network(prefix)
    return network.version == address.version and address in network


async def _siblings(reader: Reader, ends: list[End], span: Span) -> pl.DataFrame:
    """Flows between two addresses with the hops that they crossed; none between other ends."""
    if any(end["address"] is None for end in ends):
        return pl.DataFrame(schema={"flow": pl.UInt64, "hops": pl.List(pl.UInt64)})
    words: dict[str, int] = {}
    for name, end in zip(("src", "dst"), ends, strict=True):
        words[f"{name}_hi"], words[f"{name}_lo"] = address_words(parse_address(end["address"]))
    return await reader.ask("te_siblings", **words, **span.bounds, rows=MOST_SIBLINGS)


def on_ways(siblings: pl.DataFrame, ways: list[dict[str, Any]]) -> Iterator[pl.DataFrame]:
    """The flows that took each way, with the time in which they did."""
    crossed = [[link["node"] * PORTS + link["port"] for link in way["links"]] for way in ways]
    seen = [frozenset(hops) for hops in siblings["hops"]]
    names = [name for name in siblings.columns if name not in {*TIMES, "hops"}]
    times = [TIMES[name](pl.col(name)) for name in TIMES if name in siblings.columns]
    for took in taken(crossed, set(seen)):
        own = siblings.filter(pl.Series([hops in took for hops in seen], dtype=pl.Boolean))
        yield own.group_by(names, maintain_order=True).agg(times)
