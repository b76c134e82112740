"""What an insert sends: rows as one block, in memory that the next insert uses again.

The embedded engine reads it where it lies, under a name; a server is sent it compressed. To give
such memory back each time and have it anew costs a third of the time of an insert.
"""

import io
import mmap
import os
import queue
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import polars as pl
import pyarrow as pa

from pipeline.native_block import block
from pipeline.store_error import StoreAway

FORMAT = "Native"
"""What the engine calls the format of a body."""
PACKED = "lz4"
"""How a body is compressed, as HTTP calls it (Content-Encoding)."""


class Body:
    """Memory for one block at a time; `write` before it is read."""

    def __init__(self) -> None:
        """Take no memory yet."""
        if hasattr(os, "memfd_create"):
            self._file: IO[bytes] = io.FileIO(os.memfd_create("hopsight-insert"), "r+b")
        else:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by `close`

    def write(self, frame: pl.DataFrame) -> None:
        """Put a frame in the place of what was there. Raises StoreAway when there is no room."""
        try:
            self._file.seek(0)
            for part in block(frame):
                self._whole(part)
            self._file.truncate()
            self._file.seek(0)
        except OSError as error:
            raise StoreAway(f"rows of an insert find no room: {error}") from error

    def _whole(self, octets: memoryview) -> None:
        """Write all of some octets: a call of the system need not take them at once."""
        while octets:
            octets = octets[self._file.write(octets) :]

    @property
    def path(self) -> str:
        """Name by which this process can open it."""
        return f"/dev/fd/{self._file.fileno()}"

    def packed(self) -> bytes:
        """The block as an LZ4 frame, made past whatever else Python does meanwhile."""
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as octets:
            return bytes(pa.compress(pa.py_buffer(octets), PACKED, asbytes=True))

    def close(self) -> None:
        """Give the memory back."""
        self._file.close()


class Bodies:
    """As many bodies as there are inserts at once."""

    def __init__(self) -> None:
        self._free: queue.SimpleQueue[Body] = queue.SimpleQueue()

    @contextmanager
    def one(self) -> Iterator[Body]:
        """A body for one insert, in which an older one's rows may be."""
        try:
            body = self._free.get_nowait()
        except queue.Empty:
            body = Body()
        try:
            yield body
        finally:
            self._free.put(body)

    def close(self) -> None:
        """Give the memory of those back that are not in use."""
        while not self._free.empty():
            self._free.get_nowait().close()


def to_arrow(frame: pl.DataFrame, *, small: bool = False) -> bytes:
    """A frame as one Arrow IPC stream of a single batch, in types that every reader knows.

    Not every reader takes a `small` one: its columns are compressed (LZ4).
    """
    body, table = io.BytesIO(), frame.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    options = pa.ipc.IpcWriteOptions(compression="lz4" if small else None)
    with pa.ipc.new_stream(body, table.schema, options=options) as stream:
        stream.write_table(table)  # half the time of Polars' own
    return body.getvalue()
