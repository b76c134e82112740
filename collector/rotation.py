"""Rotation: a directory in which a capture begins a new file now and then.

Files are taken in the order of their names, numbers in them counted as numbers. The newest is
followed while it grows; when a newer one is there, the one before it has ended.
"""

import re
import threading
from pathlib import Path
from typing import Final

from collector.capture import Capture, open_capture
from collector.follow import Follow
from collector.window import CaptureError

UNREADABLE: Final = "file_unreadable"
ROTATION_REASONS: Final = {
    UNREADABLE: "a file of a rotating directory that cannot be read, or was gone too soon"
}
"""Reason why frames of a directory are not delivered, with a sentence. It counts files."""
POLL_S: Final = 0.2


class Rotation:
    """A directory whose files are read one after the other.

    `endless`: files that arrive later are read too, until it is told to stop. `point` names the
    observation points that files leave without a name; none: the directory does.
    """

    def __init__(self, directory: Path, *, endless: bool = True, point: str | None = None) -> None:
        """Look at nothing yet. Raises CaptureError when it is no directory."""
        if not directory.is_dir():
            raise CaptureError(f"{directory}: no directory")
        self.directory = directory
        self.reasons: dict[str, int] = {}
        self.poll_s = POLL_S
        self._endless = endless
        self._passed: tuple[object, ...] = ()
        self._refused: set[str] = set()
        self._point = point
        self._open: Capture | None = None
        self._path: Path | None = None
        self._stopped = threading.Event()

    @property
    def ended(self) -> bool:
        """Whether no file will be opened any more."""
        over = self._stopped.is_set() or not (self._endless or self._waiting())
        return over and (self._open is None or self._open.closed)

    def next_file(self) -> Capture | None:
        """The next file, opened, once the one before it has ended and was closed.

        The one before it ends with what is in it as soon as there is another.
        """
        if self._open is not None and not self._open.closed:
            if not self._endless or self._waiting():
                self._open.stop()
            return None
        self._pass()
        for path in () if self._stopped.is_set() else self._waiting():
            try:
                follow = Follow(poll_s=POLL_S) if self._endless else None
                self._open = open_capture(path, follow)
            except CaptureError:
                self.reasons[UNREADABLE] = self.reasons.get(UNREADABLE, 0) + 1
                self._refused.add(path.name)
                continue
            self._path = path
            self._open.source = f"{self.directory.name}/{path.name}"
            self._open.unnamed = self._point or self.directory.name
            if self._stopped.is_set():
                self._open.stop()
            return self._open
        return None

    def _pass(self) -> None:
        """Go past a file that has ended; one that gave no frame is passed by itself alone.

        It may be none of the capture's, whose names say nothing of the others'.
        """
        if self._open is None or self._path is None:
            return
        if UNREADABLE in self._open.reasons or not self._open.delivered:
            self._refused.add(self._path.name)
        else:
            self._passed = max(self._passed, order(self._path))
        self._path = None

    def _waiting(self) -> list[Path]:
        """Files that were not opened yet, in order."""
        try:
            there = [path for path in self.directory.iterdir() if not path.name.startswith(".")]
        except OSError as error:
            raise CaptureError(f"{self.directory}: {(error.strerror or '').lower()}") from error
        self._refused &= {path.name for path in there}
        known = self._refused | ({self._path.name} if self._path else set())
        new = (p for p in there if p.name not in known and order(p) > self._passed)
        return sorted((path for path in new if path.is_file()), key=order)

    def stop(self) -> None:
        """Open no further file; the newest one ends with what is in it."""
        self._stopped.set()
        if self._open is not None:
            self._open.stop()


def order(path: Path) -> tuple[object, ...]:
    """The name as a key to sort by: text, and numbers as numbers, in turn."""
    parts = re.split(r"(\d+)", path.name)
    return tuple(int(part) if part.isdecimal() else part for part in parts)
