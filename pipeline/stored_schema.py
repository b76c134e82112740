"""What a store has of the tables, read at once: table by table it takes a hundred questions."""

from collections import defaultdict
from dataclasses import dataclass, field

from pipeline.connection import Connection

COLUMNS = """
SELECT table, name, type, compression_codec FROM system.columns
WHERE database = {database:String}
"""
CREATED = """
SELECT name, create_table_query FROM system.tables WHERE database = {database:String}
"""


def _by_table() -> defaultdict[str, dict[str, str]]:
    return defaultdict(dict)


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """The tables and views of a database; one that is not there has no columns."""

    columns: defaultdict[str, dict[str, str]] = field(default_factory=_by_table)
    """Type of each column, by table."""
    codecs: defaultdict[str, dict[str, str]] = field(default_factory=_by_table)
    """Compression of each column that is told of one, by table."""
    created: defaultdict[str, str] = field(default_factory=lambda: defaultdict(str))
    """How the engine writes each table."""


def stored_schema(connection: Connection) -> StoredSchema:
    """The tables of the connection's database as they are now. Raises StoreError."""
    found, where = StoredSchema(), {"database": connection.address.database}
    for table, name, kind, codec in connection.rows(COLUMNS, **where):
        found.columns[table][str(name)] = str(kind)
        if codec:
            found.codecs[table][str(name)] = str(codec)
    for table, query in connection.rows(CREATED, **where):
        found.created[table] = str(query)
    return found
