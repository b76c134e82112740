"""Room: how many bytes a store takes, and which days go when it takes more than it may.

Whole days (partitions) are dropped, the oldest first; of tables with the same oldest day the one
that takes most gives first. The newest day of a table stays.
"""

from typing import NamedTuple

from pipeline.connection import Connection
from pipeline.tables import TABLES
from pipeline.tables.layout import LOCAL, Layout

BYTES = """
SELECT table, partition_id, toInt64OrZero(partition), toInt64(sum(bytes_on_disk)) AS bytes
FROM system.parts WHERE active AND database = {database:String}
GROUP BY table, partition_id, partition ORDER BY table, partition_id
"""


class Day(NamedTuple):
    """One day of a table: by its number since 1970, and the bytes of it on disk."""

    table: str
    partition: str
    day: int
    bytes: int


def days_of(connection: Connection) -> list[Day]:
    """Every day of every table, as the store has it now. Raises StoreError."""
    rows = connection.rows(BYTES, database=connection.address.database)
    return [Day(str(table), str(part), int(day), int(size)) for table, part, day, size in rows]


def surplus(days: list[Day], most_bytes: int) -> list[Day]:
    """The days that go so that no more than `most_bytes` are left, in their order."""
    names = {table.name for table in TABLES.values() if table.time}
    timed = names | {f"{name}{LOCAL}" for name in names}
    newest = {table: max(each.day for each in days if each.table == table)
              for table in {each.table for each in days}}  # fmt: skip
    total = sum(each.bytes for each in days)
    gone = []
    for each in sorted(days, key=lambda day: (day.day, -day.bytes)):
        if total <= most_bytes:
            break
        if each.table in timed and each.day < newest[each.table]:
            gone.append(each)
            total -= each.bytes
    return gone


def trim(connection: Connection, most_bytes: int) -> list[Day]:
    """Drop the days that are too much; those that went. Raises StoreError."""
    layout = Layout(connection.address.database, connection.limits.cluster or "")
    gone = surplus(days_of(connection), most_bytes)
    for day in gone:
        connection.command(
            f"ALTER TABLE {day.table}{layout.clause} DROP PARTITION ID '{day.partition}'"
        )
    return gone
