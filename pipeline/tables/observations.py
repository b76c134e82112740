"""What each frame said, as the collector's own table has it: raw rows, kept for a short time."""

import polars as pl

from collector import HOP, HOPS, OBSERVATION
from collector import Column as Observed
from pipeline.tables.column import SLICE, Column, Table
from pipeline.tables.flow_key import ADDRESSES
from pipeline.tables.gathered import Gathered
from pipeline.tables.types import Type

TYPES = {
    "Boolean": "Bool",
    "Float64": "Float64",
    "Int64": "Int64",
    "String": "LowCardinality(String)",
    "UInt8": "UInt8",
    "UInt16": "UInt16",
    "UInt32": "UInt32",
    "UInt64": "UInt64",
}
"""ClickHouse types of the Polars types that an observation uses; its texts are few and repeat."""


REPEATED = {"length", "layers", "src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport", "flags",
            "window", "payload_bytes"}  # fmt: skip
"""Columns that most rows of a flow have as the row before."""
SMALL = {"String", "UInt8"}
"""Types of the others. Of all these LZ4 makes nearly as little as ZSTD does, and spares a tenth of
an insert's time."""


def _stored(column: Observed) -> Column:
    """A column of the store that holds a column of an observation."""
    kind = TYPES[str(column.dtype)]
    kind = f"Nullable({kind})" if column.nullable else kind
    often = column.name in REPEATED or str(column.dtype) in SMALL
    usual = "LZ4" if often else "ZSTD(1)"
    held = Type(column.dtype, kind, column.codec or usual)
    return Column(column.name, held, column.unit, column.doc)


def _of_hops(column: Observed) -> Column:
    """A column of the store that holds a column of every hop."""
    kind = Type(pl.List(column.dtype), f"Array(Nullable({TYPES[str(column.dtype)]}))")
    told = f"{column.doc[0].lower()}{column.doc[1:]}"
    return Column(f"hop_{column.name}", kind, column.unit, f"Of each hop: {told}")


STACK = tuple(column for column in HOP if column.stored)
"""What is kept of each hop."""
GATHERED = tuple(
    Gathered(
        f"hop_{column.name}",
        tuple(f"h{hop}_{column.name}" for hop in range(HOPS)),
        column.dtype,
    )
    for column in STACK
)
"""Columns of hops as arrays, hop 0 first."""
SINGLE = {name for each in GATHERED for name in each.of}

OBSERVATIONS = Table(
    name="observations",
    doc="One frame: what it says about congestion.",
    engine="MergeTree",
    order=(SLICE.expression, "flow", "time_ns"),
    time="time_ns",
    retention_days=3,
    columns=(
        *(_stored(each) for each in OBSERVATION if each.stored and each.name not in SINGLE),
        *map(_of_hops, STACK),
    ),
    aliases=(SLICE, *ADDRESSES),
    one_file=True,
    gathered=GATHERED,
)
