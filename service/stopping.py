"""SIGTERM and Ctrl-C for what goes on in an event loop: it ends in order, or at once."""

import asyncio
import signal
from collections.abc import Callable

ENDING = (signal.SIGINT, signal.SIGTERM)


def on_ending(stop: Callable[[], object]) -> None:
    """Call `stop` at the first signal; a second one ends the process at once.

    What is in hand is finished behind the first one, which may wait for others: a broker or a
    store that is away.
    """
    loop = asyncio.get_running_loop()

    def first() -> None:
        for number in ENDING:
            loop.remove_signal_handler(number)
        stop()

    for number in ENDING:
        loop.add_signal_handler(number, first)
