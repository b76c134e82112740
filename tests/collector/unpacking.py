"""Streams of Arrow that are small until somebody reads them."""

import io

import pyarrow as pa


def swelling(rows: int, *, columns: int, kind: pa.DataType | None = None) -> bytes:
    """A stream of equal values, which becomes some thousand times as large."""
    kind = kind or pa.int64()
    value = None if pa.types.is_null(kind) else 10**18
    column = pa.repeat(pa.scalar(value, kind), rows)
    names = ["time_ns", *(f"x{number}" for number in range(1, columns))]
    held = pa.RecordBatch.from_arrays([column] * columns, names)
    stream = io.BytesIO()
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(stream, held.schema, options=packed) as writer:
        writer.write_batch(held)
    return stream.getvalue()
