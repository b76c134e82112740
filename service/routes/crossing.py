"""The flows that cross a link, and what they sent; where intervals are gone, as rollups keep it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl
from fastapi.concurrency import run_in_threadpool

from pipeline import ROLLED_NS, length_bounds
from service.endpoint import time_text
from service.reader import Reader
from service.roles import with_roles
from service.routes.span import Span
from service.shape import flow_of, records, rest_of

NO_OTHERS: dict[str, int | None] = {"flows": 0, "data_bytes": 0}
"""What somebody does not see who sees all."""
GONE = (
    "intervals {when} are not kept any more: flows that no verdict places there are missing for"
    " that time, bytes of it are of whole seconds, minutes or hours, and shares and roles are not"
    " told"
)
MORE = (
    "more than {most:,} flows crossed it: those that sent most are told, and sums, shares and roles"
    " are of these alone"
)
ALL_KEPT, NONE_KEPT = 0, 1 << 62


class Crossing(NamedTuple):
    """Flows of a link, what whoever asks does not see of others, and what is not known of them."""

    flows: pl.DataFrame
    others: Mapping[str, int | None]
    notes: list[str]


async def crossing(reader: Reader, span: Span, place: Mapping[str, int], most: int) -> Crossing:
    """The flows whose telemetry names a link, and those that verdicts place there without it.

    `held_share` is the share of a flow's intervals in which the link held it back; the role of each
    is told beside it. With them goes what whoever asks does not see (flows, data_bytes). Where
    intervals of the range are gone, so are flows that were not held back there: what the link
    carried is not known then, and neither are shares and roles. Of more than `most` those are told
    that sent most.
    """
    found = await reader.ask("link_flows", **span.bounds, **place, rows=most + 1)
    there = span.touched | length_bounds(span.to_ns - span.from_ns, None) | dict(place)
    others = NO_OTHERS
    kept_ns = await _kept(reader, span)
    if not reader.sees_all:
        others = (await reader.ask("link_others", **there)).row(0, named=True)
        others = others | ({"data_bytes": None} if kept_ns else {})
    held = await reader.ask("link_held", **there, rows=most + 1)
    cut = max(found.height, held.height) > most
    # Where one is cut, what the other has alone may be of the same flows, with other bytes.
    alone = held.head(most if found.height <= most else 0)
    rows = await run_in_threadpool(_joined, found.head(most), held, alone)
    if kept_ns:
        rows = await _rolled(reader, rows, kept_ns)
    rows = await run_in_threadpool(_ranked, rows, others, not kept_ns)
    notes = [*_notes(span, kept_ns), *([MORE.format(most=most)] * cut)]
    return Crossing(rows, others, notes)


def flows_of(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Flows that crossed a link as an answer shows them."""
    return [flow_of(row) | rest_of(row) for row in records(rows)]


async def _kept(reader: Reader, span: Span) -> int:
    """From when on intervals of a range are kept, or `ALL_KEPT` or `NONE_KEPT` of it.

    Verdicts are kept for longer, and what was judged had intervals. Where those of times before
    are kept none is gone, as the oldest ones go first: nothing was sent meanwhile.
    """
    told = (await reader.ask("intervals_kept", **span.touched)).row(0, named=True)
    judged_ns = told["judged_ns"]
    if not judged_ns or 0 < told["kept_ns"] < judged_ns:
        return ALL_KEPT
    before = span.touched | {"from_ns": max(span.from_ns - ROLLED_NS["hours"], 0)}
    earliest_ns = (await reader.ask("intervals_kept", **before)).row(0, named=True)["kept_ns"]
    return ALL_KEPT if 0 < earliest_ns < judged_ns else told["kept_ns"] or NONE_KEPT


def _notes(span: Span, kept_ns: int) -> list[str]:
    if not kept_ns:
        return []
    when = "of this range" if kept_ns >= span.to_ns else f"before {time_text(kept_ns)}"
    return [GONE.format(when=when)]


def _joined(found: pl.DataFrame, held: pl.DataFrame, alone: pl.DataFrame) -> pl.DataFrame:
    """The flows that were found, and those that are held `alone`, without being found.

    With them goes from when to when (`since_ns`, `until_ns`) either places them.
    """
    common = [name for name in found.columns if name in held.columns]
    inferred = alone.join(found.select("flow"), on="flow", how="anti").select(common)
    times = held.select("flow", "held_share", since_ns="first_ns", until_ns="last_ns")
    share = pl.col("held_share").fill_null(0.0)
    return (
        pl.concat([found, inferred], how="diagonal_relaxed")
        .join(times, on="flow", how="left", maintain_order="left")
        .with_columns(
            share,
            (share > 0).alias("held_back"),
            pl.min_horizontal("first_ns", "since_ns").alias("since_ns"),
            pl.max_horizontal("last_ns", "until_ns").alias("until_ns"),
        )
    )


async def _rolled(reader: Reader, rows: pl.DataFrame, kept_ns: int) -> pl.DataFrame:
    """The same with the bytes of rollups for flows that were there when intervals are gone."""
    gone = pl.col("since_ns") < kept_ns
    left = rows.filter(gone).select("flow", "since_ns", "until_ns")
    told = []
    for name, width in ROLLED_NS.items():
        if left.is_empty():
            break
        flows, firsts, lasts = (left[column].to_list() for column in left.columns)
        sent = await reader.ask("flows_sent", rollup=f"flow_{name}", step_ns=width,
                                flows=flows, firsts=firsts, lasts=lasts)  # fmt: skip
        # One that tells of a later time alone has lost what was before.
        whole = sent.join(left, on="flow").filter(pl.col("begins_ns") <= pl.col("since_ns"))
        told.append(whole.select("flow", rolled=pl.col("data_bytes").cast(pl.UInt64)))
        left = left.join(whole, on="flow", how="anti")
    schema = {"flow": pl.UInt64, "rolled": pl.UInt64}
    sent = pl.concat([pl.DataFrame(schema=schema), *told])
    octets = pl.when(gone).then("rolled").otherwise("data_bytes")
    return (
        rows.join(sent, on="flow", how="left", maintain_order="left")
        .with_columns(data_bytes=octets, first_ns="since_ns", last_ns="until_ns")
        .drop("rolled")
    )


def _ranked(rows: pl.DataFrame, others: Mapping[str, int | None], known: bool) -> pl.DataFrame:
    """The flows with their roles, most bytes first."""
    # What telemetry or verdicts place there while intervals are kept has sent nothing without one.
    octets = pl.col("data_bytes").fill_null(0) if known else pl.col("data_bytes")
    ordered = (
        rows.drop("since_ns", "until_ns")
        .with_columns(octets)
        .sort("data_bytes", "flow", descending=[True, False], nulls_last=True)
    )
    return with_roles(ordered, others, known=known)
