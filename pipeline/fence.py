"""A fence: what a worker inserts takes effect only while nobody has taken its place over."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.tables import TABLES
from pipeline.tables.ddl import column_type

PLACE = re.compile(r"[A-Za-z0-9._-]{1,249}/[0-9]{1,9}")
"""A topic as brokers accept them, and a partition."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The place of a worker, and the epoch of its claim."""

    place: str
    epoch: int

    def __post_init__(self) -> None:
        """Refuse what would not stay inside its quotes."""
        if not PLACE.fullmatch(self.place):
            raise ValueError(f"{self.place!r} is no topic/partition")

    def guarded(self, table: str, columns: Sequence[str]) -> str:
        """What stands behind INSERT INTO: the rows that are sent, unless the epoch has gone on.

        The engine looks before it reads a row, and raises.
        """
        kinds = {column.name: column_type(column) for column in TABLES[table].columns}
        given = ", ".join(f"`{name}`" for name in columns)
        shape = ", ".join(f"`{name}` {kinds[name]}" for name in columns).replace("'", "\\'")
        newest = f"SELECT max(epoch) FROM group_log WHERE place = '{self.place}'"  # noqa: S608 - checked above
        return (
            f"{table} ({given}) SELECT {given} FROM input('{shape}')"  # noqa: S608 - our own names
            f" WHERE throwIf(({newest}) > {int(self.epoch)}, 'fenced') = 0"
        )
