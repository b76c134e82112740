"""Rules and receivers around one store, each at its own pace."""

import logging
import threading
import time
from functools import partial
from typing import Any

from pipeline import Store, StoreError
from service.alerts.delivery import MOST_WAITING, Delivery
from service.alerts.engine import Engine, keep
from service.alerts.rule import AlertFile, Receiver
from service.alerts.silence import Silence, silences_of, silencing
from service.alerts.standing import Standing, as_told
from service.alerts.telling import Look
from service.beat import Beat
from service.hub import Hub
from service.metrics import Metrics

MOST_SILENCES = 10_000
KNOWN_S = 1.0
"""For how long silences are known that what fires is held against."""


logger = logging.getLogger("hopsight.alerts")


class Watch:
    """The alerts of a service: `engine.step` moves states, `deliver` tells one receiver.

    Each receiver has a thread of its own, so that one that does not answer holds up no other.
    """

    def __init__(self, file: AlertFile, store: Store, hub: Hub, metrics: Metrics) -> None:
        self.file = file
        self.store = store
        self.metrics = metrics
        self.deliveries = [self._delivery(each) for each in file.receiver]
        self.engine = Engine(file, store, hub, self._fired, self._restored)
        self._beats: dict[str, Beat] | None = None
        self._known: list[Silence] | None = None
        self._turn = threading.Lock()
        self._unread = {each.name for each in file.receiver}
        """Receivers of which it was not read yet what they take to fire."""
        self._silent: tuple[float, list[Silence]] = -KNOWN_S, []
        """When silences were last asked for what fires, and what they were."""
        self._stood = False

    def start(self) -> None:
        """Tell receivers from now on."""
        self._beats = {}
        self._pace()

    def end(self) -> None:
        """Tell nobody any more."""
        for each in self.deliveries:
            each.end()
        for beat in (self._beats or {}).values():
            beat.end()

    def renew(self, file: AlertFile) -> None:
        """Go by another file; what a receiver was told goes by its name."""
        known = {each.receiver.name: each for each in self.deliveries}
        for name in known.keys() - {each.name for each in file.receiver}:
            known[name].end()
        for receiver in file.receiver:
            if receiver.name in known:
                known[receiver.name].receiver = receiver
            else:
                self._unread.add(receiver.name)
        self.file = file
        self.deliveries = [known.get(each.name) or self._delivery(each) for each in file.receiver]
        self.engine.renew(file)
        self._pace()

    def _pace(self) -> None:
        """A thread for each receiver that has none; those of receivers that are gone end.

        Nobody waits for these: a receiver may be gone because it does not answer.
        """
        if self._beats is None:
            return
        there = {each.receiver.name: each for each in self.deliveries}
        for name in self._beats.keys() - there.keys():
            self._beats.pop(name).end(within_s=0)
        for name in there.keys() - self._beats.keys():
            self._beats[name] = Beat([partial(self.deliver, there[name])])
            self._beats[name].start()

    def silences(self) -> list[Silence]:
        """Silences that are not over. While the store is away those that were known last hold.

        Raises StoreError when none were ever known.
        """
        after = {"after_ns": time.time_ns(), "rows": MOST_SILENCES}
        try:
            found = silences_of(self.store.query("silences", **after))
        except StoreError as error:
            with self._turn:
                if self._known is None:
                    raise
                logger.debug("silences: the last known hold: %s", error)
                return self._known
        with self._turn:
            self._known = found
        return found

    def deliver(self, delivery: Delivery) -> None:
        """Tell a receiver what stands and is not silent. Raises StoreError."""
        if self._stood and (name := delivery.receiver.name) in self._unread:
            told = self.store.query("alerts_told", rows=MOST_WAITING).filter(receiver=name)
            delivery.restored(map(as_told, told.iter_rows(named=True)))
            self._unread.discard(name)
        delivery.step(self._look, time.monotonic())
        keep(self.store, "alerts_told", delivery.unkept)

    def _look(self) -> Look:
        return Look(self.engine.standing(), self.silences(), time.time_ns())

    def _fired(self, standing: Standing) -> None:
        quiet = bool(silencing(self._silences_of_now(), standing.labels, time.time_ns()))
        for each in self.deliveries:
            each.fired(standing, quiet=quiet)

    def _silences_of_now(self) -> list[Silence]:
        """Silences as they were a moment ago; none where nobody knows."""
        asked_s, known = self._silent
        if time.monotonic() - asked_s < KNOWN_S:
            return known
        try:
            known = self.silences()
        except StoreError:
            known = []
        self._silent = time.monotonic(), known
        return known

    def _restored(self, _: list[Standing]) -> None:
        """Hear that states go on: before, nothing stood."""
        self._stood = True

    def _delivery(self, receiver: Receiver) -> Delivery:
        return Delivery(receiver, self.metrics, note=self._note)

    def _note(self, rows: list[dict[str, Any]]) -> None:
        """Keep what a receiver is about to be told; without a store it is told all the same."""
        try:
            keep(self.store, "alerts_told", rows)
        except StoreError as error:
            logger.debug("what receivers are told is not kept: %s", error)
