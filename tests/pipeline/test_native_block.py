"""Blocks of the engine's own format: the engine reads from them what the frame says."""

from collections.abc import Iterator
from pathlib import Path

import lz4.frame
import polars as pl
import pytest
from empty_store import empty_store
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.connection import Connection
from pipeline.insert_body import Body
from pipeline.native_block import block

WORDS = pl.Enum(["", "tap", "Zürich"])
KINDS = {
    "small": pl.Int8,
    "number": pl.UInt64,
    "load": pl.Float64,
    "truth": pl.Boolean,
    "text": pl.String,
    "octets": pl.Binary,
    "word": WORDS,
    "hops": pl.List(pl.UInt32),
    "names": pl.List(pl.String),
}
VALUES = {
    "small": st.integers(-128, 127),
    "number": st.integers(0, 2**64 - 1),
    "load": st.floats(allow_nan=False),
    "truth": st.booleans(),
    "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    | st.sampled_from(["a" * 127, "b" * 128, "ü" * 9000]),
    "octets": st.binary(max_size=6),
    "word": st.sampled_from(["", "tap", "Zürich"]),
    "hops": st.lists(st.none() | st.integers(0, 2**32 - 1), max_size=3),
    "names": st.lists(st.text("ab", max_size=3), max_size=3),
}
EMPTY: dict[str, list[object]] = {"hops": [], "names": []}
"""What the engine makes of arrays that are null."""
ROW = st.tuples(*(st.none() | values for values in VALUES.values()))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    place = tmp_path_factory.mktemp("store") / "db"
    with empty_store(place) as store, store.alone() as connection:
        yield connection


def test_a_server_is_sent_what_the_engine_reads_as_an_lz4_frame() -> None:
    body = Body()
    try:
        for rows in (1000, 10):  # the memory of more rows is used again
            frame = pl.DataFrame({"a": range(rows), "b": ["same"] * rows})
            body.write(frame)
            there = Path(body.path).read_bytes()
            assert there
            assert lz4.frame.decompress(body.packed()) == there
            assert rows < 1000 or len(body.packed()) < len(there) / 2
    finally:
        body.close()


def read(engine: Connection, frame: pl.DataFrame) -> pl.DataFrame:
    """What the engine reads of a frame's block."""
    body = Body()
    try:
        body.write(frame)
        names = ", ".join(frame.columns)
        told = "output_format_arrow_low_cardinality_as_dictionary = 0"
        told += ", output_format_arrow_string_as_string = 0"
        asked = f"SELECT {names} FROM file('{body.path}', 'Native') SETTINGS {told}"  # noqa: S608 - names of this test
        return engine.frame("block", asked, {})
    finally:
        body.close()


@settings(deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=12), first=st.integers(0, 5))
def test_the_engine_reads_what_the_frame_says(
    engine: Connection, rows: list[tuple[object, ...]], first: int
) -> None:
    """Of rows in the middle of a frame too, whose buffers begin somewhere."""
    frame = pl.DataFrame(rows, schema=KINDS, orient="row")[min(first, len(rows) - 1) :]
    back = read(engine, frame)
    for name, kind in KINDS.items():
        wanted = [EMPTY.get(name) if value is None else value for value in frame[name].to_list()]
        told = back[name].cast(pl.String if name == "word" else kind)
        assert told.to_list() == wanted, name


def test_histograms_are_pairs_of_arrays(engine: Connection) -> None:
    told = [{"bucket": [1, 7], "samples": [3, 2**40]}, {"bucket": [], "samples": []}]
    kind = pl.Struct({"bucket": pl.List(pl.UInt8), "samples": pl.List(pl.UInt64)})
    back = read(engine, pl.DataFrame({"counts": told}, schema={"counts": kind}))
    assert [[*row.values()] for row in back["counts"].to_list()] == [[[1, 7], [3, 2**40]], [[], []]]


def test_a_block_is_as_the_format_has_it() -> None:
    """Octets by hand: two columns of two rows."""
    frame = pl.DataFrame({"n": [7, None], "w": ["b", "a"]},
                         schema={"n": pl.UInt16, "w": pl.Enum(["a", "b"])})  # fmt: skip
    octets = b"".join(block(frame))
    numbers = b"\x01n" + b"\x10Nullable(UInt16)" + b"\0\1" + b"\x07\0\0\0"
    head = b"".join(value.to_bytes(8, "little") for value in (1, 0x600, 2))
    words = head + b"\1a\1b" + (2).to_bytes(8, "little") + b"\1\0"
    assert octets[: len(numbers) + 2] == b"\2\2" + numbers
    assert octets[len(numbers) + 2 :] == b"\x01w" + b"\x16LowCardinality(String)" + words


def test_columns_that_no_table_has_are_refused() -> None:
    with pytest.raises(TypeError, match="duration"):
        list(block(pl.DataFrame({"a": [1]}, schema={"a": pl.Duration})))
