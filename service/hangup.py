"""SIGHUP: ends nothing of a command that runs on, and has it read again what it can.

Nothing heavy is imported here: a command asks for it before its engines, which load for seconds in
which a reload may come.
"""

import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

EARLY = threading.Event()
"""Whether a SIGHUP came that nothing was read again for."""


def wait_to_reload() -> None:
    """Have a SIGHUP end nothing before a command can read anything again (`reload_at`).

    What it asks for is done then: a worker may wait minutes for its store.
    """
    if threading.current_thread() is threading.main_thread():
        EARLY.clear()
        signal.signal(signal.SIGHUP, lambda *_: EARLY.set())


def reload_at(loop: "asyncio.AbstractEventLoop", reload: Callable[[], object]) -> None:
    """Read again at each SIGHUP from now on, and at once for one that came before."""
    loop.add_signal_handler(signal.SIGHUP, reload)
    if EARLY.is_set():
        EARLY.clear()
        reload()
