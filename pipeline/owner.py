"""Who has an embedded store open: one process, found by the others through a file beside it.

The owner keeps `<store>.owner.json` (mode 0600) locked for as long as it lives. The lock, which the
kernel drops however a process ends, says whether the owner lives; the JSON inside says where to ask
it. So a file that a dead process left is simply taken over, and a reused process number fools
nobody.
"""

import fcntl
import json
import os
import socket
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from pipeline.store_error import StoreError

STATUS = "status"
"""The file that an embedded engine holds while it has a store open."""
MAX_SOCKET_PATH = 100
"""Longest path of a Unix socket that is used, bytes; the kernel's own limit is 107."""
READ_ATTEMPTS = 20
READ_PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that has an embedded store open, and where it answers.

    `url` is its HTTP address and `socket` its Unix socket; both are None while it does not serve.
    `started` is when it opened the store (RFC 3339, UTC).
    """

    pid: int
    url: str | None
    socket: str | None
    started: str


class StoreOwned(StoreError):  # noqa: N818 - a state of the store, not a fault
    """The embedded store at `path` is open already; `owner` says in which process."""

    def __init__(self, path: Path, owner: Owner) -> None:
        super().__init__(f"the store {path} is open in process {owner.pid} since {owner.started}")
        self.path = path
        self.owner = owner


def writable(path: Path) -> None:
    """Raises StoreError where the engine could not write, which says so in ways of its own."""
    own, temporary = path / STATUS, Path(os.environ.get("TMPDIR") or path)
    shut = path.is_dir() and not os.access(path, os.W_OK | os.X_OK)
    if shut or (own.exists() and not os.access(own, os.W_OK)):
        raise StoreError(f"{path} can be no store: this user may not write there")
    if temporary.is_dir() and not os.access(temporary, os.W_OK | os.X_OK):
        raise StoreError(f"TMPDIR names {temporary}, where this user may not write; a store must")


class Ownership:
    """The right to open one embedded store, held until `release` or the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Made by `claim`."""
        self.path = path
        self.owner = Owner(os.getpid(), None, None, datetime.now(UTC).isoformat(timespec="seconds"))
        self._descriptor = descriptor
        self._directory: Path | None = None
        self._write()

    @classmethod
    def claim(cls, path: Path) -> Self:
        """Become the owner of the store at `path`.

        Raises StoreOwned while another process is, StoreError when the file, or the store, cannot
        be written.
        """
        writable(path)
        place = owner_file(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            while True:
                descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
                if _lock(descriptor, fcntl.LOCK_EX) and _stands(descriptor, place):
                    return cls(path, descriptor)
                os.close(descriptor)
                if (owner := read_owner(path)) is not None:
                    raise StoreOwned(path, owner)
        except OSError as error:
            raise StoreError(f"the store {path} cannot be opened: {error.strerror}") from error

    def announce(self, url: str | None, unix_socket: str | None) -> None:
        """Tell other processes where this one answers."""
        self.owner = replace(self.owner, url=url, socket=unix_socket)
        self._write()

    def listen(self) -> socket.socket:
        """A Unix socket bound beside the store, which only this user can connect to (mode 0600).

        When its path would be too long it stands in a new private directory instead. The caller
        serves on it and then calls `announce` with `listener.getsockname()`.
        """
        place = Path(f"{self.path}.sock")
        if len(os.fsencode(place)) > MAX_SOCKET_PATH:
            self._directory = Path(tempfile.mkdtemp(prefix="hopsight-"))
            place = self._directory / "store.sock"
        place.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        try:
            listener.bind(str(place))
        except OSError as error:
            listener.close()
            raise StoreError(f"no Unix socket can be made at {place}: {error.strerror}") from error
        finally:
            os.umask(mask)
        return listener

    def release(self) -> None:
        """Give the store up; may be called again."""
        if self._descriptor < 0:
            return
        for leftover in (Path(f"{self.path}.sock"), owner_file(self.path)):
            leftover.unlink(missing_ok=True)
        if self._directory is not None:
            (self._directory / "store.sock").unlink(missing_ok=True)
            self._directory.rmdir()
        os.close(self._descriptor)
        self._descriptor = -1

    def _write(self) -> None:
        """Write the file in place: a new file would not carry the lock."""
        text = json.dumps(asdict(self.owner)).encode() + b"\n"
        os.pwrite(self._descriptor, text, 0)
        os.ftruncate(self._descriptor, len(text))


def owner_file(path: Path) -> Path:
    """The file beside the store at `path` that names its owner."""
    return Path(f"{path}.owner.json")


def read_owner(path: Path) -> Owner | None:
    """The living owner of the store at `path`, or None when no process has it open.

    Raises StoreError when there is an owner whose file cannot be read.
    """
    for _ in range(READ_ATTEMPTS):
        try:
            descriptor = os.open(owner_file(path), os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{owner_file(path)} cannot be read: {error.strerror}") from error
        try:
            if _lock(descriptor, fcntl.LOCK_SH):
                return None
            return Owner(**json.loads(os.pread(descriptor, 65_536, 0)))
        except (ValueError, TypeError):
            time.sleep(READ_PAUSE_S)  # it is being written right now
        finally:
            os.close(descriptor)
    raise StoreError(f"the store {path} is open, but {owner_file(path)} cannot be read")


def _lock(descriptor: int, kind: int) -> bool:
    """Lock an open owner file, unless a living owner holds it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stands(descriptor: int, place: Path) -> bool:
    """Whether the open file still stands at `place`: an owner removes it as it ends."""
    try:
        here = place.lstat()
    except FileNotFoundError:
        return False
    return here.st_ino == os.fstat(descriptor).st_ino
