"""Bring the tables of a store up to `pipeline.tables`: idempotent checks, not numbered scripts."""

from pipeline.connection import Connection
from pipeline.store_error import StoreError
from pipeline.tables import SCHEMA_VERSION, TABLES, Table
from pipeline.tables.ddl import alterations, column_type, create_table, feeding

VERSIONS = """
CREATE TABLE IF NOT EXISTS schema_version (version UInt32, since DateTime DEFAULT now())
ENGINE = MergeTree ORDER BY version
"""
RECORD = "INSERT INTO schema_version (version) SELECT {version:UInt32}"
COLUMNS = """
SELECT name, type FROM system.columns
WHERE database = {database:String} AND table = {table:String}
"""
CREATED = """
SELECT create_table_query FROM system.tables
WHERE database = {database:String} AND name = {table:String}
"""


def migrate(connection: Connection) -> None:
    """Make or complete the tables in the database of the connection's address.

    Raises StoreError when a newer hopsight made the store or when a column has another type.
    """
    database, name = connection.address.database, connection.address.name
    connection.command(f"CREATE DATABASE IF NOT EXISTS `{database}`")
    connection.use(database)
    connection.command(VERSIONS)
    found = int(connection.rows("SELECT max(version) FROM schema_version")[0][0])
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"the store {name} has schema {found} and this hopsight knows {SCHEMA_VERSION};"
            " use a newer hopsight"
        )
    for table in TABLES.values():
        _migrate_table(connection, table)
    for table in TABLES.values():
        if table.fed_by:
            where = {"database": database, "table": f"{table.name}_feed"}
            known = frozenset(str(name) for name, _ in connection.rows(COLUMNS, **where))
            created = "".join(str(made) for (made,) in connection.rows(CREATED, **where))
            if statement := feeding(table, known, created):
                connection.command(statement)
    if found < SCHEMA_VERSION:
        connection.command(RECORD, version=SCHEMA_VERSION)


def _migrate_table(connection: Connection, table: Table) -> None:
    """Make a table, or add what it lacks."""
    days = connection.limits.retention(table.name)
    connection.command(create_table(table, days))
    where = {"database": connection.address.database, "table": table.name}
    found = dict(connection.rows(COLUMNS, **where))
    for column in table.columns:
        wanted = column_type(column)
        if found.get(column.name, wanted) != wanted:
            raise StoreError(
                f"the store {connection.address.name} has {table.name}.{column.name} as"
                f" {found[column.name]} and not {wanted}; leave it to the hopsight that made it"
            )
    [(created,)] = connection.rows(CREATED, **where)
    for statement in alterations(table, days, frozenset(found), created):
        connection.command(statement)
