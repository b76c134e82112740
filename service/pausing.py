"""Ctrl-C for what goes on until it is stopped: it ends between two turns, not in the middle of one.

Thrown into the middle of a query it would stop a library anywhere.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def pausing() -> Iterator[Callable[[float], bool]]:
    """Gives what waits so many seconds between two turns and says whether another one is wanted.

    Ctrl-C ends a wait at once, and a turn when it is done. A second one is thrown as ever.
    """
    told = waiting = False

    def hear(*_: Any) -> None:
        nonlocal told
        if told or waiting:
            raise KeyboardInterrupt
        told = True

    def pause(seconds: float) -> bool:
        nonlocal waiting
        try:
            waiting = True
            if not told:
                time.sleep(seconds)
        except KeyboardInterrupt:
            return False
        finally:
            waiting = False
        return not told

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield pause
    finally:
        signal.signal(signal.SIGINT, before)
