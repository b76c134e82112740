"""Bodies of requests: what JSON has twice is refused, for nobody could say which of both counts."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fastapi import Request

from service.problem import invalid, no_json


class Pairs(list[tuple[str, Any]]):
    """An object of JSON as it is written: its names and values, in order."""


async def named_once(request: Request) -> None:
    """Refuse a body that has a name several times in one object. Raises Problem.

    Bodies that are no JSON, and those that are files, are left to whoever reads them.
    """
    if not request.scope["route"].dependant.body_params or no_json(request):
        return
    try:
        told = json.loads(await request.body(), object_pairs_hook=Pairs)
    except (ValueError, RecursionError):
        return
    if again := dict(repeated(told)):
        raise invalid(again)


def repeated(told: Any) -> Iterator[tuple[str, str]]:
    """The names that come again in one object, each by its place, with a sentence."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), told)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Pairs):
            for name, times in Counter(name for name, _ in value).items():
                if times > 1:
                    yield ".".join((*place, name)), f"is given {times} times; one is accepted"
            waiting += [((*place, name), each) for name, each in value]
        elif isinstance(value, list):
            waiting += [((*place, str(at)), each) for at, each in enumerate(value)]
