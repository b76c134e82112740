"""A file that is there whole: written beside its place, and put there when all is written.

What was there before stays until then, and for good where writing fails.
"""

import os
import shutil
from pathlib import Path

from service.failure import ExitCode, Failure


class WholeFile:
    """`place` is where to write; `put` it when all is there, or `drop` it.

    What is no plain file (a pipe, a device), or stands where no other can be made, is written
    itself. A link stays one. `said` names the file in a Failure; it is the path by default.
    """

    def __init__(self, path: Path, said: str = "") -> None:
        self.path = path
        self.said = said or str(path)
        self._end = path.resolve()
        beside = self._end.with_name(f".{self._end.name}.{os.getpid()}")
        own = not path.exists() or (path.is_file() and os.access(self._end.parent, os.W_OK))
        self.place = beside if own else path

    def put(self) -> None:
        """All is written. Raises OSError."""
        if self.place == self.path:
            return
        if self._end.exists():
            shutil.copymode(self._end, self.place)
        self.place.replace(self._end)

    def drop(self) -> None:
        """Nothing is to be left of it."""
        if self.place != self.path:
            self.place.unlink(missing_ok=True)

    def failed(self, error: OSError) -> Failure:
        """Drop it; what to raise."""
        self.drop()
        # Arrow words its errors with a path and a number; older ones have no number.
        reason = (os.strerror(error.errno) if error.errno else "cannot be written").lower()
        return Failure(ExitCode.UNAVAILABLE, f"{self.said}: {reason}")


def write(path: Path, octets: bytes, said: str = "") -> None:
    """Write a file at once. Raises Failure."""
    file = WholeFile(path, said)
    try:
        file.place.write_bytes(octets)
        file.put()
    except OSError as error:
        raise file.failed(error) from None


def write_text(path: Path, text: str, said: str = "") -> None:
    """Write a text of UTF-8. Raises Failure."""
    write(path, text.encode(), said)
