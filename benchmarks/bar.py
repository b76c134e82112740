"""The one rule of bars: each is said to be met or NOT MET, and a missed one makes the run fail.

A benchmark that measured and missed a bar ends with status 1, after all that it has to say; one
that could not measure, or got a wrong result, ends with another or with a sentence.
"""

from collections.abc import Collection

MISSED = 1
"""Exit status of a benchmark that missed a bar."""
missed: list[str] = []


def met(holds: bool, what: str = "a bar") -> str:
    """Whether a bar is met, in words; one that is not is remembered."""
    if not holds:
        missed.append(what)
    return "met" if holds else "NOT MET"


def end(more: Collection[str] = ()) -> None:
    """End with failure where a bar was missed."""
    if missed or more:
        raise SystemExit(MISSED)
