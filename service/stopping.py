"""SIGTERM and Ctrl-C for what goes on in an event loop: it ends in order, or at once."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress

ENDING = (signal.SIGINT, signal.SIGTERM)
LONG_S = 10.0
"""How long an end may take until it is said what is waited for, and how often."""
logger = logging.getLogger("hopsight.service")


def on_ending(
    stop: Callable[[], object], waits_for: str, last: Callable[[], object] | None = None
) -> None:
    """Call `stop` at the first signal; a second one ends the process at once.

    What is in hand is finished behind the first one, which may take as long as others do
    (`waits_for`), a broker or a store that is away. `last` is called before the second one ends
    it: what has become of the work so far.
    """
    loop = asyncio.get_running_loop()

    def first() -> None:
        for number in ENDING:
            loop.remove_signal_handler(number)
            if last is not None:
                signal.signal(number, second)
        loop.call_later(LONG_S, still)
        stop()

    def second(number: int, _: object) -> None:
        # Not by the loop, which may be at work, and a third one ends it whatever is told.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if last is not None:
            with suppress(OSError, RuntimeError):  # nobody listens, or a line is being written
                last()
        os.kill(os.getpid(), number)

    def still() -> None:
        logger.warning("told to end, and waiting for %s; a second signal ends at once", waits_for)
        loop.call_later(LONG_S, still)

    for number in ENDING:
        loop.add_signal_handler(number, first)
