"""Texts of pieces: the pieces of a row one after the other, separated by commas.

A column's texts lie one behind another in memory, so that a run of pieces is a text already: all
that it takes is other ends.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.groups import Ints
from pipeline.runs import begun

SEPARATOR = ","


def joined(pieces: pl.Series, begins: NDArray[np.integer]) -> pl.Series:
    """Runs of pieces, none of which is null, as one text each.

    `begins` are the first pieces of the runs, and behind the last one.
    """
    told = pieces.to_frame("piece").select(pl.concat_str(pl.lit(SEPARATOR), "piece"))
    array = told.to_series().rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, ends, letters = array.buffers()
    offsets = np.frombuffer(ends, np.int64)[array.offset + begins]
    runs = pa.LargeStringArray.from_buffers(len(begins) - 1, pa.py_buffer(offsets), letters)
    # What separates a run from the one before it is no part of either.
    return pl.Series("texts", runs, pl.String).str.slice(len(SEPARATOR))


def by_run(rows: pl.DataFrame, key: Sequence[str], pieces: pl.Series) -> pl.DataFrame:
    """The pieces of rows, each run of rows that are alike in their key as one text (`texts`)."""
    begins = np.append(np.flatnonzero(begun(rows, key)), rows.height)
    return rows[[*key]][begins[:-1]].with_columns(joined(pieces, begins))


def listed(pieces: pl.Series, row: Ints, rows: int) -> pl.Series:
    """Pieces as the JSON list of each of so many rows; those of a row keep their order.

    `row` says whose each piece is.
    """
    order = np.argsort(row, kind="stable")
    begins = np.searchsorted(row[order], np.arange(rows + 1))
    texts = joined(pieces.gather(order), begins)
    return texts.to_frame().select(pl.format("[{}]", "texts")).to_series()
