"""Whether something waits to be read, however many files are open.

`select` knows none whose number is beyond 1023, and an embedded store alone may have more.
"""

import select
from math import ceil
from typing import Protocol


class Numbered(Protocol):
    """Something open: a pipe, a file or a socket."""

    def fileno(self) -> int:
        """Its number."""


def readable(something: Numbered, within_s: float) -> bool:
    """Whether something can be read, or has ended, within a time; waits for it."""
    looking = select.poll()
    looking.register(something, select.POLLIN)
    return bool(looking.poll(ceil(within_s * 1000)))
