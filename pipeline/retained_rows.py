"""What a store still holds of a flow: its observations, both directions, in order of time."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from collector import SCHEMA
from pipeline.asked import Asked
from pipeline.question import Question
from pipeline.signals import reverse_flow
from pipeline.tables import TABLES
from pipeline.tables.gathered import spread
from pipeline.where import flows_of

PAGE = 100_000
"""Rows of one query."""
EVER_NS = 1 << 62
"""After every time; the reverse of a flow begins and ends at other times than the flow."""


def retained(
    store: Asked, question: Question, from_ns: int | None, to_ns: int | None, page: int = PAGE
) -> Iterator[pl.DataFrame]:
    """Observations of the newest flow with these ends, page by page; none where none are held.

    Without times all that is held is given. Columns that are null in all rows of a page are left
    out, as a decoder does.
    """
    for flow in flows_of(store, question)[:1]:
        yield from pages(store, flow, from_ns, to_ns, page)


def pages(
    store: Asked, flow: dict[str, Any], from_ns: int | None, to_ns: int | None, page: int
) -> Iterator[pl.DataFrame]:
    """Observations of a row of `flows`."""
    # Flows that an older version stored tell no conversation.
    known = flow["conversation"] is not None and flow["direction"] is not None
    reverse = reverse_flow(flow["conversation"], flow["direction"]) if known else flow["flow"]
    bounds = {
        "flow": flow["flow"],
        "reverse": reverse,
        "from_ns": 0 if from_ns is None else from_ns,
        "to_ns": EVER_NS if to_ns is None else to_ns,
    }
    skip = 0
    while True:
        rows = store.query("flow_observations", **bounds, rows=page, skip=skip)
        if rows.height:
            yield observed(rows)
        if rows.height < page:
            return
        skip += page


def observed(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows as observations: in the types of the schema, without columns that say nothing."""
    rows = spread(rows, TABLES["observations"].gathered)
    known = [name for name in SCHEMA if name in rows.columns]
    typed = rows.select(pl.col(name).cast(SCHEMA[name]) for name in known)
    return typed.select(column for column in typed if column.null_count() < rows.height)
