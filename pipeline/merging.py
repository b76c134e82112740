"""Partial rows of a table as one: what the functions that join rows in the store do."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import polars as pl

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


def merged(
    parts: Iterable[pl.DataFrame],
    table: str,
    key: Sequence[str],
    extra: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Partial rows joined by the functions that the table names, later parts over earlier ones.

    `extra` names functions for columns that the table does not have.
    """
    rows = pl.concat(parts, how="diagonal_relaxed")
    joins = {c.name: c.merge for c in TABLES[table].columns if c.merge} | dict(extra or {})
    return rows.group_by(key, maintain_order=True).agg(
        JOINS[join](pl.col(name)).alias(name)
        for name, join in joins.items()
        if name in rows.columns
    )
