"""What a table of the store is made of: columns, derived columns, and how rows are kept."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline.tables.feed import Feed
from pipeline.tables.gathered import Gathered
from pipeline.tables.types import Type
from pipeline.unit import SECOND

SLICE_NS = 60 * SECOND
"""Slices of time that the sort key of tables ordered by flow starts with. Inside a slice one
flow's rows stand together, and a question over all flows reads the slices of its window only."""
STORED_AT = "stored_at"
"""Column that every table has besides its own: when the row was stored, by the store's clock."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the only place where its name, types, unit and meaning are written.

    `merge` names the aggregate function that joins this column of rows with equal sort keys in an
    AggregatingMergeTree (`sum`, `max`, `min`, `any`, `anyLast`, `groupBitOr`); key columns have
    none.
    """

    name: str
    kind: Type
    unit: str
    doc: str
    merge: str = ""

    @property
    def dtype(self) -> pl.DataType | DataTypeClass:
        """Polars type."""
        return self.kind.dtype

    @property
    def type(self) -> str:
        """ClickHouse type, without the function that merges it."""
        return self.kind.type

    @property
    def codec(self) -> str:
        """ClickHouse codec."""
        return self.kind.codec

    @property
    def nullable(self) -> bool:
        """Whether a missing value is kept as null; otherwise it becomes the type's zero."""
        return "Nullable(" in self.type


@dataclass(frozen=True, slots=True)
class Alias:
    """A column that the engine computes from the others of its row, and that no frame brings.

    It is computed when it is read and takes no room: for people and foreign tools.
    """

    name: str
    type: str
    expression: str
    doc: str


SLICE = Alias(
    "slice", "Int64", f"intDiv(time_ns, {SLICE_NS})", "Minute since 1970 that the row stands in."
)


def slice_of(time_ns: int) -> int:
    """The slice of a time (ns since 1970), as the engine divides: toward zero."""
    return time_ns // SLICE_NS if time_ns >= 0 else -(-time_ns // SLICE_NS)


@dataclass(frozen=True)
class Table:
    """One table: its question in a sentence, its engine, sort key and columns.

    `doc` says what one row is. `order` holds columns and expressions; `time` is the column (ns
    since 1970) by whose day the table is partitioned, or empty for none. `retention_days` counts
    from the time of storing, not of capture, so that an old capture is not dropped on arrival; 0
    keeps rows forever. Whatever is inserted into the table `fed_by` is added here too, its time cut
    to steps of `step_ns`.
    """

    name: str
    doc: str
    engine: str
    order: tuple[str, ...]
    time: str
    retention_days: int
    columns: tuple[Column, ...]
    aliases: tuple[Alias, ...] = ()
    gone: tuple[str, ...] = ()
    """Columns that the engine computed when rows were stored, and that no table has any more."""
    feeds: tuple[Feed, ...] = ()
    """Where its rows come from; nobody else inserts any."""
    kept_as: str = ""
    """Another table for as long as whose rows these are kept, unless they are named themselves."""
    indexes: tuple[str, ...] = ()
    fed_by: str = ""
    step_ns: int = 0
    width: str = "interval_ns"
    """Column that holds how long a row's time is, where the table has one."""
    granule: int = 0
    """Rows that are read at least, of a table that is asked for few; 0: as the engine has it."""
    one_file: bool = False
    """A part is one file and not two a column, however large: half the work of an insert, and many
    columns of few rows are read in two thirds of the time, cold ones in far less. For tables that
    are asked about one flow at a time."""
    gathered: tuple[Gathered, ...] = ()
    """Columns of arrays, which a frame brings one by one."""

    @cached_property
    def schema(self) -> pl.Schema:
        """Names and Polars types of the columns that a frame may bring."""
        of = {each.name: each for each in self.gathered}
        single: dict[str, pl.DataType | DataTypeClass] = {}
        for column in self.columns:
            array = of.get(column.name)
            single |= dict.fromkeys(array.of, array.dtype) if array else {column.name: column.dtype}
        return pl.Schema(single)

    @cached_property
    def blank(self) -> pl.DataFrame:
        """A frame of these columns without rows."""
        return self.schema.to_frame()
