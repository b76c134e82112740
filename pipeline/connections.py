"""Connections to a store: so many are in use at once, the rest wait for one."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.connection import Connection
from pipeline.store_error import StoreBusy


class Connections:
    """`count` connections, each opened when it is first needed. May be used from any thread."""

    def __init__(self, count: int, wait_s: float | None, begin: Callable[[], Connection]) -> None:
        """`begin` opens a connection; one is waited for at most `wait_s`, by None for good."""
        self._wait_s = wait_s
        self._begin = begin
        self._opening = threading.Lock()
        self._free: queue.LifoQueue[Connection | None] = queue.LifoQueue()
        for _ in range(count):
            self._free.put(None)

    @contextmanager
    def one(self) -> Iterator[Connection]:
        """A connection for one thread. Raises StoreBusy when none comes free in time."""
        try:
            connection = self._free.get(timeout=self._wait_s)
        except queue.Empty:
            raise StoreBusy(
                f"the store is busy: no reader came free in {self._wait_s:g} s"
            ) from None
        try:
            if connection is None:
                with self._opening:
                    connection = self._begin()
            yield connection
        finally:
            self._free.put(connection)

    def close(self) -> None:
        """Close those that are free; may be called again."""
        while not self._free.empty():
            if (connection := self._free.get()) is not None:
                connection.close()
