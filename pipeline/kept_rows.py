"""Rows as a table of the store keeps them: their types, their order, words told once. Pure."""

from collections.abc import Iterator

import polars as pl

from pipeline.store_error import StoreError
from pipeline.tables import TABLES
from pipeline.tables.column import SLICE, SLICE_NS
from pipeline.tables.gathered import gathered

FEW = 1 << 8
"""Texts that are told once, of frames with more rows."""
MANY = 2 * FEW
"""Rows in which so many different texts show that there are many."""
BY_FLOW = (SLICE.expression, "flow", "time_ns")
"""How the key begins of tables that are read flow by flow."""


def known_of(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of rows that a table has, in its order."""
    return rows.select(name for name in TABLES[table].schema if name in rows.columns)


def conform(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame in the column types of a table. Raises StoreError when it does not fit."""
    if table not in TABLES:
        raise StoreError(f"there is no table {table!r}; accepted: {', '.join(TABLES)}")
    schema = TABLES[table].schema
    if foreign := [name for name in frame.columns if name not in schema]:
        raise StoreError(f"table {table} has no column {', '.join(foreign)}")
    try:
        return frame.cast({name: schema[name] for name in frame.columns})
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().partition("\n")[0]
        raise StoreError(f"rows for {table} do not fit: {reason}") from error


def kept(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame as a table keeps it: in its types and order, words as numbers of a dictionary."""
    return gathered(in_order(table, numbered(table, conform(table, frame))), TABLES[table].gathered)


def numbered(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with texts of which there are few different ones told once.

    They are sorted and sent as numbers, and the engine keeps words so anyway. A column that is
    empty in all rows is left out: the engine fills it in as it was.
    """
    if frame.height <= FEW:
        return frame
    return pl.DataFrame([told for column in frame.get_columns() for told in _told(table, column)])


def _told(table: str, column: pl.Series) -> Iterator[pl.Series]:
    """A column with its texts told once; nothing where the engine fills it in by itself."""
    if column.dtype != pl.String:
        yield column
    elif (word := only(column)) is not None:
        if word or not empties(table, column.name):
            one = pl.Series(column.name, [word], pl.Enum([word]))
            yield one.new_from_index(0, column.len())
    elif column.head(MANY).n_unique() > FEW + 1:  # spares long texts, of which there are many
        yield column
    else:
        words = column.drop_nulls().unique()
        yield column.cast(pl.Enum(words)) if words.len() <= FEW else column


def only(texts: pl.Series) -> str | None:
    """The text that all rows have; None: there are several, or none in some."""
    first = texts[0]
    told = first is not None and texts[-1] == first and not texts.null_count()
    return first if told and (texts == first).all() else None


def empties(table: str, name: str) -> bool:
    """Whether a text that is not brought is an empty one, and no null."""
    return any(column.name == name and not column.nullable for column in TABLES[table].columns)


def in_order(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows as a table keeps them that has each flow's rows of a minute together.

    The engine would sort all of the table's columns, those that the frame lacks too.
    """
    if TABLES[table].order[: len(BY_FLOW)] != BY_FLOW or frame.is_empty():
        return frame
    minute = frame["time_ns"] // SLICE_NS
    if minute[0] == minute[-1] and frame["time_ns"].is_sorted():
        return frame.sort("flow", maintain_order=True)
    key = [minute.alias(SLICE.name), pl.col("flow"), pl.col("time_ns")]
    return frame.sort(key, maintain_order=True)
