"""Rows stored by a thread of their own while the next are made: one piece of work at a time."""

import threading
from collections.abc import Callable
from concurrent.futures import Future


class Storing:
    """Work that goes on beside; what goes wrong there is raised to who asks next."""

    def __init__(self) -> None:
        self._work: Future[None] | None = None
        self._beginning, self._ending = threading.Lock(), threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether work goes on."""
        return self._work is not None and not self._work.done()

    def wait(self) -> None:
        """Return when nothing goes on, and raise what went wrong, once."""
        if (work := self._work) is None:
            return
        try:
            work.result()
        finally:
            with self._ending:
                if self._work is work:
                    self._work = None

    def begin(self, work: Callable[[], None]) -> None:
        """Begin when what went on has ended. The process ends whatever the work waits for."""
        told: Future[None] = Future()

        def run() -> None:
            try:
                work()
                told.set_result(None)
            except BaseException as error:  # noqa: BLE001 - a panic of Polars is one; who asks for the result would wait for ever
                told.set_exception(told_of(error))

        with self._beginning:
            self.wait()
            self._work = told
            threading.Thread(target=run, name="storing", daemon=True).start()


def told_of(error: BaseException) -> Exception:
    """An error that those hear who handle errors; a panic of Polars is none."""
    return error if isinstance(error, Exception) else RuntimeError(f"{error!r}")
