"""Rotation: a directory in which a capture begins a new file now and then.

Files are taken in the order of their names, numbers in them counted as numbers. The newest is
followed while it grows; when a newer one is there, the one before it has ended. A ring uses its
names again (`tcpdump -C -W`): a file that was written anew since it was read is another one, and
comes after those that are older. What was written over before it was read is counted where names
have serial numbers (dumpcap's), and told as a gap. A file that grows on behind a newer one is
counted: two captures that rotate in one directory are no one source.
"""

import logging
import re
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Final

from collector.capture import Capture, open_capture
from collector.follow import REPLACED, Follow
from collector.frame import UNNAMED
from collector.marks import Marks, Since, inode_of
from collector.window import CaptureError

UNREADABLE: Final = "file_unreadable"
OVERWRITTEN: Final = "file_overwritten"
GROWN: Final = "file_grown"
ROTATION_REASONS: Final = {
    UNREADABLE: "a file of a rotating directory that cannot be read, or was gone too soon",
    OVERWRITTEN: "a file of a ring that was written over before it was read, by dumpcap's numbers",
    GROWN: "a file that was written on when a newer one was there, as two captures in one directory"
    " do; what came then is not read",
}
"""Reason why frames of a directory are not delivered, with a sentence. It counts files."""
SERIAL: Final = re.compile(r"(.*)_(\d{5,})_\d{14}(?:\.|$)", re.ASCII)
"""Names as dumpcap gives them: a number of the file, and when it was begun."""
UNTOLD: Final = ("", "..")
"""Last parts of a path that do not say what the directory is called."""
POLL_S: Final = 0.2
logger = logging.getLogger("hopsight.collector")


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
        self.reasons: Counter[str] = Counter()
        self.poll_s = POLL_S
        self._endless = endless
        self._marks = Marks()
        self._point = point
        self._open: Capture | None = None
        self._path: Path | None = None
        self._last: Path | None = None
        self._left: frozenset[str] | None = None
        """Names of the files that are still read since it was told to stop, each once: a ring that
        is written on would never end. None: it was not told."""

    @property
    def ended(self) -> bool:
        """Whether no file will be opened any more."""
        over = (self._left is not None or not self._endless) and not self._waiting()
        return over and (self._open is None or self._open.closed)

    def next_file(self) -> Capture | None:
        """The next file, opened, once the one before it has ended and was closed.

        The one before it ends with what is in it as soon as there is another.
        """
        self._renamed()
        if self._open is not None and not self._open.closed:
            if not self._endless or self._waiting():
                self._open.stop()
            return None
        self._pass()
        before = self._open
        for path in self._waiting():
            if self._left is not None:
                self._left -= {path.name}
            try:
                follow = Follow(poll_s=POLL_S) if self._endless else None
                self._open = open_capture(path, follow)
            except CaptureError as error:
                logger.warning("%s", error)
                self.reasons[UNREADABLE] += 1
                self._marks.put(path, gave=False)
                self._went_by(path)
                continue
            self._behind(before, path)
            self._path = path
            self._open.rotates = True
            self._open.source = source_in(path)
            self._open.unnamed = self._point or name_of(self.directory) or UNNAMED
            if self._left is not None:
                self._open.stop()
            return self._open
        return None

    def _pass(self) -> None:
        """Go past a file that has ended, unless another has its name already."""
        if self._open is None or self._path is None:
            return
        if REPLACED not in self._open.reasons:
            unread = UNREADABLE in self._open.reasons or not self._open.delivered
            if self._is_open(self._path) is not False:
                self._marks.put(self._path, gave=not unread)
        self._last, self._path = self._path, None

    def _is_open(self, path: Path) -> bool | None:
        """Whether a name leads to the file that was opened last; None: it leads nowhere."""
        assert self._open is not None
        try:
            return inode_of(path.stat()) == self._open.inode
        except OSError:
            return None

    def _renamed(self) -> None:
        """Follow the file that is open to another name in the directory."""
        if self._open is None or self._path is None or self._is_open(self._path):
            return
        with suppress(OSError):  # gone, as `_waiting` tells
            for path in self.directory.iterdir():
                if self._is_open(path):
                    self._path = path
                    self._open.renamed(path)
                    return

    def _went_by(self, path: Path) -> None:
        """Go past a file that cannot be read: no number before it comes next."""
        here, there = serial(path), serial(self._last) if self._last is not None else None
        if self._last is None or (here and not (there and ahead(there, here))):
            self._last = path

    def _behind(self, before: Capture | None, path: Path) -> None:
        """Count and tell what is known to be lost between the file before and the one of a path."""
        if not self._endless or self._open is None or before is None or self._last is None:
            return
        here, there = serial(path), serial(self._last)
        lost = here[1] - there[1] - 1 if here and there and here[0] == there[0] else 0
        if lost > 0:
            self.reasons[OVERWRITTEN] += lost
        if lost > 0 or REPLACED in before.reasons:
            self._open.hole_ns = before.last_ns

    def _grows(self, path: Path) -> None:
        """Count a file that was read and is written on."""
        self.reasons[GROWN] += 1
        told = "was written on when a newer file was there: give each capture that rotates"
        logger.warning("%s %s a directory of its own", path, told)
        self._marks.grown(path.name)

    def _waiting(self) -> list[Path]:
        """Files that are to be opened, in order."""
        try:
            there = [path for path in self.directory.iterdir() if not path.name.startswith(".")]
        except OSError as error:
            raise CaptureError(f"{self.directory}: {(error.strerror or '').lower()}") from error
        self._marks.look(there)
        new = sorted((path for path in there if self._new(path)), key=order)
        return in_turn(new) if self._endless else new

    def _new(self, path: Path) -> bool:
        """Whether a file, or what it has now, was not read yet."""
        if self._path is not None and path.name == self._path.name:
            return False
        if self._left is not None and path.name not in self._left:
            return False
        since = self._marks.since(path)
        if since is None or not self._endless:
            return since is None and self._marks.regular(path) and not self._repeats(path)
        if since is Since.GROWN and self._left is None:
            self._grows(path)
        return since is Since.RENEWED and not self._repeats(path)

    def _repeats(self, path: Path) -> bool:
        """Whether a file that is followed only holds what one that was read held, compressed."""
        if not self._endless or not self._marks.packed(path):
            return False
        self._marks.put(path, gave=False)
        return True

    def stop(self) -> None:
        """Open no file that is not there yet; each that is ends with what is in it."""
        if self._left is None:
            there: list[str] = []
            with suppress(OSError):  # gone, and nothing in it to read
                there = [path.name for path in self.directory.iterdir()]
            self._left = frozenset(there)
        if self._open is not None:
            self._open.stop()


def source_in(path: Path) -> str:
    """What a file of a directory is called as a source."""
    return f"{name_of(path.parent)}/{path.name}"


def name_of(directory: Path) -> str:
    """What a directory is called, also where it is written as `.` or `..`; the root has no name."""
    return directory.name if directory.name not in UNTOLD else directory.resolve().name


def serial(path: Path) -> tuple[str, int] | None:
    """What dumpcap's names of one ring have in common, and the number that each has alone."""
    told = SERIAL.match(path.name)
    return (told[1], int(told[2])) if told else None


def ahead(one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Whether a number of a ring comes behind another one of it."""
    return one[0] == other[0] and one[1] > other[1]


def in_turn(ordered: list[Path]) -> list[Path]:
    """Files in order of their names; those of a ring begin with the one that is the oldest.

    They are a ring where by the times of writing one alone is older than the one before it, and
    the last not newer than the first.
    """
    try:
        written = [path.stat().st_mtime_ns for path in ordered]
    except OSError:  # gone meanwhile
        return ordered
    falls = [at for at, (one, other) in enumerate(pairwise(written), 1) if other < one]
    if len(falls) == 1 and written[-1] <= written[0]:
        return ordered[falls[0] :] + ordered[: falls[0]]
    return ordered


def order(path: Path) -> tuple[object, ...]:
    """The name as a key to sort by: text, and numbers as numbers, in turn."""
    parts = re.split(r"(\d+)", path.name)
    return tuple(int(part) if part.isdecimal() else part for part in parts)
