"""Room: how many bytes a store takes, and which days go when it takes more than it may.

Whole days (partitions) are dropped, the oldest first; of tables with the same oldest day the one
that takes most gives first. What is kept as long as another table (`kept_as`) goes with it, so that
answers agree. The newest day of a table stays.
"""

from itertools import groupby
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
    kept_as = {name: table.kept_as or name for name, table in TABLES.items() if table.time}
    kept_as |= {f"{name}{LOCAL}": own for name, own in kept_as.items()}

    def whose(each: Day) -> tuple[int, str]:
        return each.day, kept_as[each.table]

    timed = sorted((each for each in days if each.table in kept_as), key=whose)
    together = [(*key, list(held)) for key, held in groupby(timed, whose)]
    newest = {own: day for day, own, _ in together}  # the last one, since days rise
    total = sum(each.bytes for each in days)
    gone: list[Day] = []
    for day, own, held in sorted(together, key=lambda each: (each[0], -taken(each[2]))):
        if total <= most_bytes:
            break
        if day < newest[own]:
            gone += held
            total -= taken(held)
    return gone


def taken(days: list[Day]) -> int:
    """The bytes that days take."""
    return sum(each.bytes for each in days)


def trim(connection: Connection, most_bytes: int) -> list[Day]:
    """Drop the days that are too much; those that went. Raises StoreError."""
    layout = Layout(connection.address.database, connection.limits.cluster or "")
    gone = surplus(days_of(connection), most_bytes)
    for day in gone:
        connection.command(
            f"ALTER TABLE {day.table}{layout.clause} DROP PARTITION ID '{day.partition}'"
        )
    return gone
