"""The worker's code, compiled by a process of its own beside a command that decodes first."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline import is_warm

WARMING = (sys.executable, "-P", "-m", "pipeline.warming")
"""`-P`: not what lies where the command is run."""


@contextmanager
def warming() -> Iterator[Callable[[], None]]:
    """Begins to compile; what is given waits for the end of that.

    Does nothing where an earlier run has kept the code. Where it fails, the worker compiles for
    itself.
    """
    if is_warm():
        yield lambda: None
        return
    with subprocess.Popen(  # noqa: S603 - this Python with fixed words
        WARMING, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield lambda: _ended(process)
        finally:
            process.kill()


def _ended(process: "subprocess.Popen[bytes]") -> None:
    process.wait()
