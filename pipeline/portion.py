"""Portions: what each row is of all that its group has, added up in the order of the rows."""

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, kernel
from pipeline.groups import Ints, numbered, words

Floats = NDArray[np.float64]


def portions(rows: pl.DataFrame, key: Iterable[str], weight: pl.Expr) -> pl.Series:
    """The weight of each row over that of all rows alike in their key; null where it has none."""
    told = rows.select(weight.alias("probability")).to_series()
    group, first = numbered(words(rows, key))
    made = pl.Series("probability", divided(group, len(first), arrow.values(told)))
    return made.set(told.is_null(), None) if told.null_count() else made


@kernel
def divided(group: Ints, groups: int, weight: Floats) -> Floats:
    """Each weight over the sum of its group."""
    total = np.zeros(groups)
    for row in range(group.size):
        total[group[row]] += weight[row]
    part = np.empty(group.size)
    for row in range(group.size):
        part[row] = weight[row] / total[group[row]]
    return part
