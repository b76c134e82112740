"""A file of columns, Parquet or Arrow, open for writing batch by batch."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from service.failure import ExitCode, Failure


def opened(path: Path, schema: pa.Schema, *, parquet: bool) -> Any:
    """A writer with `write_table` and `close`; Failure says why the file cannot be written.

    Both kinds are compressed: most columns are null in most captures.
    """
    try:
        if parquet:
            from pyarrow.parquet import ParquetWriter

            return ParquetWriter(str(path), schema, compression="zstd")
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        return pa.ipc.new_file(str(path), schema, options=options)
    except OSError as error:
        # Arrow words its errors with a path and a number; older ones have no number.
        reason = (os.strerror(error.errno) if error.errno else "cannot be written").lower()
        raise Failure(ExitCode.UNAVAILABLE, f"{path}: {reason}") from None
