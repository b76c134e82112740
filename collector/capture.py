"""Capture: a file of frames, whatever its format, byte order and compression."""

from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from collector.frame import Frames
from collector.index import CORRUPT, FULL, MORE, SMALLEST_RECORD, Index
from collector.pcap import Pcap
from collector.pcapng import Pcapng
from collector.window import CaptureError, Window, open_window

FILE_REASONS: Final = {
    "file_truncated": "the file, or its compressed stream, ends inside a record",
    "file_corrupt": "reading ended at what cannot be a record, or cannot be decompressed",
    "file_unknown_interface": "a frame names an interface that its file does not describe",
}
"""Reasons why frames of a file are seen but not delivered, each with a sentence."""

STDIN: Final = "-"
HEAD_BYTES: Final = 28
"""Bytes that tell what a file is: a section header without options, more than a pcap header."""


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

    def __init__(self, path: str | Path, file: FileIO, window: Window, reader: Reader) -> None:
        """Hold what `open_capture` found."""
        self.source = "stdin" if str(path) == STDIN else Path(path).name
        self.reasons: dict[str, int] = {}
        self.delivered = 0
        self._path = path
        self._file = file
        self._window = window
        self._reader = reader

    @property
    def points(self) -> list[str]:
        """Names of the observation points that `Frames.interface` numbers; grows while reading."""
        return self._reader.points

    @property
    def seen(self) -> int:
        """Frames seen so far: those delivered and those that a reason counts."""
        return self.delivered + sum(self.reasons.values())

    def chunks(self, frames_per_chunk: int = 65536) -> Iterator[Frames]:
        """Give the frames in runs of at most `frames_per_chunk`; memory stays bounded by a run.

        A damaged file gives what precedes the damage, and the reason is counted in `reasons`.
        Frames keep their bytes after the capture is closed. Raises CaptureError when the system
        fails to read.
        """
        if frames_per_chunk < 1:
            raise ValueError("frames_per_chunk must be 1 or more")
        stop = FULL
        while stop == FULL:
            left = len(self._window.data) - self._window.position
            index = Index(max(min(frames_per_chunk, left // SMALLEST_RECORD + 1), 1))
            stop = self._reader.fill(self._window, index)
            if self._reader.unknown_interface:
                self.reasons["file_unknown_interface"] = self._reader.unknown_interface
            if index.count:
                first = self.delivered + self._reader.numbered + 1
                self.delivered += index.count
                yield index.frames(self._window.data, first)
            stop = self._advance(stop)
        self._end(stop)

    def _advance(self, stop: int) -> int:
        """Move the window on; FULL when reading can go on, else why it stopped."""
        try:
            self._window.release()
            return FULL if stop == MORE and self._window.more() else stop
        except (OSError, ValueError) as error:
            raise _error(self._path, error) from error

    def _end(self, stop: int) -> None:
        """Count why the file ended before its end, if it did."""
        if stop == CORRUPT:
            self.reasons["file_corrupt"] = 1
        elif self._window.damage:
            self.reasons[self._window.damage] = 1
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


def open_capture(path: str | Path) -> Capture:
    """Open a pcap or pcapng file, plain or compressed by gzip, zstd or lz4; "-" is stdin.

    What it is is told by its first bytes, never by its name. Raises CaptureError, one sentence that
    begins with the path, when it cannot be opened or is no capture file.
    """
    try:
        file = FileIO(0, closefd=False) if str(path) == STDIN else FileIO(path)
    except (OSError, ValueError) as error:
        raise _error(path, error) from error
    try:
        window = open_window(file)
        reader = _recognise(path, window)
    except (OSError, ValueError) as error:
        file.close()
        raise _error(path, error) from error
    except CaptureError:
        file.close()
        raise
    return Capture(path, file, window, reader)


def tell_apart(captures: Iterable[Capture]) -> None:
    """Give captures of one file name sources of their own: `x.pcap`, then `x.pcap (2)`."""
    taken: set[str] = set()
    for capture in captures:
        name, again = capture.source, 1
        while capture.source in taken:
            again += 1
            capture.source = f"{name} ({again})"
        taken.add(capture.source)


def _recognise(path: str | Path, window: Window) -> Reader:
    """Find the format of what a window shows."""
    while len(window.data) < HEAD_BYTES and window.more():
        pass
    if not len(window.data):
        if window.damage:
            raise CaptureError(f"{path}: cannot be decompressed")
        raise CaptureError(f"{path}: empty file")
    reader = Pcap.recognise(window) or Pcapng.recognise(window)
    if reader is None:
        head = window.data[:4].tobytes().hex()
        raise CaptureError(f"{path}: not a capture file (first bytes {head})")
    return reader


def _error(path: str | Path, error: OSError | ValueError) -> CaptureError:
    sentence = error.strerror if isinstance(error, OSError) else str(error)
    return CaptureError(f"{path}: {(sentence or 'cannot be read').lower()}")
