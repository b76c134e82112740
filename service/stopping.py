"""SIGTERM and Ctrl-C for what goes on in an event loop: it ends in order, or at once."""

import asyncio
import logging
import signal
from collections.abc import Callable

ENDING = (signal.SIGINT, signal.SIGTERM)
LONG_S = 10.0
"""How long an end may take until it is said what is waited for, and how often."""
logger = logging.getLogger("hopsight.service")


def on_ending(stop: Callable[[], object], waits_for: str) -> None:
    """Call `stop` at the first signal; a second one ends the process at once.

    What is in hand is finished behind the first one, which may take as long as others do
    (`waits_for`), a broker or a store that is away.
    """
    loop = asyncio.get_running_loop()

    def first() -> None:
        for number in ENDING:
            loop.remove_signal_handler(number)
        loop.call_later(LONG_S, still)
        stop()

    def still() -> None:
        logger.warning("told to end, and waiting for %s; a second signal ends at once", waits_for)
        loop.call_later(LONG_S, still)

    for number in ENDING:
        loop.add_signal_handler(number, first)
