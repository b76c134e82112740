"""The worker's code, compiled by a process of its own beside a command that decodes first."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from pipeline import is_warm

COMPILING = "compiling for this machine, once, while frames are read; later runs start at once"
WARMING = (sys.executable, "-P", "-m", "pipeline.warming")
"""`-P`: not what lies where the command is run."""


@contextmanager
def warming(what: str = "judge") -> Iterator[Callable[[], None]]:
    """Begins to compile (`pipeline/warming.py` says for what); what is given waits for its end.

    Does nothing where an earlier run has kept the code. Where it fails, the worker compiles for
    itself.
    """
    if is_warm(what):
        yield lambda: None
        return
    typer.echo(f"hopsight: {COMPILING}", err=True)
    with subprocess.Popen(  # noqa: S603 - this Python with fixed words
        (*WARMING, what),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield lambda: _ended(process)
        finally:
            process.kill()


def _ended(process: "subprocess.Popen[bytes]") -> None:
    process.wait()
