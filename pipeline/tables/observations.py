"""What each frame said, as the collector's own table has it: raw rows, kept for a short time."""

from collector import OBSERVATION
from collector import Column as Observed
from pipeline.tables.column import SLICE, Column, Table
from pipeline.tables.flow_key import ADDRESSES
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


def _stored(column: Observed) -> Column:
    """A column of the store that holds a column of an observation."""
    kind = TYPES[str(column.dtype)]
    kind = f"Nullable({kind})" if column.nullable else kind
    held = Type(column.dtype, kind, column.codec or "ZSTD(1)")
    return Column(column.name, held, column.unit, column.doc)


OBSERVATIONS = Table(
    name="observations",
    doc="One frame: what it says about congestion.",
    engine="MergeTree",
    order=(SLICE.expression, "flow", "time_ns"),
    time="time_ns",
    retention_days=3,
    columns=tuple(_stored(column) for column in OBSERVATION if column.stored),
    aliases=(SLICE, *ADDRESSES),
)
