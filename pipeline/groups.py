"""Groups: rows that are alike in all words of their key, numbered as they come.

What Polars' group_by does in one go is parted here, so that rows are hashed once however much is
made of their groups, and no key is a text.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, borrowing, inlined, prefetch
from pipeline.copies import mixed

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Word = Ints | NDArray[np.uint64] | NDArray[np.bool_]
"""A word of each row."""
Places = NDArray[np.int32]
FEW = 1 << 10
"""Groups that there is room for at first."""
AHEAD = 16
"""Rows whose places are asked for before they are looked at."""
NONE = np.int32(-1)
HOP = ["node", "port"]
"""The columns that name a hop."""


def words(frame: pl.DataFrame, columns: Iterable[str | Word]) -> Words:
    """(word, row) of columns of numbers and texts; what is null is told apart by a word more."""
    found: list[NDArray[Any]] = []
    for told in columns:
        if isinstance(told, str):
            column = frame[told]
            found.append(numbers(column))
            found += [arrow.nulls(column)] if column.null_count() else []
        else:
            found.append(told)
    made = np.empty((len(found), frame.height), np.uint64)
    for place, values in enumerate(found):
        made[place] = values
    return made


def numbers(column: pl.Series) -> NDArray[Any]:
    """What stands for the values of a column."""
    if column.dtype == pl.Float64:
        return arrow.values(column).view(np.uint64)
    if column.dtype != pl.String:
        return arrow.values(column)
    if column.len() and column[0] is not None and (column == column[0]).all():
        return np.zeros(column.len(), np.uint64)
    # Numbers of texts are those of this call alone: names that all share are never forgotten.
    return arrow.values(column.cast(pl.Categorical(pl.Categories.random())))


def among(values: pl.Series, known: pl.Series) -> NDArray[np.bool_]:
    """Which values of a column of integers another one has, too."""
    return np.isin(arrow.values(values), np.unique(arrow.values(known)))


def hop(rows: pl.DataFrame) -> NDArray[np.uint64]:
    """Node and port of each row as one word, where there are both."""
    node, port = (arrow.values(rows[name]).astype(np.uint64) for name in HOP)
    return node << np.uint64(32) | port


def hops(rows: pl.DataFrame) -> list[Word]:
    """What tells the hops of rows apart: one word, and another where a node or port is null."""
    return [hop(rows), *(arrow.nulls(rows[name]) for name in HOP if rows[name].null_count())]


def numbered(key: Words) -> tuple[Ints, Ints]:
    """The group of each row, from 0 as they come, and the first row of each group."""
    rows = key.shape[1]
    group, first = np.empty(rows, np.int64), np.empty(FEW, np.int64)
    own, places = np.empty((FEW, len(key)), np.uint64), np.full(2 * FEW, NONE)
    known, row = 0, 0
    while (row := sort_out(key, row, known, group, first, own, places)) < rows:
        known = len(first)
        first, own = (np.concatenate([each, np.empty_like(each)]) for each in (first, own))
        places = np.full(2 * len(first), NONE)
        place_again(own[:known], places)
    return group, first[: int(group.max(initial=-1)) + 1]


def distinct(rows: pl.DataFrame, columns: Iterable[str | Word]) -> pl.DataFrame:
    """The first row of each group."""
    return rows[numbered(words(rows, columns))[1]]


@borrowing
def sort_out(
    key: Words, row: int, known: int, group: Ints, first: Ints, own: Words, places: Places
) -> int:
    """Number rows from one on until all are, or no group has room any more; the next row.

    `own` has the words of each group, `places` groups by their hash.
    """
    marks = np.uint64(places.size - 1)
    for begin in range(row, key.shape[1], AHEAD):
        end = min(begin + AHEAD, key.shape[1])
        for at in range(begin, end):
            group[at] = np.int64(hashed(key[:, at]) & marks)
            prefetch(places, group[at])
        for at in range(begin, end):
            place = np.uint64(group[at])
            while places[place] != NONE and not alike(own[places[place]], key[:, at]):
                place = (place + np.uint64(1)) & marks
            if places[place] == NONE:
                if known == first.size:
                    return at
                places[place], first[known] = known, at
                for word in range(key.shape[0]):
                    own[known, word] = key[word, at]
                known += 1
            group[at] = places[place]
    return int(key.shape[1])


@borrowing
def place_again(own: Words, places: Places) -> None:
    """Put known groups into their places."""
    marks = np.uint64(places.size - 1)
    for group in range(own.shape[0]):
        place = hashed(own[group]) & marks
        while places[place] != NONE:
            place = (place + np.uint64(1)) & marks
        places[place] = group


@inlined
def hashed(key: Any) -> Any:
    """All words of a key in one."""
    mark = np.uint64(0)
    for word in range(key.size):
        mark = mixed(mark, key[word])
    return mark


@inlined
def alike(one: Any, other: Any) -> bool:
    """Whether two keys are the same."""
    same = True
    for word in range(one.size):
        same &= one[word] == other[word]
    return same
