"""Where the next page of an answer begins: a few numbers that a client hands back as they are."""

import base64
import binascii
import json
from zlib import crc32

from pydantic import BaseModel

from service.endpoint import MAX_NS
from service.problem import invalid
from service.routes.span import Span

MOST_NUMBER = 2**64
TIMES = {"from_", "to"}
PLACE = {"cursor", "limit"}
"""Parameters that may differ from page to page."""
OTHER = "is of another question: the other parameters have to be the same"


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


def place_behind(asked: BaseModel, *numbers: int) -> str:
    """The cursor of the page that begins at a place, which some numbers tell."""
    return cursor_of(*numbers, _question(asked, PLACE))


def place_of(cursor: str, asked: BaseModel, count: int) -> tuple[int, ...]:
    """The numbers of a place. Raises Problem for a cursor of no answer, or of another question."""
    *numbers, question = numbers_of(cursor, count + 1)
    if question != _question(asked, PLACE):
        raise invalid({"cursor": OTHER})
    return tuple(numbers)


def next_page(span: Span, start: int, asked: BaseModel) -> str:
    """The cursor of the page of an answer that begins with a row."""
    question = _question(asked, PLACE | TIMES)  # the time is told, so it need not be given
    return cursor_of(span.from_ns, span.to_ns, start, question, _times(asked))


def page_of(cursor: str, asked: BaseModel) -> tuple[Span, int]:
    """The time that all pages are about, and how many rows stood on those before.

    Raises Problem for a cursor that was not made here, or of another question.
    """
    from_ns, to_ns, start, question, times = numbers_of(cursor, 5)
    if not from_ns < to_ns < MAX_NS or start >= MAX_NS:
        raise invalid({"cursor": "is none that an answer gave"})
    if question != _question(asked, PLACE | TIMES):
        raise invalid({"cursor": OTHER})
    told = [(getattr(asked, name, None), own) for name, own in (("from_", from_ns), ("to", to_ns))]
    if _times(asked) != times and any(given not in {None, own} for given, own in told):
        raise invalid({"cursor": "is of another time: from and to are those of the first page"})
    return Span(from_ns, to_ns), start


def _question(asked: BaseModel, without: set[str]) -> int:
    """What stands for everything that a page is asked for by, but for some parameters."""
    told = asked.model_dump_json(exclude=without)
    return crc32(f"{type(asked).__name__} {told}".encode())


def _times(asked: BaseModel) -> int:
    """What stands for the time that is asked for."""
    return crc32(asked.model_dump_json(include=TIMES, exclude_none=True).encode())
