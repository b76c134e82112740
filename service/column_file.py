"""A file of columns, Parquet or Arrow, written batch by batch; it is there when it is closed."""

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from service.failure import Failure
from service.whole_file import WholeFile


class ColumnFile:
    """Takes tables of one schema. Failure says why they cannot be written; nothing is left then.

    Both kinds are compressed: most columns are null in most captures.
    """

    def __init__(self, path: Path, schema: pa.Schema, *, parquet: bool) -> None:
        self.file = WholeFile(path)
        try:
            self._writer: Any = _opened(str(self.file.place), schema, parquet=parquet)
        except OSError as error:
            raise self.file.failed(error) from None

    def write(self, table: pa.Table) -> None:
        """Write a batch."""
        try:
            self._writer.write_table(table)
        except OSError as error:
            raise self._failed(error) from None

    def close(self) -> None:
        """All is written."""
        if self._writer is None:
            return
        try:
            self._writer.close()
            self.file.put()
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> Failure:
        """Close what cannot be written; what to raise."""
        writer, self._writer = self._writer, None
        with contextlib.suppress(OSError):  # it tells the same again
            writer.close()
        return self.file.failed(error)


def _opened(place: str, schema: pa.Schema, *, parquet: bool) -> Any:
    """A writer of Arrow's."""
    if parquet:
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(place, schema, compression="zstd")
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    return pa.ipc.new_file(place, schema, options=options)
