"""Ring: files that dumpcap writes one after the other, the oldest giving way, read as they grow.

Into a pipe dumpcap writes each frame by itself; into a file it writes many at once, which spares
both sides a third of the time. A file does not make dumpcap wait: what is not read before it gives
way is lost, and counted when dumpcap tells how many frames it had. A dumpcap whose
reader was killed ends when it tells of its next file; the files go with the next reader.
"""

import contextlib
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from errno import ENOSPC
from io import FileIO
from pathlib import Path
from typing import Final

from collector import window
from collector.follow import PIECE_BYTES, Follow
from collector.window import RunWindow
from collector.writable import unwritable

FILES: Final = 64
"""Files of a ring: dumpcap writes into one while those before it are read."""
FILE_S: Final = 5
"""Seconds after which another file is begun though the one before it is not full: so soon a
dumpcap that nobody hears any more ends. Of few frames a ring holds those of so many seconds a file,
more than five minutes."""
NUMBERS: Final = 100_000
"""Numbers that dumpcap gives its files, before it begins again from 0."""
OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
LOCK: Final = "lock"
SUFFIX: Final = ".pcapng"
NAMED: Final = re.compile(r"\d{19}_\d{5}_\d{14}\.pcapng")
"""Files of rings: when it began, in ns since 1970, then what dumpcap adds."""
MIB: Final = 1 << 20
KB: Final = 1000
"""What sizes are told to dumpcap in."""


def check_ring(directory: Path, mib: int) -> None:
    """Raise OSError where no ring could be; nothing is made or taken.

    PermissionError says that other people can change what is in the directory, or exchange it. It
    is one's own, if it is there. Above it directories of the system will do in which people have
    files beside each other.
    """
    above = directory.parent.resolve()
    places = [each for each in (above, *above.parents) if each.exists()]
    if os.path.lexists(directory):
        told = directory.lstat()
        if not stat.S_ISDIR(told.st_mode) or told.st_uid != os.geteuid() or told.st_mode & OTHERS:
            raise PermissionError(f"{directory} has to be a directory that is yours alone")
    for each in places:
        held = each.stat()
        shared = held.st_mode & OTHERS and not held.st_mode & stat.S_ISVTX
        if held.st_uid not in {0, os.geteuid()} or shared:
            raise PermissionError(f"{each} is one that other people can change")
    if said := unwritable(directory):
        raise OSError(said)
    free_mib = shutil.disk_usage(places[0]).free // MIB
    if free_mib < mib:
        raise OSError(ENOSPC, f"{free_mib} MiB are free and {mib} wanted (collector.ring_mib)")


def ring_refusal(rings: Path, mib: int) -> str:
    """Why an interface's ring could not be kept in a directory of rings; empty: it could.

    What rings hold there now is room for them.
    """
    held = 0
    for path in rings.glob(f"*/*{SUFFIX}"):
        with contextlib.suppress(FileNotFoundError):  # it has just given way
            held += path.stat().st_size if NAMED.fullmatch(path.name) else 0
    try:
        check_ring(rings / "interface", mib - held // MIB)
    except OSError as error:
        return reason(error)
    return ""


def reason(error: OSError) -> str:
    """What the system, or `check_ring`, says of a place."""
    why = error.strerror or str(error)
    return f"{why[0].lower()}{why[1:]}"


class Ring:
    """The directory of a ring, which one process has."""

    def __init__(self, directory: Path, mib: int) -> None:
        """Take the directory, and take out what an earlier process left there.

        Raises OSError, PermissionError where other people could put something there.
        """
        check_ring(directory, mib)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_ring(directory, mib)  # somebody may have been quicker
        flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        self.lock = FileIO(os.open(directory / LOCK, flags, 0o600), "r+")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.lock.close()
            raise
        self._directory = directory
        self._name = str(time.time_ns())
        self._file_kb = mib * MIB // KB // FILES
        self.empty()

    @property
    def words(self) -> list[str]:
        """How dumpcap is told of it."""
        bounds = f"filesize:{self._file_kb}", f"files:{FILES}", f"duration:{FILE_S}"
        path = self._directory / f"{self._name}{SUFFIX}"
        return ["-w", str(path), *(word for bound in bounds for word in ("-b", bound))]

    def after(self, number: int) -> tuple[int, Path] | None:
        """The next file behind the one of a number, whose own may differ by more than 1."""
        return min(self._later(number).items(), default=None)

    def behind(self, number: int) -> int:
        """Files behind the one of a number, those that gave way too."""
        return max(self._later(number), default=0)

    def _later(self, number: int) -> dict[int, Path]:
        """Files that were begun after the one of a number, by how many numbers later."""
        found = {}
        for path in self._directory.glob(f"{self._name}_*{SUFFIX}"):
            ahead = (int(path.name.split("_")[1]) - number) % NUMBERS
            if 0 < ahead < NUMBERS // 2:
                found[ahead] = path
        return found

    def empty(self) -> None:
        """Take all files out that a ring has had here, and no others."""
        for path in self._directory.iterdir():
            if NAMED.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave nothing behind; may be called again."""
        if self.lock.closed:
            return
        self.empty()
        with contextlib.suppress(OSError):  # somebody else keeps something there
            (self._directory / LOCK).unlink()
            self._directory.rmdir()
        self.lock.close()


class RingWindow(RunWindow):
    """The files of a ring as one stream: what has come in one poll interval at a time.

    `over` tells whether their writer has ended.
    """

    def __init__(self, ring: Ring, follow: Follow, over: Callable[[], bool]) -> None:
        """Read nothing yet."""
        super().__init__()
        self.missed = 0
        """Files that gave way before they were read."""
        self._ring = ring
        self._follow = follow
        self._over = over
        self._number = 0
        self._file: int | None = None

    @property
    def backlog(self) -> float:
        """Share of the ring that was begun behind the file that is read; 1: it gives way next."""
        return min(self._ring.behind(self._number) / (FILES - 1), 1.0)

    def more(self) -> bool:
        """Gather for a poll interval, less when the window is full. Raises OSError."""
        return self.join(self._pieces(time.monotonic() + self._follow.poll_s))

    def _pieces(self, until: float) -> Iterator[bytes]:
        size = 0
        while size < window.WINDOW_BYTES and not self.ended:
            # Both are asked before the file is read to its end: behind that nothing comes then.
            over, later = self._over(), self._ring.after(self._number)
            while size < window.WINDOW_BYTES and (piece := self._piece()):
                size += len(piece)
                yield piece
            if size >= window.WINDOW_BYTES:
                return
            if later is not None:
                self._turn(*later)
            elif over:
                self.ended = True
            elif (left := until - time.monotonic()) > 0:
                time.sleep(left)
            else:
                return

    def _piece(self) -> bytes:
        return b"" if self._file is None else os.read(self._file, PIECE_BYTES)

    def _turn(self, ahead: int, path: Path) -> None:
        """Go on with a later file; one that has just given way is passed over at the next look."""
        with contextlib.suppress(FileNotFoundError):
            opened = os.open(path, os.O_RDONLY)
            self._leave()
            self._file = opened
            self._number = (self._number + ahead) % NUMBERS
            self.missed += ahead - 1

    def close(self) -> None:
        """Read no more, and give the ring up."""
        self._leave()
        self._ring.close()

    def _leave(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
