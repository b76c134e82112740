"""Texts of pieces are what joining the pieces one by one gives."""

import json

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.texts import by_run, listed

PIECES = st.lists(st.tuples(st.integers(0, 4), st.text(max_size=5)), max_size=20)


@settings(deadline=None)
@given(PIECES)
def test_pieces_of_a_row_are_listed_in_their_order(told: list[tuple[int, str]]) -> None:
    pieces = pl.Series([json.dumps(text) for _, text in told], dtype=pl.String)
    made = listed(pieces, np.array([row for row, _ in told], np.int64), 5)
    assert [json.loads(text) for text in made] == [
        [text for row, text in told if row == here] for here in range(5)
    ]


@settings(deadline=None)
@given(PIECES)
def test_runs_are_joined_as_polars_joins_their_pieces(told: list[tuple[int, str]]) -> None:
    rows = pl.DataFrame(told, schema={"key": pl.Int64, "piece": pl.String}, orient="row").sort(
        "key"
    )
    wanted = rows.group_by("key", maintain_order=True).agg(pl.col("piece").str.join(","))
    made = by_run(rows, ["key"], rows["piece"])
    assert made.rename({"texts": "piece"}).equals(wanted)
