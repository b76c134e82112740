"""What was typed on a command line, as exact values; a wrong one names its argument."""

from collections.abc import Callable
from typing import TypeVar

from service.endpoint import parse_time
from service.failure import ExitCode, Failure

T = TypeVar("T")


def parsed(name: str, parse: Callable[[str], T], text: str) -> T:
    """An argument as an exact value; a wrong one names itself."""
    try:
        return parse(text)
    except ValueError as error:
        raise Failure(ExitCode.USAGE, f"{name}: {error}") from None


def moment(name: str, text: str | None) -> int | None:
    """A time that was told, nanoseconds since 1970."""
    return None if text is None else parsed(name, parse_time, text)
