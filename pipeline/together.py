"""Two questions at once: the store answers each on a connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")
MOST = 32
"""Threads that ask second questions; more of them wait, as the store would let them."""


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST, "question")


def together(one: Callable[[], A], other: Callable[[], B]) -> tuple[A, B]:
    """What both give; the first runs in this thread. Raises what they raise, the first's before."""
    begun = _helpers().submit(other)
    try:
        mine = one()
    except BaseException:
        begun.exception()  # it has ended when this does
        raise
    return mine, begun.result()
