"""Bring the tables of a store up to `pipeline.tables`: idempotent checks, not numbered scripts.

Forward only: columns and tables are added, and what rows say is never taken away, but for digits
that nobody needs: columns that became arrays go when these have their values. What has to be done
is told statement by statement, each after the one before was run, or all at once without running
any.
"""

import re
from collections.abc import Iterator, Mapping

from pipeline.connection import Connection
from pipeline.store_error import StoreError
from pipeline.stored_schema import StoredSchema, stored_schema
from pipeline.tables import SCHEMA_VERSION, TABLES, Table
from pipeline.tables.ddl import (
    DEDUPLICATION_WINDOW,
    adding,
    alterations,
    column_definitions,
    column_type,
    create_table,
    dropping,
    feeding,
    formerly,
    narrowing,
    packing,
)
from pipeline.tables.feed_views import views
from pipeline.tables.layout import Layout

VERSION = "schema_version"
RECORD = "INSERT INTO {database}.schema_version (version) SELECT {version}"
KNOWN = "SELECT name FROM system.merge_tree_settings"
SETTING = "SELECT toString(getSetting('async_insert'))"
ASKED_FOR = re.compile(r"^CREATE TABLE|\b(ADD COLUMN|UPDATE)\b")
"""Statements that make what questions may ask for: tables, columns, and what moves into these."""
WINDOW = re.compile(r"replicated_deduplication_window = (\d+)")


def migrate(connection: Connection) -> list[str]:
    """Make or complete the tables in the database of the connection's address; what was run.

    Raises StoreError when a newer hopsight made the store, when a column has another type, or when
    a repeated insert would not be told from a new one.
    """
    done = []
    stored = stored_schema(connection)
    for statement in lacking(connection, stored):
        connection.command(statement)
        connection.use(connection.address.database)
        done.append(statement)
    connection.use(connection.address.database)
    verify(connection, stored_schema(connection) if done else stored)
    return done


def readable(connection: Connection) -> None:
    """See to it that a store can be read, and change nothing of one that has tables.

    How long rows are kept, and how they are filled and packed, is for who stores them. Raises
    StoreError where tables or columns are lacking, and as `migrate` does for what a newer one made.
    """
    stored = stored_schema(connection)
    if not stored.created[VERSION]:
        migrate(connection)
    elif any(map(ASKED_FOR.search, lacking(connection, stored))):
        raise StoreError(
            f"the store {connection.address.name} is that of an older hopsight: back it up with"
            " that one, for there is no other way back, then run hopsight migrate"
        )
    connection.use(connection.address.database)


def pending(connection: Connection) -> Iterator[str]:
    """Statements that the store lacks, in order. Raises StoreError as `migrate` does."""
    return lacking(connection, stored_schema(connection))


def lacking(connection: Connection, stored: StoredSchema) -> Iterator[str]:
    """Statements that a store lacks that has these tables, in order."""
    database = connection.address.database
    layout = Layout(database, connection.limits.cluster or "")
    if not connection.rows(f"SELECT 1 FROM system.databases WHERE name = '{database}'"):  # noqa: S608 - of the address
        yield f"CREATE DATABASE IF NOT EXISTS `{database}`{layout.clause}"
    else:
        connection.use(database)
    if not stored.created[VERSION]:
        yield versions(layout)
    found = _version(connection) if stored.created[VERSION] else 0
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"the store {connection.address.name} has schema {found} and this hopsight knows"
            f" {SCHEMA_VERSION}; use a newer hopsight"
        )
    known = frozenset(str(name) for (name,) in connection.rows(KNOWN))
    changed = 0
    for table in TABLES.values():
        for statement in _of_table(connection, stored, table, layout, known):
            changed += 1
            yield statement
    now = stored_schema(connection) if changed else stored
    for table in TABLES.values():
        kept = layout.kept(table)
        if stored.columns[kept]:
            yield from packing(table, now.codecs[kept], layout)
        yield from _feeds(stored, table, layout)
    if found < SCHEMA_VERSION:
        yield RECORD.format(database=f"`{database}`", version=SCHEMA_VERSION)


def verify(connection: Connection, stored: StoredSchema) -> None:
    """Refuse a store in which an insert that is repeated would be there twice. Raises StoreError.

    Every table has to remember tokens, and inserts must be answered when they are kept.
    """
    name = connection.address.name
    layout = Layout(connection.address.database, connection.limits.cluster or "")
    for table in TABLES.values():
        told = WINDOW.findall(stored.created[layout.kept(table)])
        if not told or min(map(int, told)) < DEDUPLICATION_WINDOW:
            raise StoreError(
                f"the store {name}: {table.name} remembers too few inserts"
                f" ({', '.join(told) or 'none'} of {DEDUPLICATION_WINDOW}); run hopsight migrate"
            )
    [(value,)] = connection.rows(SETTING)
    if value not in {"0", "false"}:
        raise StoreError(
            f"the store {name} answers inserts before it keeps them (async_insert = {value});"
            " its profile must let async_insert be 0"
        )


def versions(layout: Layout) -> str:
    """The statement that makes the table of versions."""
    engine = layout.engine("MergeTree", VERSION, sharded=False)
    return (
        f"CREATE TABLE IF NOT EXISTS `{layout.database}`.{VERSION}{layout.clause}"
        " (version UInt32, since DateTime DEFAULT now())\n"
        f"ENGINE = {engine} ORDER BY version"
    )


def _version(connection: Connection) -> int:
    """The schema that the store says it has."""
    told = f"SELECT max(version) FROM `{connection.address.database}`.{VERSION}"  # noqa: S608 - of the address
    return int(connection.rows(told)[0][0])


def _of_table(
    connection: Connection,
    stored: StoredSchema,
    table: Table,
    layout: Layout,
    known: frozenset[str],
) -> Iterator[str]:
    """Make a table, or add what it lacks; `known` are the settings that the engine has."""
    days = connection.limits.retention(table.name)
    kept = layout.kept(table)
    found = stored.columns[kept]
    if not found:
        yield create_table(table, days, layout, known)
    for column in table.columns:
        wanted = column_type(column)
        if found.get(column.name, wanted) not in {wanted, formerly(column), ""}:
            raise StoreError(
                f"the store {connection.address.name} has {table.name}.{column.name} as"
                f" {found[column.name]} and not {wanted}; leave it to the hopsight that made it"
            )
    if found:
        created = stored.created[kept]
        yield from alterations(table, days, frozenset(found), created, layout, known)
        yield from narrowing(table, found, kept, layout)
    if layout.sharded(table):
        yield from _in_front(stored.columns[table.name], table, layout)


def _feeds(stored: StoredSchema, table: Table, layout: Layout) -> Iterator[str]:
    """Make or complete the views that fill a table."""
    if table.fed_by:
        view = f"{table.name}_feed"
        source = {column.name: column for column in TABLES[table.fed_by].columns}
        known = frozenset(
            name
            for name, kind in stored.columns[view].items()
            if name not in source or kind != formerly(source[name])
        )
        if statement := feeding(table, known, stored.created[view], layout):
            yield statement
    yield from views(table, stored.created, layout)


def _in_front(found: Mapping[str, str], table: Table, layout: Layout) -> Iterator[str]:
    """The distributed table, or the columns that it lacks."""
    if not found:
        yield layout.front(table)
        return
    new = [
        definition.partition(" CODEC(")[0]
        for name, definition in column_definitions(table).items() if name not in found
    ]  # fmt: skip
    if new:
        yield f"ALTER TABLE {table.name}{layout.clause} {adding(new)}"
    yield from narrowing(table, found, table.name, layout)
    single = [name for each in table.gathered for name in each.of]
    gone = [name for name in (*single, *table.gone) if name in found]
    if gone:
        yield f"ALTER TABLE {table.name}{layout.clause} {dropping(gone)}"
