"""Rows stored by a thread of their own while the next are made: one piece of work at a time."""

import threading
from collections.abc import Callable
from concurrent.futures import Future


class Storing:
    """Work that goes on beside; what goes wrong there is raised to who asks next."""

    def __init__(self) -> None:
        self._work: Future[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether work goes on."""
        return self._work is not None and not self._work.done()

    def wait(self) -> None:
        """Return when nothing goes on, and raise what went wrong, once."""
        work, self._work = self._work, None
        if work is not None:
            work.result()

    def begin(self, work: Callable[[], None]) -> None:
        """Begin when what went on has ended. The process ends whatever the work waits for."""
        self.wait()
        told: Future[None] = Future()

        def run() -> None:
            try:
                work()
                told.set_result(None)
            except BaseException as error:  # noqa: BLE001 - a panic of Polars is one; who asks for the result would wait for ever
                told.set_exception(error)

        self._work = told
        threading.Thread(target=run, name="storing", daemon=True).start()
