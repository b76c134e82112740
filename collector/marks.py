"""Marks: files of a directory that were read, known again also by another name.

A file keeps its inode when it is renamed, and the system gives the inode of a deleted file to the
next one: so the first octets and the last are compared, too.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

HEAD_BYTES: Final = 1024
"""By so many first bytes a file that was written anew is told from one that grew: the time of its
first frame is among them."""
TAIL_BYTES: Final = 4096
"""By so many bytes before its end a file is known that has another name now."""
PACKED: Final = (".gz", ".zst", ".lz4", ".xz", ".bz2")
"""How names go on where a file was compressed."""
GONE: Final = 1024
"""Names that are remembered of files that are not there any more."""
Inode = tuple[int, int]


class Since(Enum):
    """What became of a file that had been read."""

    SAME, RENEWED, GROWN = range(3)
    """As it was, or shorter; written anew; written on."""


class Mark(NamedTuple):
    """A file as it was when it had been read."""

    inode: Inode
    written_ns: int
    octets: int
    head: bytes | None
    """Its first bytes; None where it gave no frame: whatever is written to it then is new."""
    tail: bytes
    """Digest of its last bytes."""
    told: bool = False
    """Whether it was counted that it grew."""

    @classmethod
    def of(cls, path: Path, *, gave: bool) -> "Mark":
        """A file as it is. Raises OSError."""
        status = path.stat()
        head = head_of(path) if gave else None
        tail = tail_of(path, status.st_size) if gave else b""
        return cls(inode_of(status), status.st_mtime_ns, status.st_size, head, tail)

    def since(self, path: Path, status: os.stat_result) -> Since:
        """What became of the file since."""
        if status.st_mtime_ns == self.written_ns:
            return Since.SAME
        try:
            if self.head is None or not head_of(path).startswith(self.head):
                return Since.RENEWED
        except OSError:  # gone meanwhile, or not to be read: nothing to open
            return Since.SAME
        return Since.GROWN if status.st_size > self.octets and not self.told else Since.SAME

    def same(self, path: Path, status: os.stat_result) -> bool:
        """Whether a file that has this inode is the one that was read, and no later one."""
        if (status.st_mtime_ns, status.st_size) == (self.written_ns, self.octets):
            return True
        if self.head is None or status.st_size < self.octets:
            return False
        with suppress(OSError):
            begins = head_of(path).startswith(self.head)
            return begins and tail_of(path, self.octets) == self.tail
        return False


class Marks:
    """Files that were read, by the names that they have now."""

    def __init__(self) -> None:
        self._here: dict[str, Mark] = {}
        self._gone: dict[str, Mark | None] = {}
        """Files that had these names last; None: it was gone before it could be looked at."""
        self._found: dict[str, os.stat_result] = {}

    def put(self, path: Path, *, gave: bool) -> None:
        """Remember that a file was read."""
        try:
            self._here[path.name] = Mark.of(path, gave=gave)
        except OSError:
            self._gone[path.name] = None

    def grown(self, name: str) -> None:
        """Remember that it was told that a file grew."""
        self._here[name] = self._here[name]._replace(told=True)

    def look(self, there: Iterable[Path]) -> None:
        """Follow files to the names that they have now, among all that are there."""
        paths = {path.name: path for path in there}
        self._found = {}
        for name, path in paths.items():
            with suppress(OSError):  # gone meanwhile
                self._found[name] = path.stat()
        inodes = {inode_of(status) for status in self._found.values()}
        marks = [mark for mark in (*self._gone.values(), *self._here.values()) if mark is not None]
        known = {mark.inode: mark for mark in marks}
        here: dict[str, Mark] = {}
        for name, status in self._found.items():
            mark, inode = self._here.get(name), inode_of(status)
            if mark is None or mark.inode != inode:
                # The file that had this name may have another one; then this is no part of it.
                mark = None if mark is None or mark.inode in inodes else mark
                other = known.get(inode)
                if other is not None and other.same(paths[name], status):
                    mark = other
            if mark is not None:
                here[name] = mark
        self._forget(here)

    def _forget(self, here: dict[str, Mark]) -> None:
        """Keep the marks of names that are there, and of the latest that are not."""
        for name, mark in self._here.items():
            if name not in here:
                self._gone.pop(name, None)
                self._gone[name] = mark
        for name in [name for name in self._gone if name in self._found]:
            del self._gone[name]
        for name in [*self._gone][: max(len(self._gone) - GONE, 0)]:
            del self._gone[name]
        self._here = here

    def since(self, path: Path) -> Since | None:
        """What became of a file since it was read; None: it was not."""
        mark, status = self._here.get(path.name), self._found.get(path.name)
        return None if mark is None or status is None else mark.since(path, status)

    def packed(self, path: Path) -> bool:
        """Whether a file has what one that was read had, compressed."""
        plain = path.name.removesuffix(path.suffix)
        return path.suffix in PACKED and (plain in self._here or plain in self._gone)

    def regular(self, path: Path) -> bool:
        """Whether it was found as a file, and no directory or pipe."""
        status = self._found.get(path.name)
        return status is not None and stat.S_ISREG(status.st_mode)


def inode_of(status: os.stat_result) -> Inode:
    """What a file is known by on this machine, whatever its name."""
    return status.st_dev, status.st_ino


def head_of(path: Path) -> bytes:
    """The first bytes of a file. Raises OSError."""
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def tail_of(path: Path, octets: int) -> bytes:
    """Digest of the bytes before so many octets. Raises OSError."""
    with FileIO(path) as file:
        begin = max(octets - TAIL_BYTES, 0)
        return blake2b(os.pread(file.fileno(), octets - begin, begin), digest_size=16).digest()
