"""The signals of one flow over time: what it did, and the load of each of its hops."""

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool

from pipeline import ROLLED_NS, Question, found_flows, hpcc, integrity, key_of, same_ends
from service.polled import Polled
from service.problem import Problem
from service.reader import Reader, reader_of
from service.routes.added import CELL, SEEN, added_up
from service.routes.coverage import coverage_of
from service.routes.parameter import EndsParameters, FlowParameters, SignalsParameters
from service.routes.span import LATEST_NS, Span, check_window
from service.shape import flow_of, hop_of, records, series

router = APIRouter(prefix="/api/v1", tags=["flows"], route_class=Polled)

SIGNALS = (
    "U", "W", "Wc", "R", "alpha", "inflight_bytes", "decisions", "mark_share", "ce_share",
    "rate_bps", "aecn_u_mean", "aecn_u_max", "aecn_congested_hops_max",
)  # fmt: skip
"""Series of a flow, by the documents' names; units are in the names, shares and loads have none."""

ETA = next(row.default for row in hpcc.TABLE if row.name == "eta")
"""HPCC++ target utilisation: where U settles on a healthy path."""

HOP_SIGNALS = ("u_mean", "u_max", "queue_mean_bytes", "samples", "abw_bps", "delay_ns")
HOP_KEY = (
    "time_ns", "interval_ns", "node", "port", "device", "interface", "stage", "orientation",
    "capacity_bps", "hop_index",
)  # fmt: skip
SPEAKS = {
    ("data_bytes",): ("data_bytes",),
    ("acked_bytes", "data_bytes"): (
        "acked_bytes", "marked_bytes", "decisions", "U", "W", "Wc", "R", "alpha", "inflight_bytes",
    ),
    ("aecn_u_sum", "data_bytes"): ("aecn_u_mean", "aecn_u_max", "aecn_congested_hops_max"),
}  # fmt: skip
"""By what the point is chosen that speaks, and of what: data and acknowledgments may be seen at
different ones, and of a path's load the point furthest down it tells all."""
MOST_STEPS = 5000
"""Steps of a long window, at most."""
UNPLACED = 255
"""Hop index of a hop whose place on the path its telemetry does not tell."""
BITS = 8
NS_PER_S = 1e9


@router.get("/flows/signals")
async def signals(request: Request, asked: Annotated[SignalsParameters, Query()]) -> dict[str, Any]:
    """What one flow did, and the load of each of its hops, on one time axis.

    A cell begins at `times_ns` and adds up `lengths_ns`: of its width the whole stored intervals
    that touch the window, from where the flow began to where it was seen last, silence between them
    too. `rate_bps` is payload over that time. Windows of more than ten minutes, and times of which
    no intervals are kept, are told by whole seconds, minutes or hours, to which `interval` is
    widened: where the flow sent in a part of one, its rate is the mean over all of it. Loads of
    hops are means over the samples of the flow itself.
    """
    settings = request.app.state.settings
    told = await signals_of(reader_of(request), asked, settings.service.max_window_s)
    return told | {"eta": settings.pipeline.parameters.get("hpcc", {}).get("eta", ETA)}


async def signals_of(reader: Reader, asked: FlowParameters, most_s: float) -> dict[str, Any]:
    """The same for whoever reads a store; windows are `most_s` long at most. Raises Problem."""
    at_ns = asked.at
    same = await flows_with(reader, asked, at_ns and at_ns - asked.window, at_ns)
    flow = same[0]
    to_ns = int(flow["last_ns"]) if asked.at is None else asked.at
    check_window(asked.window, most_s)
    from_ns, first_ns = to_ns - asked.window, int(flow["first_ns"])
    span = Span(first_ns if from_ns < first_ns < to_ns else from_ns, to_ns)
    step_ns, span, own = await _own(reader, flow["flow"], span, asked)
    hops = await reader.ask("flow_hops", flow=flow["flow"], **span.bounds, step_ns=step_ns)
    told = await reader.ask("flow_integrity", flow=flow["flow"], **span.touched)
    least_ns, made = await run_in_threadpool(_shaped, flow, span, (own, hops, told))
    told_of = await coverage_of(reader, span, least_ns, flow=flow["flow"])
    return told_of | made | {"notes": same_ends(same)}


async def _own(
    reader: Reader, flow: int, span: Span, asked: FlowParameters
) -> tuple[int, Span, pl.DataFrame]:
    """What a flow did, in which time, and the length that intervals are added up to, ns (0: none).

    Over long windows, and where intervals are not kept any more, rollups tell, of whole cells.
    """
    step_ns = asked.interval or 0
    about = {"flow": flow, **span.touched}
    if asked.window <= LATEST_NS:
        own = await reader.ask("flow_signals", **about, step_ns=step_ns)
        if own.height:
            return step_ns, span, own
    lengths = (await reader.ask("flow_lengths", **about))["interval_ns"]
    rollup, width = rolled(asked.window, step_ns, min(lengths, default=0))
    if rollup is None:
        return step_ns, span, await reader.ask("flow_signals", **about, step_ns=step_ns)
    whole = span.whole(width)
    about = {"flow": flow, **whole.touched}
    own = await reader.ask("flow_signals_long", rollup=rollup, **about, step_ns=width)
    return width, whole if own.height else span, own


def rolled(window_ns: int, step_ns: int, least_ns: int = 0) -> tuple[str | None, int]:
    """The rollup that tells a window, and its step: as asked for, else the finest that suits.

    A rollup has an interval, `least_ns` long, where that begins, so one that is shorter would tell
    too much of that time and nothing of the next. None where a step is asked for that no rollup has
    a part of.
    """
    wide = {name: width for name, width in ROLLED_NS.items() if width >= least_ns}
    if step_ns:
        whole = [name for name, width in wide.items() if step_ns % width == 0]
        return (f"flow_{whole[-1]}" if whole else None), step_ns
    name = next((name for name, width in wide.items() if window_ns <= width * MOST_STEPS),
                [*ROLLED_NS][-1])  # fmt: skip
    return f"flow_{name}", ROLLED_NS[name]


async def flows_with(
    reader: Reader, asked: EndsParameters, from_ns: int | None, to_ns: int | None
) -> list[dict[str, Any]]:
    """The stored flows that a request may mean; 404 without any.

    Of those seen from `from_ns` to before `to_ns` (None: no such end) the one seen last is first.
    """
    ends = Question(asked.src.address, asked.src.port, asked.dst.address, asked.dst.port,
                    asked.proto, tenant=asked.tenant, vrf=asked.vrf, vni=asked.vni)  # fmt: skip
    rows = await reader.ask("flow_of_key", **key_of(ends))
    found = found_flows(rows, ends, None, (from_ns, to_ns))
    if not found:
        raise Problem(404, f"no flow {asked.src} → {asked.dst} was seen", field="src")
    return found


def _shaped(
    flow: dict[str, Any], span: Span, found: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
) -> tuple[int | None, dict[str, Any]]:
    """The width of cells, and the answer of `signals`, but for what it says of its time.

    It is made from what the flow did, its hops, and what its feedback came to.
    """
    own, hops, told = found
    carried = (pl.col("ce_frames") / pl.col("data_frames")).fill_nan(None)
    own = own.with_columns(
        # A tap before the queue sees no CE: the point that sees most of it speaks.
        carried.max().over("time_ns").alias("ce_share"),
        (pl.col("aecn_u_mean") * pl.col("aecn_samples")).alias("aecn_u_sum"),
    )
    seen = pl.concat([each.select(*CELL, *SEEN) for each in (own, hops)])
    cells = added_up(seen, span, int(flow["last_ns"]))
    own = (
        _of_each_point(own)
        .join(cells, on=CELL, how="left")
        .with_columns(
            (pl.col("marked_bytes") / pl.col("acked_bytes")).fill_nan(None).alias("mark_share"),
            (pl.col("data_bytes") * BITS * NS_PER_S / pl.col("length_ns")).alias("rate_bps"),
        )
    )
    measured = hops.filter(pl.col("source") == "int")
    loads = _one_point(measured, "samples") if measured.height else _summed(hops)
    loads = _headroom(loads)
    told_of = pl.concat([each.select(CELL) for each in (own, loads)])
    cells = cells.join(told_of, on=CELL, how="semi").sort(CELL)
    cells = cells.unique("time_ns", keep="last", maintain_order=True)
    times = cells["time_ns"].to_list()
    return min(cells["interval_ns"], default=None), {
        "flow": flow_of(flow | {"flow": str(flow["flow"])}),
        "times_ns": cells["begin_ns"].to_list(),
        "lengths_ns": cells["length_ns"].to_list(),
        "signals": series(records(own), times, SIGNALS),
        "hops": [
            _hop(rows, times)
            for rows in loads.sort("hop_index", "node", "port", "time_ns").partition_by(
                "node", "port", maintain_order=True
            )
        ],
        "integrity": integrity(told),
    }


def _of_each_point(own: pl.DataFrame) -> pl.DataFrame:
    """What a flow did, each of it told by the point that saw most of that (`SPEAKS`)."""
    told = own.select("time_ns", "interval_ns", "ce_share").unique(["time_ns", "interval_ns"])
    for weights, names in SPEAKS.items():
        rows = _one_point(own, *weights).select("time_ns", "interval_ns", *names)
        told = told.join(rows, on=["time_ns", "interval_ns"], how="left")
    return told.sort("time_ns", "interval_ns")


def _hop(rows: pl.DataFrame, times: list[int]) -> dict[str, Any]:
    """One hop: its names, its place on the path (null where that is not told), its series."""
    place = int(rows["hop_index"][0])
    named = hop_of(rows.row(0, named=True)) or {}
    told = {"hop_index": None if place == UNPLACED else place}
    return named | told | series(records(rows), times, HOP_SIGNALS)


def _headroom(loads: pl.DataFrame) -> pl.DataFrame:
    """What each hop has to spare, bit/s, and how long its queue keeps a packet, ns.

    The first is B times 1 less what was sent at line rate, by the hop's counters or by CSIG's
    ABW, the second the queue's bytes over B.
    """
    spare = pl.col("capacity_bps") * (1 - pl.col("rate_u")).clip(0)
    delay = pl.col("queue_mean_bytes") * BITS * NS_PER_S / pl.col("capacity_bps")
    return loads.with_columns(spare.alias("abw_bps"), delay.alias("delay_ns"))


def _one_point(rows: pl.DataFrame, *weights: str) -> pl.DataFrame:
    """Rows of the observation point that saw most, so that no packet counts twice.

    Of those that saw as much it is the one that saw fewest marked, which is nearest to the sender
    and knows best what that knows.
    """
    if rows.is_empty():
        return rows
    least = ["ce_frames"] if "ce_frames" in rows.columns else []
    by_point = rows.group_by("point").agg(pl.col(*weights, *least).sum())
    rising = [*least, "point"]
    falling = [True] * len(weights) + [False] * len(rising)
    by_point = by_point.sort(*weights, *rising, descending=falling)
    return rows.filter(pl.col("point") == by_point["point"][0])


def _summed(hops: pl.DataFrame) -> pl.DataFrame:
    """Hop loads from CSIG terms: the rate term of ABW or ABW/C and the queue term of PD, added.

    Tags and reflections say the same, so each kind of signal counts once, by its mean.
    """
    terms = hops.with_columns(
        pl.col("source").str.split("_").list.last().eq("delay").alias("queueing")
    )
    mean = (pl.col("u_mean") * pl.col("samples")).sum() / pl.col("samples").sum()
    by_kind = terms.group_by(*HOP_KEY, "queueing").agg(
        mean.alias("u_mean"),
        pl.col("u_max", "queue_mean_bytes").max(),
        pl.col("samples").sum(),
    )
    rate = pl.col("u_mean").filter(~pl.col("queueing")).first().alias("rate_u")
    return by_kind.group_by(HOP_KEY).agg(
        pl.col("u_mean", "u_max", "samples").sum(), pl.col("queue_mean_bytes").max(), rate
    )
