"""Stacks of hops as the loop reads them: values side by side, and a word for each path."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import HOPS, Arena, arrow, borrowing
from pipeline.cc.hop_record import KINDS, LINE, path_with
from pipeline.memory import Ints

AT_ONCE = 1 << 14
"""Rows whose paths are made together, so that their words stay near."""


def stacks_of(told: pl.DataFrame, arena: Arena) -> Ints:
    """Hop values of rows with telemetry as (kind, hop, row), hops as the longest stack has.

    Some places more than rows let no two columns begin at one place of a cache.
    """
    hops = int(np.minimum(told["hop_count"].to_numpy().max(initial=1), HOPS))
    places = LINE * (-(-told.height // LINE) | 1)
    [flat] = arena.arrays(len(KINDS) * hops * places, np.int64)
    values = flat.reshape(len(KINDS), hops, places)
    for kind, name in enumerate(KINDS):
        for hop in range(hops):
            if f"h{hop}_{name}" not in told.columns:
                values[kind, hop] = -1
                continue
            column = told[f"h{hop}_{name}"]
            if column.null_count():
                column = column.cast(pl.Int64, wrap_numerical=True).fill_null(-1)
            at = 0
            for part in column.get_chunks():  # one piece after the other: to join them is a copy
                values[kind, hop, at : at + len(part)] = part.to_numpy()
                at += len(part)
    return values


def paths_of(told: pl.DataFrame, nhop: NDArray[Any]) -> NDArray[np.uint64]:
    """The word of each row's path (`path_with`), of its first `nhop` hops."""
    words = nhop.astype(np.uint64)
    ends = [ends_of(told, hop) for hop in range(int(nhop.max(initial=0)))]
    for begin in range(0, words.size, AT_ONCE):
        here = slice(begin, begin + AT_ONCE)
        for hop, (node, port) in enumerate(ends):
            extend(words[here], nhop[here], hop, node[here], port[here])
    return words


def ends_of(told: pl.DataFrame, hop: int) -> list[NDArray[Any]]:
    """Node and port of a hop of each row: as they lie, or both with a sign, -1 where not told."""
    names = f"h{hop}_node", f"h{hop}_port"
    columns = [told[name] for name in names if name in told.columns]
    if len(columns) == len(names) and not any(each.null_count() for each in columns):
        return [arrow.fixed(each.cast(pl.UInt32).to_numpy()) for each in columns]
    nowhere = arrow.fixed(np.full(told.height, -1))
    return [whole(told[name]) if name in told.columns else nowhere for name in names]


def whole(column: pl.Series) -> Ints:
    """A column of whole numbers, -1 where it is null."""
    if column.null_count():
        column = column.cast(pl.Int64, wrap_numerical=True).fill_null(-1)
    return arrow.fixed(column.to_numpy().astype(np.int64, copy=False))


@borrowing
def extend(
    words: NDArray[np.uint64], nhop: NDArray[Any], hop: int, node: NDArray[Any], port: NDArray[Any]
) -> None:
    """Add a hop to the words of the paths that have it."""
    for at in range(words.size):
        row = np.uint64(at)  # an index without a sign is a plain load
        word = path_with(words[row], hop, node[row], port[row])
        words[row] = word if hop < nhop[row] else words[row]


def unknown_loads(shape: tuple[int, ...], arena: Arena) -> NDArray[np.float64]:
    """Room for u' (hop, row), none of which is known yet."""
    [flat] = arena.arrays(int(np.prod(shape)), np.float64)
    flat[:] = np.nan
    return flat.reshape(shape)
