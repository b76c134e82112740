"""Types of columns: what a frame holds and what the store holds for it."""

from dataclasses import dataclass

import polars as pl
from polars.datatypes import DataTypeClass


@dataclass(frozen=True, slots=True)
class Type:
    """A Polars type, the ClickHouse type that keeps it, and how it is compressed."""

    dtype: pl.DataType | DataTypeClass
    type: str
    codec: str = "ZSTD(1)"


TIME = Type(pl.Int64, "Int64", "Delta, ZSTD(1)")
U8 = Type(pl.UInt8, "UInt8")
U16 = Type(pl.UInt16, "UInt16")
U32 = Type(pl.UInt32, "UInt32")
U64 = Type(pl.UInt64, "UInt64")
I64 = Type(pl.Int64, "Int64")
COUNT = Type(pl.UInt64, "UInt64", "T64, ZSTD(1)")
"""Of what there are few in each row: their upper bits, all zero, take no room."""
TOTAL = Type(pl.UInt64, "UInt64", "ZSTD(3)")
"""A sum of bytes, which repeats in longer patterns than a count does."""
WORD = Type(pl.String, "LowCardinality(String)")
"""A text of which there are few different ones."""
TEXT = Type(pl.String, "String")
OCTETS = Type(pl.Binary, "String", "NONE")
"""Octets that are compressed already."""
WORDS = Type(pl.List(pl.String), "Array(LowCardinality(String))")

MAYBE_U8 = Type(pl.UInt8, "Nullable(UInt8)")
MAYBE_U32 = Type(pl.UInt32, "Nullable(UInt32)")
MAYBE_U64 = Type(pl.UInt64, "Nullable(UInt64)")
MAYBE_I64 = Type(pl.Int64, "Nullable(Int64)")
MAYBE_F64 = Type(pl.Float64, "Nullable(Float64)")
MAYBE_F32 = Type(pl.Float32, "Nullable(Float32)")
"""A number to seven digits."""
MAYBE_WORD = Type(pl.String, "LowCardinality(Nullable(String))")

COUNTS = Type(
    pl.Struct({"bucket": pl.List(pl.UInt8), "samples": pl.List(pl.UInt64)}),
    "Tuple(Array(UInt8), Array(UInt64))",
)
"""Counts by bucket of a histogram, only of buckets that hold something."""
RANKS = Type(
    pl.Struct({"register": pl.List(pl.UInt8), "rank": pl.List(pl.UInt8)}),
    "Tuple(Array(UInt8), Array(UInt8))",
)
"""Registers of a distinct count, only those that are touched."""

WIDER = {MAYBE_F32.type: MAYBE_F64.type}
"""Types that columns had before they became narrower, which the engine can do."""
