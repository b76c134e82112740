"""Questions beside one another: the store answers each on a connection of its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Protocol, TypeVar

A = TypeVar("A")
MOST = 32
"""Threads that ask beside others; who would need more of them waits, as the store would let it."""


class Begin(Protocol):
    """Begins something in another thread, and gives what will come of it."""

    def __call__(self, ask: Callable[[], A], /) -> Future[A]:
        """Begin."""


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST, "question")


@contextmanager
def beside() -> Iterator[Begin]:
    """What begins things beside this thread; all of them have ended when this ends."""
    begun: list[Future[object]] = []

    def begin(ask: Callable[[], A]) -> Future[A]:
        future = _helpers().submit(ask)
        begun.append(future)  # type: ignore[arg-type] # only waited for
        return future

    try:
        yield begin
    finally:
        wait(begun)
