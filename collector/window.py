"""Window: the part of a capture file that is in memory now, mapped, or read and decompressed."""

import mmap
import os
import stat
import zlib
from collections.abc import Iterator
from io import FileIO
from itertools import chain
from typing import Final, Protocol

import numpy as np
import zstandard
from numpy.typing import NDArray

WINDOW_BYTES: Final = 32 << 20
"""Bytes of a stream that are taken into memory at a time (more only when one record is larger)."""

RELEASE_BYTES: Final = 32 << 20
"""Bytes of a mapped file that are given back at a time; whole pages on every machine."""

PIECE_BYTES: Final = 1 << 20
"""Bytes asked of the operating system at a time."""

INFLATE_BYTES: Final = 1 << 18
"""Bytes that one step of gzip decompression gives at most."""

ZSTD_FEED_BYTES: Final = 1 << 10
"""Compressed bytes of one step of zstd decompression: a block of 4 bytes can hold 128 KiB, so this
bounds what a step gives to 32 MiB, and what is lost in front of damage to one step."""


MAGIC_BYTES: Final = 4
GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGICS: Final = (
    b"\x28\xb5\x2f\xfd",
    *(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60)),
)
"""A zstd frame, or a frame to skip, with which parallel compressors begin."""


class CaptureError(Exception):
    """A capture file that cannot be read at all: one sentence that begins with its path."""


class StreamDamageError(Exception):
    """A compressed stream ends here, with the reason (`file_truncated`, `file_corrupt`)."""


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
    """A whole plain file, mapped into memory; the system loads and drops its pages."""

    def __init__(self, file: FileIO) -> None:
        """Map the file, which must not be empty. Raises OSError or ValueError."""
        self._file = file
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._map.madvise(mmap.MADV_SEQUENTIAL)
        self._released = 0
        self.data: NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self.position = 0
        self.damage = ""

    def more(self) -> bool:
        """Nothing follows: all is mapped."""
        return False

    def release(self) -> None:
        """Give back the pages that were read; they load again if a frame in them is asked for.

        A file that was cut shorter meanwhile is cut here too: touching its lost pages would kill
        the process.
        """
        size = os.fstat(self._file.fileno()).st_size
        if size < len(self.data):
            self.data = self.data[:size]
        passed = min(self.position, size) // RELEASE_BYTES * RELEASE_BYTES
        if passed > self._released:
            self._map.madvise(mmap.MADV_DONTNEED, self._released, passed - self._released)
            self._released = passed


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
    head = next(pieces, b"")
    while len(head) < MAGIC_BYTES and (piece := next(pieces, b"")):
        head += piece
    stream = chain([head], pieces)
    if head.startswith(GZIP_MAGIC):
        return StreamWindow(_gunzip(stream))
    if head.startswith(ZSTD_MAGICS):
        return StreamWindow(_unzstd(stream))
    if stat.S_ISREG(status.st_mode) and status.st_size and file.name != 0:
        return MappedWindow(file)
    return StreamWindow(stream)


def _pieces(file: FileIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece


def _gunzip(compressed: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip members; what precedes damage is given before StreamDamageError is raised."""
    state = zlib.decompressobj(wbits=31)
    for piece in compressed:
        rest, feed = piece, len(piece)
        while True:
            if state.eof:
                rest = rest.lstrip(b"\0")  # padding between and after members, as gzip allows
                if not rest:
                    break
                state = zlib.decompressobj(wbits=31)
            saved = state.copy()
            try:
                out = state.decompress(rest[:feed], INFLATE_BYTES)
            except zlib.error as error:
                # The step that meets the damage gives nothing, so it is repeated in smaller ones.
                if feed == 1:
                    raise StreamDamageError("file_corrupt") from error
                state, feed = saved, (feed + 1) // 2
                continue
            yield out
            rest = (state.unused_data if state.eof else state.unconsumed_tail) + rest[feed:]
            if not rest and len(out) < INFLATE_BYTES:
                break
    if not state.eof:
        raise StreamDamageError("file_truncated")


def _unzstd(compressed: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress zstd frames; StreamDamageError is raised where they are broken or cut."""
    state = zstandard.ZstdDecompressor().decompressobj()
    for piece in compressed:
        for at in range(0, len(piece), ZSTD_FEED_BYTES):
            feed = piece[at : at + ZSTD_FEED_BYTES]
            while feed:
                if state.eof:
                    state = zstandard.ZstdDecompressor().decompressobj()
                try:
                    yield state.decompress(feed)
                except zstandard.ZstdError as error:
                    raise StreamDamageError("file_corrupt") from error
                feed = state.unused_data if state.eof else b""
    if not state.eof:
        raise StreamDamageError("file_truncated")
