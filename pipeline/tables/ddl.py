"""The tables as ClickHouse statements: create, and bring what exists up to the tables."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from pipeline.tables.column import STORED_AT, Column, Table
from pipeline.tables.layout import ALONE, Layout
from pipeline.tables.types import WIDER
from pipeline.unit import DAY

DEDUPLICATION_WINDOW = 10_000
"""Inserts whose tokens a table remembers. With the engine's default, 0, a retry doubles rows."""
MANY_COLUMNS = 64
LARGE_PART = 1 << 29
"""Bytes (uncompressed) up to which a part of a table with large rows is one file and not two a
column."""
ANY_PART = 1 << 62
"""The same for tables whose parts are one file however large (`Table.one_file`)."""
MERGED_AT_ONCE = 16
"""Parts of such a table that wait for each other: each merge costs its rows another insert."""
MOST_AT_ONCE = 24
"""Most parts of such a table that are merged at once. A merge holds a piece of each column of each
of its parts: with the engine's default, 100, what merges held grew with the store to a gigabyte."""

UNCOUNTED = {"auto_statistics_types": "''"}
"""How many values each column has is what newer engines count at each insert and nobody reads."""
SKIPPING = {
    "serialization_info_version": "'with_missing_columns'",
    "skip_empty_columns_on_insert": "1",
}
"""Newer engines can leave columns out that are null or zero in all rows of an insert, and spare the
merges after it too. Rows of such parts cannot be taken out by DELETE (`part` of a snapshot was not
found), only by ALTER: so it is for tables with many columns, whose rows no DELETE takes out."""

SELECTING = {"merge_selector_base": "8"}
"""Parts that are joined into one are so many times as large as the largest of them, about: with the
engine's default, 5, rows that keep coming in are written anew half as often again."""

MARKS = {
    "marks_compression_codec": "'LZ4'",
    "write_marks_for_substreams_in_compact_parts": "0",
}
"""Where rows lie in a file is read whole before the first of them. With the engine's defaults,
ZSTD(3) and a place for each piece of a column, that takes a question whose files are not in memory
longer than its rows; nobody asks for a piece of a column."""

GRANULE = "index_granularity"
"""The setting that only a new table can be given; one of before keeps its own."""


def table_settings(
    table: Table, layout: Layout = ALONE, known: Collection[str] = ()
) -> dict[str, str]:
    """Engine settings of a table; only where parts hold one day they expire as a whole.

    `known` are those that the engine has, which count where newer ones alone do. Replicas may be of
    several versions, and all read what one has written: a cluster is given none of these.
    """
    many = len(table.columns) > MANY_COLUMNS
    settings: dict[str, int | str] = {
        "non_replicated_deduplication_window": DEDUPLICATION_WINDOW,
        **({"replicated_deduplication_window": DEDUPLICATION_WINDOW} if layout.cluster else {}),
        "ttl_only_drop_parts": int(bool(table.time)),
    }
    if table.one_file or table.granule:
        settings["min_bytes_for_wide_part"] = ANY_PART if table.one_file else LARGE_PART
    if many:
        settings["min_parts_to_merge_at_once"] = MERGED_AT_ONCE
        settings["max_parts_to_merge_at_once"] = MOST_AT_ONCE
    if table.granule:
        settings[GRANULE] = table.granule
    for newer, wanted in (
        (UNCOUNTED, True), (SELECTING, True), (MARKS, True), (SKIPPING, many),
    ):  # fmt: skip
        if wanted and not layout.cluster and newer.keys() <= set(known):
            settings |= newer
    return {name: str(value) for name, value in settings.items()}


def column_type(column: Column) -> str:
    """ClickHouse type of a column, with the function that merges it where rows merge."""
    return (
        f"SimpleAggregateFunction({column.merge}, {column.type})" if column.merge else column.type
    )


def formerly(column: Column) -> str | None:
    """The type that a column had before it became narrower; None: it always had this one."""
    wider = WIDER.get(column.type)
    return column_type(replace(column, kind=replace(column.kind, type=wider))) if wider else None


def stored_at(table: Table) -> str:
    """Definition of the column that retention counts from; merged rows keep the latest."""
    merges = table.engine.startswith("AggregatingMergeTree")
    kind = "SimpleAggregateFunction(max, DateTime)" if merges else "DateTime"
    return f"{STORED_AT} {kind} DEFAULT now() CODEC(Delta, ZSTD(1))"


def column_definitions(table: Table) -> dict[str, str]:
    """Definition of every column by name, in order, as CREATE and ADD COLUMN write it."""
    own = {c.name: f"`{c.name}` {column_type(c)} CODEC({c.codec})" for c in table.columns}
    derived = {a.name: f"`{a.name}` {a.type} ALIAS {a.expression}" for a in table.aliases}
    return {**own, STORED_AT: stored_at(table), **derived}


def ttl(retention_days: int) -> str:
    """Retention as a TTL expression; empty when rows are kept forever."""
    return f"{STORED_AT} + toIntervalDay({retention_days})" if retention_days else ""


def create_table(
    table: Table, retention_days: int, layout: Layout = ALONE, known: Collection[str] = ()
) -> str:
    """The CREATE TABLE IF NOT EXISTS statement of a table."""
    lines = [*column_definitions(table).values(), *table.indexes]
    settings = ", ".join(
        f"{name} = {value}" for name, value in table_settings(table, layout, known).items()
    )
    clauses = [
        f"ENGINE = {layout.engine(table.engine, table.name, sharded=layout.sharded(table))}",
        f"PARTITION BY intDiv({table.time}, {DAY})" if table.time else "",
        f"ORDER BY ({', '.join(table.order)})",
        f"TTL {ttl(retention_days)}" if retention_days else "",
        f"SETTINGS {settings}",
    ]
    body = ",\n  ".join(lines)
    tail = "\n".join(clause for clause in clauses if clause)
    name = f"{layout.kept(table)}{layout.clause}"
    return f"CREATE TABLE IF NOT EXISTS {name} (\n  {body}\n)\n{tail}"


def feed(table: Table, layout: Layout = ALONE) -> str:
    """The question by which a table is filled from the one that feeds it.

    Every inserted row is passed on by itself: rows of one second have each key once, and merging
    joins those of a longer time. To group them here takes three times the work of an insert.
    """
    told = {column.name: column.name for column in table.columns}
    told[table.time] = f"intDiv({table.time}, {table.step_ns}) * {table.step_ns} AS {table.time}"
    if table.width in told:
        told[table.width] = f"toInt64({table.step_ns}) AS {table.width}"
    return f"SELECT {', '.join(told.values())} FROM {layout.held(table.fed_by)}"  # noqa: S608 - our own names


def feeding(
    table: Table, columns: frozenset[str], create_query: str = "", layout: Layout = ALONE
) -> str:
    """The statement that makes or completes the view that fills a table; empty: it is complete.

    `columns` are those of the view as the store has it, none when there is none; `create_query` is
    how the engine writes it. Views of old group their rows.
    """
    view = f"{table.name}_feed"
    if not columns:
        made = f"CREATE MATERIALIZED VIEW IF NOT EXISTS {view}{layout.clause}"
        return f"{made} TO {layout.kept(table)} AS {feed(table, layout)}"
    if columns >= {column.name for column in table.columns} and "GROUP BY" not in create_query:
        return ""
    return f"ALTER TABLE {view}{layout.clause} MODIFY QUERY {feed(table, layout)}"


def gathering(table: Table, columns: frozenset[str], alter: str) -> Iterator[str]:
    """Statements that take columns of before into the arrays that are in their place now."""
    before = [name for each in table.gathered for name in each.of if name in columns]
    if not before:
        return
    told = []
    for each in table.gathered:
        values = ", ".join(f"`{name}`" if name in columns else "NULL" for name in each.of)
        last = f"arrayLastIndex(value -> isNotNull(value), [{values}])"
        told.append(f"`{each.name}` = arraySlice([{values}], 1, {last})")
    some = " OR ".join(f"isNotNull(`{name}`)" for name in before)
    yield f"{alter} UPDATE {', '.join(told)} WHERE {some} SETTINGS mutations_sync = 2"
    yield f"{alter} {dropping(before)} SETTINGS mutations_sync = 2"


def adding(definitions: Iterable[str]) -> str:
    """What adds columns, in an ALTER: one for all of them, since each rewrites what a table is."""
    return ", ".join(f"ADD COLUMN IF NOT EXISTS {each}" for each in definitions)


def dropping(columns: Iterable[str]) -> str:
    """What drops columns, in an ALTER."""
    return ", ".join(f"DROP COLUMN IF EXISTS `{name}`" for name in columns)


def alterations(
    table: Table,
    retention_days: int,
    columns: frozenset[str],
    create_query: str,
    layout: Layout = ALONE,
    known: Collection[str] = (),
) -> Iterator[str]:
    """Statements that bring an existing table up to this one; none when it already is.

    `columns` are the names that the store has; `create_query` is how the engine writes it.
    """
    alter = f"ALTER TABLE {layout.kept(table)}{layout.clause}"
    if new := [told for name, told in column_definitions(table).items() if name not in columns]:
        yield f"{alter} {adding(new)}"
    yield from gathering(table, columns, alter)
    if gone := [name for name in table.gone if name in columns]:
        yield f"{alter} {dropping(gone)} SETTINGS mutations_sync = 2"
    settings = [
        f"{name} = {value}" for name, value in table_settings(table, layout, known).items()
        if name != GRANULE and not re.search(rf"\b{name} = {value}(?!\w)", create_query)
    ]  # fmt: skip
    if settings:
        yield f"{alter} MODIFY SETTING {', '.join(settings)}"
    wanted = ttl(retention_days)
    if wanted and wanted not in create_query:
        yield f"{alter} MODIFY TTL {wanted}"
    elif not wanted and f"TTL {STORED_AT}" in create_query:
        yield f"{alter} REMOVE TTL"


def narrowing(
    table: Table, found: Mapping[str, str], name: str, layout: Layout = ALONE
) -> Iterator[str]:
    """The statement that makes columns narrower; `found` are the types that the store has."""
    told = [
        f"MODIFY COLUMN `{column.name}` {column_type(column)}"
        for column in table.columns
        if column.name in found and found[column.name] == formerly(column)
    ]
    if told:
        yield (f"ALTER TABLE {name}{layout.clause} {', '.join(told)} SETTINGS mutations_sync = 2")


def packing(table: Table, codecs: Mapping[str, str], layout: Layout = ALONE) -> Iterator[str]:
    """The statement that has columns compressed as this table has them; none when they are.

    `codecs` are those of the store by column; rows of before are packed anew as parts merge.
    """
    told = {name: re.sub(r"Delta\(\d\)", "Delta", codec) for name, codec in codecs.items()}
    other = [
        f"MODIFY COLUMN `{column.name}` CODEC({column.codec})"
        for column in table.columns
        if told.get(column.name, column.codec) not in {column.codec, f"CODEC({column.codec})"}
    ]
    if other:
        yield f"ALTER TABLE {layout.kept(table)}{layout.clause} {', '.join(other)}"
