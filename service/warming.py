"""Code that is needed later, compiled by processes beside a command that decodes first."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import typer

from collector import is_compiled
from pipeline import is_warm

COMPILING = "compiling for this machine, once, while frames are read; later runs start at once"
DECIDING = ("pipeline.warming", "decide")
PROGRAMS = {
    "judge": (DECIDING, ("pipeline.warming", "rest")),
    "decide": (DECIDING,),
    "watch": (("service.conduct_code",),),
}
"""What compiles, beside one another: all that a worker does, decisions alone, and what watches
senders and receivers."""
WATCHING = ("replay/witness.py", "observe"), ("pipeline/companions/dctcp_receiver.py", "follow")
"""Modules and names of the largest kernels of the last."""
PYTHON = (sys.executable, "-P", "-m")
"""`-P`: not what lies where the command is run."""


def is_kept(what: str) -> bool:
    """Whether an earlier run has kept the code of one of `PROGRAMS`."""
    return all(is_compiled(*each) for each in WATCHING) if what == "watch" else is_warm(what)


@contextmanager
def warming(*needed: str) -> Iterator[Callable[[], None]]:
    """Begins to compile what of `PROGRAMS` is needed; what is given waits for the end of that.

    Does nothing where an earlier run has kept the code. Where it fails, whoever needs the code
    compiles for himself.
    """
    missing = [what for what in needed if not is_kept(what)]
    if missing:
        typer.echo(f"hopsight: {COMPILING}", err=True)
    with ExitStack() as stack:
        processes = [begun(stack, each) for what in missing for each in PROGRAMS[what]]

        def ended() -> None:
            for process in processes:
                process.wait()

        yield ended


def begun(stack: ExitStack, program: Sequence[str]) -> "subprocess.Popen[bytes]":
    """A process that compiles, and that does not outlive the stack."""
    process = stack.enter_context(
        subprocess.Popen(  # noqa: S603 - this Python with fixed words
            (*PYTHON, *program),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    )
    stack.callback(process.kill)
    return process
