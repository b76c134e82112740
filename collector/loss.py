"""Losses: times in which a live source brought less than came by, or nothing.

A file has its frames whoever reads it, and when. What a live source could not deliver is gone: its
counters tell how much that was, and here stands when.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

WORD = 1 << 63
"""Beyond every number of 64 bits with a sign."""


class Loss(NamedTuple):
    """A time in which a live source lost frames.

    - `from_ns`, `to_ns`: between which times, ns since 1970. `from_ns` is None of a source that has
      just begun: nothing of it was heard since it was heard last, if it ever was;
    - `frames`: how many were lost; None: all that came by;
    - `of`: frames that came by in that time, lost ones too; None: nobody counted.
    """

    from_ns: int | None
    to_ns: int
    frames: int | None = None
    of: int | None = None


def text_of(losses: Iterable[Loss]) -> str:
    """Losses as a header or a line of a file carries them; empty: none."""
    told = [*losses]
    return json.dumps(told) if told else ""


def losses_of(text: str) -> tuple[Loss, ...]:
    """The losses of such a text. Raises ValueError where it is none."""
    if not text:
        return ()
    try:
        told = [Loss(*each) for each in json.loads(text)]
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no list of losses: {error}") from None
    numbers = (each for loss in told for each in loss)
    if not all(each is None or type(each) is int for each in numbers):
        raise ValueError("a loss is told in whole numbers")
    if not all(-WORD <= each < WORD for loss in told for each in loss if each is not None):
        raise ValueError("a loss is told in numbers of 64 bits")
    return tuple(told)
