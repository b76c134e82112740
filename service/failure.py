"""How a command ends when it cannot do its work: an exit code and one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `hopsight`; stable, and shown by `hopsight --help`."""

    OK = 0
    WRONG = 1
    USAGE = 2
    INPUT = 3
    STORE = 4
    UNAVAILABLE = 5
    INTERNAL = 70
    INTERRUPTED = 130


EXIT_CODES = {
    ExitCode.OK: "done; of commands that go on until Ctrl-C (watch, serve, up, collect --interface)"
    " that they were ended so",
    ExitCode.WRONG: "an answer was wrong (demo), nothing was found (where, replay, top), or"
    " something is wrong (doctor, health, topology check, alerts check)",
    ExitCode.USAGE: "the command line or a setting is wrong",
    ExitCode.INPUT: "an input file cannot be read",
    ExitCode.STORE: "the store cannot be opened or does not answer",
    ExitCode.UNAVAILABLE: "a port, a path or a program that is needed is not to be had",
    ExitCode.INTERNAL: "a fault of hopsight itself; please report it",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C before it was done",
}
"""What each exit code means, one sentence each."""


class Failure(Exception):  # noqa: N818 - the word that users read
    """A command that ends early: `code` for scripts, one sentence for people."""

    def __init__(self, code: ExitCode, sentence: str) -> None:
        """The sentence names the argument or setting and what is accepted."""
        super().__init__(sentence)
        self.code = code


ASSIGNING = ("--set", "--what-if")
"""Options that assign settings and parameters."""


@contextmanager
def refused_by(option: str) -> Iterator[None]:
    """Say a refusal of an assignment as one of the option that told it."""
    try:
        yield
    except Failure as failure:
        sentence = str(failure)
        for other in ASSIGNING:
            sentence = sentence.replace(other, option, 1)
        raise Failure(failure.code, sentence) from None
