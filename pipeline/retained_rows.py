"""What a store still holds of a flow: its observations, both directions, in order of time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

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


class Held(NamedTuple):
    """Flows whose observations are given, and what stands apart under the same ends.

    `apart` has one flow of each conversation, the one that is given first.
    """

    flows: list[int]
    apart: list[dict[str, Any]]

    def pages(
        self, store: Asked, from_ns: int | None, to_ns: int | None, page: int = PAGE
    ) -> Iterator[pl.DataFrame]:
        """What the store holds of the flows, page by page; none where none is held.

        Without times it is all. Columns that are null in all rows of a page are left out, as a
        decoder does.
        """
        if self.flows:
            yield from pages(store, self.flows, from_ns, to_ns, page)


def held(
    store: Asked, question: Question, from_ns: int | None, to_ns: int | None, *, every: bool = False
) -> Held:
    """The flow with these ends that is meant, of several the newest that was seen in that time.

    With `every` it is all of them. There are none where none is known.
    """
    seen = from_ns, None if to_ns is None else to_ns + 1
    found = flows_of(store, question, MOST_PAIRS, seen)
    firsts: dict[Any, dict[str, Any]] = {}
    for flow in found:
        own = flow["conversation"]  # None: an older version stored it
        firsts.setdefault(("flow", flow["flow"]) if own is None else own, flow)
    apart = [*firsts.values()]
    flows: dict[int, None] = {}
    for flow in apart if every else apart[:1]:
        flows |= dict.fromkeys(both_ways(store, [flow, *found], question))
    return Held([*flows], apart)


def both_ways(store: Asked, found: list[dict[str, Any]], question: Question) -> list[int]:
    """The first of the flows that were found, those beside it, and those that answer them.

    Several stand beside each other where flows have something of their own beside their ends, as
    queue pairs have. Such a one has no reverse that could be worked out: all are taken that come
    from the other end.
    """
    conversation, direction = found[0]["conversation"], found[0]["direction"]
    if conversation is None or direction is None:
        return [found[0]["flow"]]  # an older version stored it
    beside = [*dict.fromkeys(
        each["flow"] for each in found if each["conversation"] == conversation
    )]  # fmt: skip
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
