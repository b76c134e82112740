"""One column of the observation, and the types that columns have."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Column:
    """Name, Polars dtype, unit, meaning, whether it may be null, ClickHouse codec.

    What is not `stored` travels on the bus and is not kept in the store's raw rows. `most` is the
    largest value that a decoder gives; None: the largest of the type.
    """

    name: str
    dtype: pl.DataType
    unit: str
    doc: str
    nullable: bool = True
    codec: str = ""
    stored: bool = True
    most: int | None = None


U8, U16, U32, U64 = pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64()
I64, F64, TEXT, FLAG = pl.Int64(), pl.Float64(), pl.String(), pl.Boolean()
