"""Columns of hops become arrays and come back as they were, words are told once."""

import io
from pathlib import Path

import polars as pl
import pytest
from empty_store import empty_store
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.insert_body import to_arrow
from pipeline.kept_rows import kept
from pipeline.store_backup import _as_now
from pipeline.tables import TABLES
from pipeline.tables.gathered import Gathered, gathered, spread

INTO = (
    Gathered("node", ("a0", "a1", "a2"), pl.UInt32()),
    Gathered("load", ("b0", "b1", "b2"), pl.Float64()),
)
KINDS = {"a0": pl.UInt32, "a1": pl.UInt32, "a2": pl.UInt32, "b0": pl.Float64, "b1": pl.Float64}
NUMBERS = st.none() | st.integers(0, 2**32 - 1)
ROWS = st.lists(st.tuples(*[NUMBERS] * 5), min_size=1, max_size=8)


@settings(deadline=None)
@given(rows=ROWS, names=st.sets(st.sampled_from(sorted(KINDS))))
def test_what_is_gathered_comes_back(rows: list[tuple[int | None, ...]], names: set[str]) -> None:
    """Also where a frame lacks columns between those that it has."""
    frame = pl.DataFrame(rows, schema=[*KINDS], orient="row").cast(KINDS).select(sorted(names))
    frame = frame.with_columns(pl.int_range(pl.len()).alias("row"))
    back = spread(gathered(frame, INTO), INTO)
    assert "node" not in back.columns
    for name, kind in KINDS.items():
        told = frame[name] if name in names else pl.Series([None] * frame.height, dtype=kind)
        came = back[name] if name in back.columns else pl.Series([None] * frame.height, dtype=kind)
        assert came.to_list() == told.to_list(), name
    assert back["row"].to_list() == frame["row"].to_list()


def test_rows_without_a_stack_have_empty_arrays() -> None:
    frame = pl.DataFrame({"a0": [1, None], "a1": [None, None]}, schema={"a0": KINDS["a0"],
                         "a1": KINDS["a1"]})  # fmt: skip
    assert gathered(frame, INTO)["node"].to_list() == [[1, None], []]


@pytest.mark.parametrize("rows", [3, 1000])
def test_few_words_and_many_are_stored_as_they_are(rows: int, tmp_path: Path) -> None:
    words = [["tap", "", "Zürich"][row % 3] for row in range(rows)]
    own = [f"file {row}" for row in range(rows)]
    frame = pl.DataFrame({"time_ns": range(rows), "flow": [1] * rows, "point": words,
                          "source": own})  # fmt: skip
    with empty_store(tmp_path / "db") as store:
        store.insert("observations", frame, "words")
        with store.alone() as connection:
            told = connection.rows("SELECT point, source FROM observations ORDER BY time_ns")
    assert told == [*zip(words, own, strict=True)]
    kinds = kept("observations", frame).schema
    assert (kinds["point"] == pl.String) == (rows == 3)
    assert len(to_arrow(kept("observations", frame).select("point"))) < 8 * rows + 2000


def test_empty_words_are_left_out_where_the_engine_fills_them_in(tmp_path: Path) -> None:
    rows = 1000
    frame = pl.DataFrame({"time_ns": range(rows), "flow": [1] * rows, "source": ["a"] * rows,
                          "tenant": [""] * rows, "vrf": [""] * (rows - 1) + ["red"]})  # fmt: skip
    assert kept("observations", frame).columns == ["time_ns", "flow", "source", "vrf"]
    maybe = pl.DataFrame({"flow": [1] * rows, "cc": [""] * rows})
    assert kept("flows", maybe).columns == ["flow", "cc"]  # a null would be another thing
    told = kept("flows", maybe.with_columns(pl.lit(None, pl.String).alias("cc")))
    assert told["cc"].null_count() == rows
    with empty_store(tmp_path / "db") as store:
        store.insert("observations", frame, "it's an 'insert' of 100 % \\")
        with store.alone() as connection:
            asked = "SELECT DISTINCT source, tenant, vrf FROM observations ORDER BY vrf"
            assert connection.rows(asked) == [("a", "", ""), ("a", "", "red")]


def test_no_array_is_brought_by_a_frame() -> None:
    schema = TABLES["observations"].schema
    assert schema["h3_node"] == pl.UInt32
    assert not any(isinstance(kind, pl.List) for kind in schema.values())


def test_a_backup_of_before_is_read_into_arrays() -> None:
    """Its files have a column for each column of each hop; files of today stay as they are."""
    table, before, now = TABLES["observations"], io.BytesIO(), io.BytesIO()
    frame = pl.DataFrame({"time_ns": [1, 2], "h0_node": [7, None], "h1_node": [8, None]})
    frame.write_parquet(before)
    read = pl.read_parquet(io.BytesIO(_as_now(table, before.getvalue())))
    assert read.to_dict(as_series=False) == {"time_ns": [1, 2], "hop_node": [[7, 8], []]}
    read.write_parquet(now)
    assert _as_now(table, now.getvalue()) == now.getvalue()
