"""Where the next page of an answer begins: a few numbers that a client hands back as they are."""

import base64
import binascii
import json

from service.endpoint import MAX_NS
from service.problem import invalid
from service.routes.span import Span

MOST_NUMBER = 2**64


def cursor_of(*numbers: int) -> str:
    """A cursor that stands for numbers."""
    told = json.dumps(numbers, separators=(",", ":"))
    return base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")


def numbers_of(cursor: str, count: int) -> tuple[int, ...]:
    """What a cursor stands for. Raises Problem when it was not made here."""
    try:
        told = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        numbers = tuple(told) if isinstance(told, list) else ()
    except (ValueError, binascii.Error, RecursionError):
        numbers = ()
    whole = all(type(each) is int and 0 <= each < MOST_NUMBER for each in numbers)
    if len(numbers) != count or not whole:
        raise invalid({"cursor": "is none that an answer gave"})
    return numbers


def page_of(cursor: str) -> tuple[Span, int]:
    """The time that all pages are about, and how many rows stood on those before."""
    from_ns, to_ns, start = numbers_of(cursor, 3)
    if not from_ns < to_ns < MAX_NS or start >= MAX_NS:
        raise invalid({"cursor": "is none that an answer gave"})
    return Span(from_ns, to_ns), start
