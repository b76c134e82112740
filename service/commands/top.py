"""`hopsight top` and `hopsight watch`: which hops hold flows back now, and which flows."""

import json as json_format
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from pipeline import (
    Asked,
    FilterError,
    StoreError,
    condition,
    gaps_of,
    length_bounds,
    open_or_ask,
)
from service.commands.settings import chosen
from service.coverage import NOTHING, captured_share, of_rows
from service.coverage_text import spoken_of
from service.endpoint import parse_duration, time_text
from service.failure import ExitCode, Failure
from service.looks import Looks
from service.pausing import pausing
from service.shape import flow_of, hop_of, records, rest_of
from service.text import Heading, console, flow, load, share, table
from service.typed import moment, parsed
from service.verdict_text import kind_text

MOST_FLOWS = 10_000
"""Flows of which the hops are summed up."""
NO_TIME = "the store holds nothing of that time"
NO_FLOW = "no flow was seen in that time"
NONE_KEPT = "the filter keeps no flow of that time"
ANY = {"any_address": 1, "hi": 0, "lo": 0, "port": -1, "before_ns": -1, "after": 0, "until_ns": -1,
       "rows": 1}  # fmt: skip
"""Of flows that are searched for: one with whatever ends."""
HOPS = (
    Heading("hop"),
    Heading("place"),
    Heading("kind"),
    # The largest of its flows' means: the hop's own mean load may be lower.
    Heading("highest flow's u", numeric=True),
    Heading("flows held back", numeric=True),
    Heading("reroute helps"),
)
FLOWS = (
    Heading("flow"),
    Heading("bottleneck"),
    Heading("kind"),
    Heading("u", numeric=True),
    Heading("share of time", numeric=True),
    Heading("confidence", numeric=True),
)


@dataclass(frozen=True)
class Request:
    """The command line of `top` and `watch`."""

    at: str | None = None
    window: str = "10s"
    rows: int = 10
    filter: str = ""
    store: str | None = None
    json: bool = False
    every_s: float | None = None
    """Seconds between two looks; none: one look."""


def run(request: Request) -> None:
    """Print once, or again and again until Ctrl-C."""
    at_ns = moment("--at", request.at)
    window_ns = parsed("--window", parse_duration, request.window)
    try:
        if request.filter:
            condition("flows", request.filter)
    except FilterError as error:
        raise Failure(ExitCode.USAGE, f"--filter: {error}") from None
    settings = chosen(store={"dsn": request.store})
    try:
        if request.every_s is None:
            with open_or_ask(settings.store.dsn, settings.store) as store:
                _print(request, look(store, at_ns, window_ns, request.filter))
            return
        with _told(request) as tell, pausing() as pause:
            asked = partial(look, at_ns=at_ns, window_ns=window_ns, told=request.filter)
            looks, wanted = Looks(settings.store.dsn, settings.store, asked), True
            while wanted:
                tell(looks.look())
                wanted = pause(request.every_s)
    except StoreError as error:
        raise Failure(ExitCode.STORE, str(error)) from None
    except KeyboardInterrupt:
        if request.every_s is None:
            raise


@contextmanager
def _told(request: Request) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """How each look is shown: in the place of the one before on a terminal, else one by one."""
    screen = console()
    if request.json:
        yield lambda found: typer.echo(json_format.dumps(found, allow_nan=False))
    elif screen.is_terminal:
        with Live(console=screen, auto_refresh=False) as live:
            yield lambda found: live.update(shown(found, request.rows), refresh=True)
    else:
        yield lambda found: screen.print(shown(found, request.rows))


def _print(request: Request, found: Mapping[str, Any]) -> None:
    """One look, for a machine or a person; status 1 where there was no flow to look at."""
    if request.json:
        typer.echo(json_format.dumps(found, allow_nan=False))
    if lacking := nothing(request, found):
        raise Failure(ExitCode.WRONG, lacking)
    if not request.json:
        console().print(shown(found, request.rows))


def nothing(request: Request, found: Mapping[str, Any]) -> str:
    """What there is nothing of, empty where flows were found, held back or not."""
    if found["interval"] is None:
        return NO_TIME
    if found["any_flow"]:
        return ""
    return NONE_KEPT if request.filter else NO_FLOW


def look(store: Asked, at_ns: int | None, window_ns: int, told: str = "") -> dict[str, Any]:
    """What is held back in the window that ends at a time; none: with the latest that is stored.

    `told` is a filter over flows. Keys: interval (none: nothing is stored of that time), captured
    and completeness (`service/coverage.py`), any_flow
    (whether there was a flow that it keeps), hops (most flows first), flows.
    """
    extent = store.query("extent").row(0, named=True)
    to_ns = int(extent["to_ns"]) if at_ns is None else at_ns
    from_ns = to_ns - window_ns
    # Nothing is stored of before, and a time without anything stored is none that was calm.
    if from_ns < extent["from_ns"] < to_ns:
        from_ns = int(extent["from_ns"])
    if not extent["verdicts"] or to_ns <= extent["from_ns"] or from_ns >= extent["to_ns"]:
        return NOTHING | {"any_flow": False, "hops": [], "flows": []}
    span = {"from_ns": from_ns, "to_ns": to_ns - 1, **length_bounds(to_ns - from_ns, None)}
    judged = store.query("coverage", from_ns=from_ns, to_ns=to_ns - 1)
    bounds = from_ns, to_ns
    time = of_rows(bounds, judged, captured_share(bounds, gaps_of(store)))
    found = store.query("top_bottlenecks", filter=told, **span, rows=MOST_FLOWS)
    rows = records(found.drop("load", "congested"))
    # One that is held back was seen; a network in which none is may be calm, or have no flow.
    seen = bool(rows) or bool(
        store.query(
            "flows_search", filter=told, **ANY, seen_from_ns=from_ns, seen_to_ns=to_ns - 1,
            **(span if told else {}),
        ).height
    )  # fmt: skip
    return time | {
        "any_flow": seen,
        "hops": hops(found),
        "flows": [{"flow": flow_of(row), "hop": hop_of(row), **rest_of(row)} for row in rows],
    }


def hops(found: pl.DataFrame) -> list[dict[str, Any]]:
    """The hops of the flows that are held back, each once with how many it holds."""
    place = ("node", "port", "device", "interface", "stage", "orientation", "capacity_bps")
    summed = (
        found.group_by("node", "port", maintain_order=True)
        .agg(
            pl.col(place[2:]).first(),
            pl.col("kind", "reroute_helps").sort_by("samples", descending=True).first(),
            pl.col("u_mean").max(),
            pl.len().alias("flows"),
        )
        .sort("flows", "u_mean", descending=True, nulls_last=True, maintain_order=True)
    )
    return [{"hop": hop_of(row), **rest_of(row)} for row in records(summed)]


def shown(found: Mapping[str, Any], most: int) -> RenderableType:
    """The look as a person reads it."""
    if found["interval"] is None:
        return Text(NO_TIME)
    span = found["interval"]
    title = f"{time_text(span['from_ns'])} to {time_text(span['to_ns'])}"
    if not found["flows"]:
        return Text(f"no flow was held back by the network, {title}; {spoken_of(found)}")
    hops, flows = found["hops"], found["flows"]
    parts: list[RenderableType] = [
        table(HOPS, map(_hop_row, hops[:most]), title=f"hops that hold flows back, {title}"),
        table(FLOWS, map(_flow_row, flows[:most]), title="flows held back, the worst first"),
    ]
    told = (left_out(len(hops) - most, len(flows) - most), spoken_of(found))
    parts += [Text(each, style="dim") for each in told if each]
    return Group(*parts)


def left_out(hops: int, flows: int) -> str:
    """How many hops and flows are not shown, as a sentence; nothing where all are."""
    kinds = (("hop", hops), ("flow", flows))
    more = [f"{count:,} more {kind}{'s' * (count != 1)}" for kind, count in kinds if count > 0]
    return f"{' and '.join(more)}; -n shows more" if more else ""


def _name(hop: Mapping[str, Any] | None) -> str | None:
    return None if hop is None else f"{hop['device']} {hop['interface']}"


def _hop_row(each: Mapping[str, Any]) -> tuple[Any, ...]:
    hop = each["hop"]
    place = " ".join(filter(None, (hop["stage"], hop["orientation"]))) if hop else None
    return (_name(hop), place, kind_text(each["kind"]), load(each["u_mean"]),
            f"{each['flows']:,}", each["reroute_helps"])  # fmt: skip


def _flow_row(each: Mapping[str, Any]) -> tuple[Any, ...]:
    key = each["flow"]
    name = flow(key["src"], key["sport"], key["dst"], key["dport"], key["protocol"])
    return (name, _name(each["hop"]), kind_text(each["kind"]), load(each["u_mean"]),
            share(each["share"]), share(each["confidence"]))  # fmt: skip
