"""Flows: which are bottlenecked, which match a search, and the signals of one over time."""

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from pydantic import Field

from pipeline import hpcc
from pipeline.question import Question, address_words
from pipeline.where import answer
from service.problem import Problem, invalid
from service.reader import Reader
from service.routes.parameter import FlowParameters, Name, Parameters, RangeParameters
from service.routes.span import Span, check_window, chosen
from service.search import SearchEnd, parse_search
from service.shape import flow_of, hop_of, interval, records, rest_of, series

router = APIRouter(prefix="/api/v1", tags=["flows"])

SIGNALS = (
    "U", "W", "Wc", "R", "alpha", "inflight_bytes", "decisions", "mark_share", "ce_share",
    "rate_bps", "aecn_u_mean", "aecn_u_max", "aecn_congested_hops_max",
)  # fmt: skip
"""Series of a flow, by the documents' names; units are in the names, shares and loads have none."""

ETA = next(row.default for row in hpcc.TABLE if row.name == "eta")
"""HPCC++ target utilisation: where U settles on a healthy path."""

HOP_SIGNALS = ("u_mean", "u_max", "queue_mean_bytes", "samples")
BITS = 8
NS_PER_S = 1e9
SOURCES = ("int", "csig", "aecn")
"""Telemetry in the order in which it speaks for a hop: measured before inferred."""


class BottlenecksParameters(RangeParameters):
    """A time range and how many flows."""

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
        return {"interval": None, "flows_seen": 0, "bottlenecks": []}
    extent = await state.reader.ask("extent")
    found = await state.reader.ask("top_bottlenecks", **span.touched, rows=asked.limit + 1)
    shown = found.head(asked.limit).drop("load", "congested")
    return {
        "interval": interval(span.from_ns, span.to_ns),
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


@router.get("/flows/signals")
async def signals(request: Request, asked: Annotated[FlowParameters, Query()]) -> dict[str, Any]:
    """What one flow did, and the load of each of its hops, on one time axis."""
    state = request.app.state
    flow = await found_flow(state.reader, asked)
    to_ns = int(flow["last_ns"]) if asked.at is None else asked.at
    check_window(asked.window, state.settings.service.max_window_s)
    from_ns, first_ns = to_ns - asked.window, int(flow["first_ns"])
    span = Span(first_ns if from_ns < first_ns < to_ns else from_ns, to_ns)
    own = await state.reader.ask("flow_signals", flow=flow["flow"], **span.touched)
    hops = await state.reader.ask("flow_hops", flow=flow["flow"], **span.touched)
    return _shaped(flow, span, own, hops)


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


async def found_flow(reader: Reader, asked: FlowParameters) -> dict[str, Any]:
    """The stored flow of a request, the one seen last of several; 404 when it was never seen."""
    src_hi, src_lo = address_words(asked.src.address)
    dst_hi, dst_lo = address_words(asked.dst.address)
    found = await reader.ask(
        "flow_of_key",
        src_hi=src_hi,
        src_lo=src_lo,
        dst_hi=dst_hi,
        dst_lo=dst_lo,
        sport=asked.src.port,
        dport=asked.dst.port,
        protocol=asked.proto,
    )
    narrow = {"tenant": asked.tenant, "vrf": asked.vrf, "vni": asked.vni}
    same = found.filter(
        *(pl.col(name) == value for name, value in narrow.items() if value is not None)
    )
    if same.is_empty():
        raise Problem(404, f"no flow {asked.src} → {asked.dst} was seen", field="src")
    flow: dict[str, Any] = same.row(0, named=True)
    return flow


def _shaped(
    flow: dict[str, Any], span: Span, own: pl.DataFrame, hops: pl.DataFrame
) -> dict[str, Any]:
    """The answer of `signals`; the point that saw most of the flow speaks for it."""
    own = _one_point(own, "data_bytes").with_columns(
        (pl.col("marked_bytes") / pl.col("acked_bytes")).fill_nan(None).alias("mark_share"),
        (pl.col("ce_frames") / pl.col("data_frames")).fill_nan(None).alias("ce_share"),
        (pl.col("data_bytes") * BITS * NS_PER_S / pl.col("interval_ns")).alias("rate_bps"),
    )
    hops = _one_point(_one_source(hops), "samples")
    times = sorted(set(own["time_ns"]) | set(hops["time_ns"]))
    steps = [*own["interval_ns"], *hops["interval_ns"]]
    by_hop = hops.partition_by("node", "port", maintain_order=True)
    ordered = sorted(by_hop, key=lambda rows: float(rows["hop_index"].mean() or 0))  # type: ignore[arg-type] # a mean of numbers
    return {
        "flow": flow_of(flow | {"flow": str(flow["flow"])}),
        "interval": interval(span.from_ns, span.to_ns, min(steps, default=None)),
        "times_ns": times,
        "eta": ETA,
        "signals": series(records(own), times, SIGNALS),
        "hops": [
            (hop_of(rows.row(0, named=True)) or {}) | series(records(rows), times, HOP_SIGNALS)
            for rows in ordered
        ],
    }


def _one_point(rows: pl.DataFrame, weight: str) -> pl.DataFrame:
    """Rows of the observation point that saw most, so that no packet counts twice."""
    if rows.is_empty():
        return rows
    by_point = rows.group_by("point").agg(pl.col(weight).sum()).sort([weight, "point"])
    return rows.filter(pl.col("point") == by_point["point"][-1])


def _one_source(hops: pl.DataFrame) -> pl.DataFrame:
    """Rows of the first kind of telemetry that the flow carries, one a hop and interval.

    CSIG gives a hop's load in terms, of which each alone is a lower bound: the largest is kept.
    """
    for source in SOURCES:
        if (rows := hops.filter(pl.col("source").str.starts_with(source))).height:
            hops = rows
            break
    return (
        hops.sort("u_mean")
        .unique(("time_ns", "point", "node", "port"), keep="last")
        .sort("time_ns")
    )
