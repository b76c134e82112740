"""Partial rows of a table as one: what the functions that join rows in the store do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import polars as pl

from collector import at_once
from pipeline.tables import TABLES

JOINS: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {
    "sum": lambda values: pl.when(values.count() > 0).then(values.sum()),
    "max": lambda values: values.max(),
    "min": lambda values: values.min(),
    "any": lambda values: values.drop_nulls().first(),
    "anyLast": lambda values: values.drop_nulls().last(),
    "groupBitOr": lambda values: values.bitwise_or(),
}
"""The functions as expressions."""
REMEMBERED = 64
"""Sets of columns whose expressions are kept."""


def merged(
    parts: Iterable[pl.DataFrame],
    table: str,
    key: Sequence[str],
    extra: Mapping[str, str] | None = None,
    *,
    in_order: bool = False,
) -> pl.DataFrame:
    """Partial rows joined by the functions that the table names, later parts over earlier ones.

    `extra` names functions for columns that the table does not have. Rows are in the order of their
    first parts, or `in_order` of their key.
    """
    told = list(parts)
    columns = tuple(dict.fromkeys(name for part in told for name in part.columns))
    found = totals(table, tuple((extra or {}).items()), columns)
    rows = pl.concat([part.lazy() for part in told], how="diagonal_relaxed")
    joined = rows.group_by(key, maintain_order=True).agg(found)
    return at_once(joined.sort(key) if in_order else joined)


@lru_cache(REMEMBERED)
def totals(
    table: str, extra: tuple[tuple[str, str], ...], columns: tuple[str, ...]
) -> list[pl.Expr]:
    """What joins the columns that are there; made once, since making takes longer than joining."""
    joins = {c.name: c.merge for c in TABLES[table].columns if c.merge} | dict(extra)
    return [
        JOINS[join](pl.col(name)).alias(name) for name, join in joins.items() if name in columns
    ]
