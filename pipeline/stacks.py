"""Stacks of hops as the loop reads them: values side by side, and a word for each path."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import HOPS, WORD, Arena, address_of, arrow, borrowing
from pipeline.cc.hop_record import KINDS, LINE, path_with
from pipeline.memory import Ints

FIRST_HOP = "h0_"
PIECES = 8
"""Columns in more pieces are joined."""
WORDS = pl.Int64, pl.UInt64
"""Types that are read as they lie."""
AT_ONCE = 1 << 14
"""Rows whose paths are made together, so that their words stay near."""


class Lying(NamedTuple):
    """Where the hop values of rows with telemetry lie.

    `places` (piece, kind, hop) are addresses at which row 0 would begin (`word_at`), 0 where none
    is told; a piece has the rows before its one of `ends`. The addresses hold while `held` does.
    """

    places: Ints
    ends: Ints
    held: list[Ints]


def lying(told: pl.DataFrame) -> Lying:
    """Hop values of rows with telemetry where they lie, hops as the longest stack has.

    What is null in places is copied, with -1 for it.
    """
    hops = int(np.minimum(told["hop_count"].to_numpy().max(initial=1), HOPS))
    pieces = pieces_of(told)
    ends = np.cumsum(pieces, dtype=np.int64)
    held: list[Ints] = []
    places = np.zeros((len(pieces), len(KINDS), hops), np.int64)
    for kind, name in enumerate(KINDS):
        for hop in range(hops):
            if f"h{hop}_{name}" in told.columns:
                parts = parts_of(told[f"h{hop}_{name}"], pieces)
                held += parts
                starts = ends - pieces if len(parts) > 1 else np.zeros_like(ends)
                places[:, kind, hop] = [address_of(part) for part in parts] - WORD * starts
    return Lying(places, ends, held)


def pieces_of(told: pl.DataFrame) -> list[int]:
    """How many rows each piece has in which hop values came, of some; more are to be joined."""
    columns = (told[name] for name in told.columns if name.startswith(FIRST_HOP))
    pieces = next(columns, told.to_series(0)).chunk_lengths()
    return pieces if len(pieces) <= PIECES else [told.height]


def parts_of(column: pl.Series, pieces: list[int]) -> list[Ints]:
    """A column as words, in such pieces or in one."""
    if column.null_count() or column.dtype not in WORDS:
        column = column.cast(pl.Int64, wrap_numerical=True).fill_null(-1)
    if column.chunk_lengths() != pieces:
        column = column.rechunk()
    return [part.to_numpy() for part in column.get_chunks()]


def stacks_of(told: pl.DataFrame, hops: int, arena: Arena) -> Ints:
    """Hop values of rows with telemetry as (kind, hop, row).

    Some places more than rows let no two columns begin at one place of a cache.
    """
    places = LINE * (-(-told.height // LINE) | 1)
    [flat] = arena.arrays(len(KINDS) * hops * places, np.int64)
    values = flat.reshape(len(KINDS), hops, places)
    for kind, name in enumerate(KINDS):
        for hop in range(hops):
            if f"h{hop}_{name}" not in told.columns:
                values[kind, hop] = -1
                continue
            values[kind, hop, : told.height] = whole(told[f"h{hop}_{name}"])
    return values


def paths_of(told: pl.DataFrame, nhop: NDArray[Any]) -> NDArray[np.uint64]:
    """The word of each row's path (`path_with`), of its first `nhop` hops."""
    words, at = nhop.astype(np.uint64), 0
    for rows in pieces_of(told):  # one piece after the other: joining is a copy
        piece = told[at : at + rows]
        ends = [ends_of(piece, hop) for hop in range(int(nhop.max(initial=0)))]
        for begin in range(0, rows, AT_ONCE):
            here = slice(begin, min(begin + AT_ONCE, rows))
            there = slice(at + here.start, at + here.stop)
            for hop, (node, port) in enumerate(ends):
                extend(words[there], nhop[there], hop, node[here], port[here])
        at += rows
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
