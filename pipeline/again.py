"""Done again until it succeeds: what a store that is away for a while, or busy, did not do."""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_when_event_set,
    wait_random_exponential,
)

from pipeline.store_error import StoreAway, StoreBusy

Again = Callable[[Callable[[], Any]], Any]
"""Does something until it succeeds; what passes by itself is tried again."""
PASSING = (StoreAway, StoreBusy)
"""What is tried again."""
LONGEST_PAUSE_S = 2.0
logger = logging.getLogger("hopsight.pipeline")


def once(work: Callable[[], Any]) -> Any:
    """The same without a second try."""
    return work()


def again(leave: threading.Event, counts: Counter[str]) -> Again:
    """Does something in a thread until it succeeds, with growing pauses of random length.

    Only what passes by itself is tried again, and only while the partition is ours.
    """

    def told(state: RetryCallState) -> None:
        counts["store_away"] += 1
        if state.attempt_number == 1 and state.outcome:
            logger.warning("tried again: %s", state.outcome.exception())

    def run(work: Callable[[], Any]) -> Any:
        retrying = Retrying(
            retry=retry_if_exception_type(PASSING),
            stop=stop_when_event_set(leave),
            wait=wait_random_exponential(multiplier=0.05, max=LONGEST_PAUSE_S),
            before_sleep=told,
            reraise=True,
        )
        return retrying(work)

    return run
