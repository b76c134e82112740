"""Window: the part of a capture file that is in memory now, mapped, or read and decompressed."""

import mmap
import os
import stat
from collections.abc import Iterator
from io import FileIO
from itertools import chain
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from collector.compression import MAGIC_BYTES, StreamDamageError, at_least, decompressed

WINDOW_BYTES: Final = 32 << 20
"""Bytes of a file that are taken into memory at a time (more only when one record is larger)."""

RELEASE_BYTES: Final = 32 << 20
"""Bytes of a mapped file that are given back at a time; whole pages on every machine."""

PIECE_BYTES: Final = 1 << 20
"""Bytes asked of the operating system at a time."""


class CaptureError(Exception):
    """A capture file that cannot be read at all: one sentence that begins with its path."""


class Window(Protocol):
    """What a reader sees of a file: bytes, and how far it has read them."""

    data: NDArray[np.uint8]
    """The bytes in memory, read only."""
    position: int
    """First byte of `data` that is not read yet."""
    damage: str
    """Why the stream ended before its end, or an empty string."""

    def more(self) -> bool:
        """Replace `data` by what is not read yet and what follows; False when nothing follows."""

    def release(self) -> None:
        """Say that what lies before `position` is not needed soon."""


class MappedWindow:
    """A plain file, mapped into memory and shown step by step; the system loads its pages."""

    def __init__(self, file: FileIO) -> None:
        """Map the file, which must not be empty. Raises OSError or ValueError."""
        self._file = file
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._map.madvise(mmap.MADV_SEQUENTIAL)
        self._whole: NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self._released = 0
        self.data = self._whole[:0]
        self.position = 0
        self.damage = ""

    def more(self) -> bool:
        """Show the next bytes behind those that are shown."""
        shown = len(self.data)
        self.data = self._whole[: self._size(shown + WINDOW_BYTES)]
        return len(self.data) > shown

    def release(self) -> None:
        """Give back the pages that were read; they load again if a frame in them is asked for."""
        self.data = self.data[: self._size(len(self.data))]
        passed = min(self.position, len(self.data)) // RELEASE_BYTES * RELEASE_BYTES
        if passed > self._released:
            self._map.madvise(mmap.MADV_DONTNEED, self._released, passed - self._released)
            self._released = passed

    def _size(self, limit: int) -> int:
        """Bytes of the file, at most `limit`.

        A file that was cut shorter meanwhile is cut here too: touching its lost pages would kill
        the process.
        """
        return min(limit, len(self._whole), os.fstat(self._file.fileno()).st_size)


class StreamWindow:
    """A bounded run of a stream of pieces; each run is a buffer of its own that frames may keep."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        """Read nothing yet."""
        self._pieces = pieces
        self.data: NDArray[np.uint8] = np.empty(0, np.uint8)
        self.position = 0
        self.damage = ""

    def more(self) -> bool:
        """Take the next pieces in behind what is not read yet. Raises OSError."""
        parts = [self.data[self.position :].tobytes()]
        size = 0
        try:
            while size < WINDOW_BYTES:
                parts.append(next(self._pieces))
                size += len(parts[-1])
        except StopIteration:
            pass
        except StreamDamageError as damage:
            self.damage = str(damage)
        if not size:
            return False
        self.data = np.frombuffer(b"".join(parts), np.uint8)
        self.position = 0
        return True

    def release(self) -> None:
        """Nothing to do: a buffer goes when the last frames in it go."""


def open_window(file: FileIO) -> Window:
    """Look into a file: mapped when it is plain and on a disk, else decompressed by its magic.

    The file must be open at its beginning. Raises OSError.
    """
    status = os.fstat(file.fileno())
    pieces = _pieces(file)
    head = at_least(MAGIC_BYTES, b"", pieces)
    if (unpacked := decompressed(head, pieces)) is not None:
        return StreamWindow(unpacked)
    if stat.S_ISREG(status.st_mode) and status.st_size and file.name != 0:
        return MappedWindow(file)
    return StreamWindow(chain([head], pieces))


def _pieces(file: FileIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
