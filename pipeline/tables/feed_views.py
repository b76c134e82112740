"""The views that fill tables out of what is inserted into others, as ClickHouse statements."""

import re
from collections.abc import Iterator, Mapping

from pipeline.tables.column import STORED_AT, Table
from pipeline.tables.feed import Feed
from pipeline.tables.layout import ALONE, Layout

SINCE = "now() - toIntervalDay(1)"
"""Longer ago than filling a table begins: what came meanwhile is added once more where rows that
are there twice become one."""
SPARING = "max_threads = 1, max_block_size = 8192"
"""Rows of before are large, and are taken few at a time."""


def views(table: Table, created: Mapping[str, str], layout: Layout = ALONE) -> Iterator[str]:
    """Statements that make or complete the views of a table's feeds; none when they are as here.

    `created` is how the engine writes what the store has, by name. While a view is missing the
    table is filled anew out of all rows that there are, so that it is whole wherever this was
    broken off. What others insert meanwhile is added where a row may be there twice; else nobody
    inserts.
    """
    names = [column.name for column in table.columns]
    kept = layout.kept(table)
    missing = [feed for feed in table.feeds if not created[feed.view(table.name)]]
    before = [feed for feed in table.feeds if created[layout.held(feed.source)]]
    if missing and before:
        yield f"TRUNCATE TABLE IF EXISTS {kept}{layout.clause}"
        for feed in before:
            yield filling(table, feed)
    for feed in table.feeds:
        view, text = feed.view(table.name), feed.text(names, layout.held(feed.source))
        if feed in missing:
            made = f"CREATE MATERIALIZED VIEW IF NOT EXISTS {view}{layout.clause}"
            yield f"{made} TO {kept} AS {text}"
            if feed in before and table.engine.startswith("AggregatingMergeTree"):
                yield filling(table, feed, f"{STORED_AT} > {SINCE}")
        elif words(text) - words(created[view]):
            yield f"ALTER TABLE {view}{layout.clause} MODIFY QUERY {text}"


def filling(table: Table, feed: Feed, also: str = "") -> str:
    """The statement that adds the rows of a feed's source, those alone that are `also` so."""
    told = [*(column.name for column in table.columns), STORED_AT]
    into = f"INSERT INTO {table.name} ({', '.join(told)})"
    return f"{into} {feed.text(told, feed.source, also)} SETTINGS {SPARING}"


def words(text: str) -> set[str]:
    """Names and numbers of a statement, which the engine writes in its own way."""
    return set(re.findall(r"\w+", text))
