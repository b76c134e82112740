"""Capture: a file of frames, whatever its format, byte order and compression."""

import os
import stat
from collections.abc import Iterator
from io import FileIO
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from collector.arena import Arena
from collector.compression import COMPRESSED_MAGICS, MAGIC_BYTES, at_least, decompressed
from collector.follow import PIECE_BYTES, REPLACED, Follow, FollowedWindow, PipeWindow
from collector.frame import UNNAMED, Frames
from collector.index import CORRUPT, FULL, MORE, SMALLEST_RECORD, Index
from collector.loss import Loss
from collector.marks import inode_of
from collector.pcap import Pcap
from collector.pcapng import Pcapng
from collector.window import CaptureError, MappedWindow, StreamWindow, Window

FILE_REASONS: Final = {
    "file_truncated": "the file, or its compressed stream, ends inside a record",
    "file_corrupt": "reading ended at what cannot be a record, or cannot be decompressed",
    REPLACED: "the file was cut or replaced by another while it was followed",
    "file_unknown_interface": "a frame names an interface that its file does not describe",
}
"""Reasons why frames of a file are seen but not delivered, each with a sentence."""

STDIN: Final = "-"
HEAD_BYTES: Final = 24
"""Bytes that tell what a file is: a pcap header."""


class Reader(Protocol):
    """What a format gives: the names of its observation points, and an index of its frames."""

    points: list[str]
    unknown_interface: int
    """Frames passed over because they name no interface."""
    numbered: int
    """Records passed so far that hold no frame but take a number, as Wireshark counts."""

    def fill(self, window: Window, index: Index) -> int:
        """Index frames from the window's position on; FULL, MORE or CORRUPT says why it stopped."""


class Capture:
    """An open capture file: its frames are read once, from the first to the last."""

    live = False
    """Whether nobody can say if and when the next frame comes: it holds up no other source."""

    def __init__(
        self,
        path: str | Path,
        file: FileIO,
        window: Window,
        reader: Reader | None,
        follow: Follow,
    ) -> None:
        """Hold what `open_capture` found; no reader yet where a file is followed from its birth."""
        self.source = "stdin" if str(path) == STDIN else shown(Path(path).name)
        self.epoch = 0
        """A file has one life, which begins with its first frame: another one that has the same
        name begins at another time, and is no repeat of this one."""
        self.reasons: dict[str, int] = {}
        self.failed = ""
        """Why a followed file ended that was not told to, one sentence."""
        self.rotates = False
        """Whether others are read behind it anyway, also what has its name then."""
        self.losses: list[Loss] = []
        self.reached_ns: int | None = None
        self.last_ns: int | None = None
        """Time of the last frame that was delivered."""
        self.hole_ns: int | None = None
        """From when on frames before its first one are known to be lost; None: none are."""
        self.delivered = 0
        self.unnamed = UNNAMED
        """Name of the observation points that the file leaves without one."""
        self.inode = inode_of(os.fstat(file.fileno()))
        """What the file is known by, whatever its name."""
        self._path = path
        self._file = file
        self._window = window
        self._reader = reader
        self._follow = follow
        self._arena = Arena()

    @property
    def backlog(self) -> float:
        """See Source: a file has all the time, and a pipe no room."""
        return 1.0

    @property
    def points(self) -> list[str]:
        """Names of the observation points that `Frames.interface` numbers; grows while reading."""
        known = self._reader.points if self._reader else []
        return [self.unnamed if name == UNNAMED else name for name in known]

    @property
    def poll_s(self) -> float:
        """Seconds to wait before a run without frames is followed by another."""
        return self._follow.poll_s

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._file.closed

    def renamed(self, path: Path) -> None:
        """Go on in the same file by its new name; as a source it keeps the name that it had."""
        self._path, self._file.name = path, str(path)

    def stop(self) -> None:
        """End a file that is followed; what is there then is still read."""
        self._follow.stop.set()

    @property
    def seen(self) -> int:
        """Frames seen so far: those delivered and those that a reason counts."""
        return self.delivered + sum(self.reasons.values())

    def chunks(self, frames_per_chunk: int = 65536, *, wait: bool = True) -> Iterator[Frames]:
        """Give the frames in runs of at most `frames_per_chunk`; memory stays bounded by a run.

        A damaged file gives what precedes the damage, and the reason is counted in `reasons`.
        Frames keep their bytes after the capture is closed. A file that is followed gives what it
        has and waits for more; with `wait` false it gives a run without frames instead, after which
        the caller waits `poll_s` itself. Raises CaptureError when the system fails to read, and
        for a followed file that turns out to be no capture file.
        """
        if frames_per_chunk < 1:
            raise ValueError("frames_per_chunk must be 1 or more")
        stop = FULL
        while stop == FULL or (stop == MORE and not self._window.ended):
            frames, stop = self._run(frames_per_chunk)
            if len(frames):
                yield frames
            stop = self._advance(stop)
            if stop == MORE and not self._window.ended:
                if wait:
                    self._follow.stop.wait(self.poll_s)
                else:
                    yield frames.nothing()
        self._end(stop)

    def _run(self, frames_per_chunk: int) -> tuple[Frames, int]:
        """The frames that the window shows next, and why they are not more."""
        window, reader = self._window, self._reader
        if reader is None:
            reader = self._reader = _recognise(self._path, window)
        left = len(window.data) - window.position
        index = Index(max(min(frames_per_chunk, left // SMALLEST_RECORD + 1), 1), self._arena)
        if reader is None:
            return index.frames(window.data, 1), MORE
        stop = reader.fill(window, index)
        if reader.unknown_interface:
            self.reasons["file_unknown_interface"] = reader.unknown_interface
        first = self.delivered + reader.numbered + 1
        frames = index.frames(window.data, first)
        if not (self.live or self.delivered) and len(frames):
            self.epoch = int(frames.time_ns[0])
        if len(frames):
            if self.hole_ns is not None:
                self.losses.append(Loss(self.hole_ns, int(frames.time_ns[0])))
                self.hole_ns = None
            self.last_ns = int(frames.time_ns[-1])
        self.delivered += index.count
        return frames, stop

    def _advance(self, stop: int) -> int:
        """Move the window on; FULL when reading can go on, else why it stopped."""
        try:
            if stop == FULL:
                self._window.release()
            elif stop == MORE and not self._window.ended and self._window.more():
                return FULL
        except (OSError, ValueError) as error:
            raise _error(self._path, error) from error
        return stop

    def _end(self, stop: int) -> None:
        """Count why the file ended before its end, if it did. Raises CaptureError."""
        if self._reader is None:  # it was waited for a header that is not whole
            self._reader = _recognise(self._path, self._window)
        if stop == CORRUPT:
            self.reasons["file_corrupt"] = 1
        elif self._window.damage:
            self.reasons[self._window.damage] = 1
            if self._window.damage == REPLACED and not self.rotates:
                told = "was cut, or its name is another file's; begin again to read that"
                self.failed = f"{self.source} {told}"
        elif self._window.position != len(self._window.data):
            self.reasons["file_truncated"] = 1

    def close(self) -> None:
        """Close the file. Frames that were delivered stay readable."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_capture(path: str | Path, follow: Follow | None = None) -> Capture:
    """Open a pcap or pcapng file, plain or compressed by gzip, zstd or lz4; "-" is stdin.

    What it is is told by its first bytes, never by its name. With `follow` a plain file is read as
    it grows, and may be empty yet; a pipe always is. Raises CaptureError, one sentence that begins
    with the path, when it cannot be opened or is no capture file.
    """
    try:
        file = FileIO(0, closefd=False) if str(path) == STDIN else FileIO(path)
    except (OSError, ValueError) as error:
        raise _error(path, error) from error
    try:
        window = _look_into(file, follow)
        reader = _recognise(path, window)
    except (OSError, ValueError) as error:
        file.close()
        raise _error(path, error) from error
    except CaptureError:
        file.close()
        raise
    return Capture(path, file, window, reader, follow or Follow())


def _look_into(file: FileIO, follow: Follow | None) -> Window:
    """Show a file: mapped when it is plain and on a disk, else decompressed by its magic.

    The file must be open at its beginning. Raises OSError.
    """
    status = os.fstat(file.fileno())
    plain = stat.S_ISREG(status.st_mode)
    if plain and follow is not None:
        return FollowedWindow(file, follow)
    pieces = _pieces(file)
    head = at_least(MAGIC_BYTES, b"", pieces)
    if (unpacked := decompressed(head, pieces)) is not None:
        return StreamWindow(unpacked)
    if not plain:
        return PipeWindow(head, file, follow or Follow())
    if status.st_size and file.name != 0:
        return MappedWindow(file)
    return StreamWindow(chain([head], pieces))


def _pieces(file: FileIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece


def _recognise(path: str | Path, window: Window) -> Reader | None:
    """Find the format of what a window shows; None when it does not show enough of it yet.

    Raises CaptureError.
    """
    try:
        while len(window.data) < HEAD_BYTES and not window.ended and window.more():
            pass
        if len(window.data) < HEAD_BYTES and not window.ended:
            return None
        reader = Pcap.recognise(window) or Pcapng.recognise(window)
    except (OSError, ValueError) as error:
        raise _error(path, error) from error
    if reader is None and (sentence := _foreign(window)):
        raise CaptureError(f"{path}: {sentence}")
    return reader


def _foreign(window: Window) -> str:
    """Why a window shows no capture file; empty for a followed file that stayed so."""
    head = window.data[:MAGIC_BYTES].tobytes()
    if isinstance(window, FollowedWindow):
        if not head:
            return ""
        if head.startswith(COMPRESSED_MAGICS):
            return "a compressed file cannot be followed"
    if not head:
        return "cannot be decompressed" if window.damage else "empty file"
    return f"not a capture file (first bytes {head.hex()})"


def shown(path: str | Path) -> str:
    """A path as text that can be written: octets that are no UTF-8 as their numbers."""
    return str(path).encode(errors="surrogateescape").decode(errors="backslashreplace")


def _error(path: str | Path, error: OSError | ValueError) -> CaptureError:
    sentence = error.strerror if isinstance(error, OSError) else str(error)
    return CaptureError(f"{shown(path)}: {(sentence or 'cannot be read').lower()}")
