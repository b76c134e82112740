"""What a store still holds of a flow: its observations, both directions, in order of time."""

from collections.abc import Iterator
from dataclasses import replace
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
MOST_PAIRS = 4_096
"""Queue pairs of two hosts whose frames are given together, the newest."""
EVER_NS = 1 << 62
"""After every time; the reverse of a flow begins and ends at other times than the flow."""


def retained(
    store: Asked, question: Question, from_ns: int | None, to_ns: int | None, page: int = PAGE
) -> Iterator[pl.DataFrame]:
    """Observations of the newest flow with these ends, page by page; none where none are held.

    Without times all that is held is given. Columns that are null in all rows of a page are left
    out, as a decoder does.
    """
    found = flows_of(store, question, MOST_PAIRS)
    if found:
        flows = both_ways(store, found, question)
        yield from pages(store, flows, from_ns, to_ns, page)


def both_ways(store: Asked, found: list[dict[str, Any]], question: Question) -> list[int]:
    """The newest of the flows that were found, those beside it, and those that answer them.

    Several stand beside each other where flows have something of their own beside their ends, as
    queue pairs have. Such a one has no reverse that could be worked out: all are taken that come
    from the other end.
    """
    conversation, direction = found[0]["conversation"], found[0]["direction"]
    if conversation is None or direction is None:
        return [found[0]["flow"]]  # an older version stored it
    beside = [each["flow"] for each in found if each["conversation"] == conversation]
    answer = reverse_flow(conversation, direction)
    if beside == [reverse_flow(conversation, 1 - direction)]:
        return [*beside, answer]
    back = replace(question, src=question.dst, sport=question.dport,
                   dst=question.src, dport=question.sport)  # fmt: skip
    others = [
        each for each in flows_of(store, back, MOST_PAIRS) if each["conversation"] == conversation
    ]
    return [*beside, answer, *(each["flow"] for each in others)]


def pages(
    store: Asked, flows: list[int], from_ns: int | None, to_ns: int | None, page: int
) -> Iterator[pl.DataFrame]:
    """Observations of flows, in order of time."""
    bounds = {
        "flows": flows,
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
