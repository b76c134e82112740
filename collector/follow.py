"""Follow: a file that grows, or a pipe, read as its bytes come."""

import math
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Final

from collector import window
from collector.readable import readable
from collector.window import RunWindow

PIECE_BYTES: Final = 1 << 20
"""Bytes asked of the operating system at a time."""
REPLACED: Final = "file_replaced"
"""Damage of a file that was cut, or gave its name to another, while it was followed."""


@dataclass(frozen=True, slots=True)
class Follow:
    """How a file that grows is followed, and when that ends: what is there then is still read."""

    poll_s: float = 0.2
    """Seconds between two looks at a file that has not grown; so late can its frames be."""
    idle_s: float = math.inf
    """Seconds without growth after which the file has ended."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set it, from any thread, to end."""

    def over(self, grown_at: float) -> bool:
        """Whether to end, when the last growth was seen at `grown_at` of the monotonic clock."""
        return self.stop.is_set() or time.monotonic() - grown_at >= self.idle_s


class FollowedWindow(RunWindow):
    """A plain file that another process writes to. It is never mapped: it may shrink."""

    def __init__(self, file: FileIO, follow: Follow) -> None:
        """Read nothing yet; the file may be empty."""
        super().__init__()
        self._file = file
        self._follow = follow
        self._read = 0
        self._limit: int | None = None
        self._moved = False
        self._grown_at = time.monotonic()

    def more(self) -> bool:
        """Take in what the file has grown by since. Raises OSError or ValueError."""
        size = os.fstat(self._file.fileno()).st_size
        if size < self._read:
            self.damage, self.ended = REPLACED, True
            return False
        if self._limit is None and self._follow.over(self._grown_at):
            self._limit = size
        limit = window.WINDOW_BYTES if self._limit is None else self._limit - self._read
        if self.join(self._pieces(min(limit, window.WINDOW_BYTES))):
            self._grown_at, self._moved = time.monotonic(), False
            return True
        self._judge()
        return False

    def _pieces(self, size: int) -> Iterator[bytes]:
        """What the file holds behind what was read, at most `size` bytes."""
        while size > 0:
            piece = os.pread(self._file.fileno(), min(size, PIECE_BYTES), self._read)
            if not piece:
                break
            self._read += len(piece)
            size -= len(piece)
            yield piece

    def _judge(self) -> None:
        """Decide whether a file that has not grown has ended.

        A file whose name leads elsewhere is rotated away; its writer may be a little late to know.
        """
        moved = not self._named()
        if self._limit is not None:
            self.ended = True
        elif moved and self._moved:
            self.damage, self.ended = REPLACED, True
        self._moved = moved

    def _named(self) -> bool:
        """Whether the name still leads to this file; the standard input has none to lose."""
        name = self._file.name
        if not isinstance(name, (str, Path)):
            return True
        try:
            return os.path.samestat(Path(name).stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False


class PipeWindow(RunWindow):
    """A pipe, whose frames are given as they come: what has come in one poll interval at a time."""

    def __init__(self, head: bytes, file: FileIO, follow: Follow) -> None:
        """Begin with what was read of it already."""
        super().__init__()
        self._file = file
        self._follow = follow
        self._grown_at = time.monotonic()
        self.join([head])

    def more(self) -> bool:
        """Gather for a poll interval, less when the window is full. Raises OSError."""
        over = self._follow.over(self._grown_at)
        parts = list(self._pieces(time.monotonic() + (0 if over else self._follow.poll_s)))
        grown = self.join(parts)
        if grown:
            self._grown_at = time.monotonic()
        self.ended = over or b"" in parts  # the end of a pipe reads as an empty piece
        return grown

    def _pieces(self, until: float) -> Iterator[bytes]:
        """What comes until then; an empty piece when the pipe has ended."""
        size = 0
        while size < window.WINDOW_BYTES:
            left = max(until - time.monotonic(), 0)
            if not readable(self._file, left):
                break
            piece = self._file.read(PIECE_BYTES)
            if piece is None:  # it does not wait, and another reader was faster
                continue
            size += len(piece)
            yield piece
            if not piece:
                break
