"""Window: the part of a capture file that is in memory now, mapped or read."""

import mmap
import os
from collections.abc import Iterable, Iterator
from io import FileIO
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from collector.compression import StreamDamageError

WINDOW_BYTES: Final = 32 << 20
"""Bytes of a stream that are taken into memory at a time (more only when one record is larger)."""

SHOWN_BYTES: Final = 128 << 20
"""Bytes of a mapped file that a run of frames can lie in (more only when one record is larger)."""

RELEASE_BYTES: Final = 32 << 20
"""Bytes of a mapped file that are given back at a time; whole pages on every machine."""


class CaptureError(Exception):
    """A capture file that cannot be read at all: one sentence that begins with its path."""


class LiveError(CaptureError):
    """A live source that is not to be had: no such interface, program, port or right.

    `asked`: what was asked for is no capture filter.
    """

    def __init__(self, sentence: str, *, asked: bool = False) -> None:
        super().__init__(sentence)
        self.asked = asked


class Window(Protocol):
    """What a reader sees of a file: bytes, and how far it has read them."""

    data: NDArray[np.uint8]
    """The bytes in memory, read only."""
    position: int
    """First byte of `data` that is not read yet."""
    damage: str
    """Why the file ended before its end, or an empty string."""
    ended: bool
    """Nothing follows, now or later; known when `more` has found nothing."""

    def more(self) -> bool:
        """Replace `data` by what is not read yet and what follows; False when nothing does now."""

    def release(self) -> None:
        """Say, where more can be read, that what lies before `position` is not needed soon."""


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
        self.ended = False

    def more(self) -> bool:
        """Show the next bytes behind those that are shown."""
        shown = len(self.data)
        self._give_back()
        self._show(shown + SHOWN_BYTES)
        self.ended = len(self.data) <= shown
        return not self.ended

    def release(self) -> None:
        """Give back the pages that were read; they load again if a frame in them is asked for.

        As many bytes as before are shown behind the position, so that runs of frames stay long.
        """
        self._show(max(self.position + SHOWN_BYTES, len(self.data)))
        self._give_back()

    def _give_back(self) -> None:
        """Give back the pages before the position."""
        passed = min(self.position, len(self.data)) // RELEASE_BYTES * RELEASE_BYTES
        if passed > self._released:
            self._map.madvise(mmap.MADV_DONTNEED, self._released, passed - self._released)
            self._released = passed

    def _show(self, end: int) -> None:
        """Show the file up to `end`.

        A file that was cut shorter meanwhile is cut here too: touching its lost pages would kill
        the process.
        """
        self.data = self._whole[: min(end, os.fstat(self._file.fileno()).st_size)]


class RunWindow:
    """A bounded run of a stream; each run is a buffer of its own that frames may keep."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.data: NDArray[np.uint8] = np.empty(0, np.uint8)
        self.position = 0
        self.damage = ""
        self.ended = False

    def join(self, parts: Iterable[bytes]) -> bool:
        """Put `parts` behind what is not read yet; False when there are none."""
        left = self.data[self.position :]
        octets = b"".join((left.tobytes(), *parts))
        if len(octets) == len(left):
            return False
        self.data = np.frombuffer(octets, np.uint8)
        self.position = 0
        return True

    def release(self) -> None:
        """Nothing to do: a buffer goes when the last frames in it go."""


class StreamWindow(RunWindow):
    """A stream of pieces that ends, such as a file that is decompressed."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        """Read nothing yet."""
        super().__init__()
        self._pieces = pieces

    def more(self) -> bool:
        """Take the next pieces in behind what is not read yet. Raises OSError."""
        parts = []
        size = 0
        try:
            while size < WINDOW_BYTES:
                parts.append(next(self._pieces))
                size += len(parts[-1])
        except StopIteration:
            pass
        except StreamDamageError as damage:
            self.damage = str(damage)
        self.ended = not self.join(parts)
        return not self.ended
