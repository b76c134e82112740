"""What the service does by itself: steps of work, one after the other, again and again."""

import logging
import threading
from collections.abc import Callable, Sequence

from pipeline import StoreError

EVERY_S = 1.0
END_S = 5.0
logger = logging.getLogger("hopsight.service")


class Beat(threading.Thread):
    """Calls each step every second; a step that fails is logged once, until it works again."""

    def __init__(self, steps: Sequence[Callable[[], None]], every_s: float = EVERY_S) -> None:
        super().__init__(name="beat", daemon=True)
        self.steps = steps
        self.every_s = every_s
        self._ending = threading.Event()
        self._failed: set[int] = set()

    def run(self) -> None:
        """Work until the end."""
        while not self._ending.wait(self.every_s):
            for number, step in enumerate(self.steps):
                self._take(number, step)

    def _take(self, number: int, step: Callable[[], None]) -> None:
        try:
            step()
        except StoreError as error:
            if number not in self._failed:
                logger.warning("a look at the store failed and is tried again: %s", error)
            self._failed.add(number)
        except Exception:
            if number not in self._failed:
                logger.exception("a step of the service failed and is tried again")
            self._failed.add(number)
        else:
            self._failed.discard(number)

    def end(self, within_s: float = END_S) -> None:
        """Stop after the step that is being taken; one that takes longer is left alone."""
        self._ending.set()
        if self.is_alive():
            self.join(within_s)
