"""Rules and receivers around one store, each at its own pace."""

import logging
import threading
import time
from functools import partial

from pipeline import Store, StoreError
from service.alerts.delivery import MOST_WAITING, Delivery
from service.alerts.engine import Engine, keep
from service.alerts.rule import AlertFile
from service.alerts.silence import Silence, silences_of, silencing
from service.alerts.standing import Standing, as_told
from service.alerts.telling import Look
from service.beat import Beat
from service.hub import Hub
from service.metrics import Metrics

MOST_SILENCES = 10_000


logger = logging.getLogger("hopsight.alerts")


class Watch:
    """The alerts of a service: `engine.step` moves states, `deliver` tells one receiver.

    Each receiver has a thread of its own, so that one that does not answer holds up no other.
    """

    def __init__(self, file: AlertFile, store: Store, hub: Hub, metrics: Metrics) -> None:
        self.file = file
        self.store = store
        self.metrics = metrics
        self.deliveries = [Delivery(each, metrics) for each in file.receiver]
        self.engine = Engine(file, store, hub, self._fired, self._restored)
        self._beats: dict[str, Beat] | None = None
        self._known: list[Silence] | None = None
        self._turn = threading.Lock()
        self._unread: dict[str, list[Standing]] = {each.name: [] for each in file.receiver}
        """Receivers of which it was not read yet what they take to fire, and what stood before a
        restart that they may have heard of."""
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
                self._unread[receiver.name] = []
        self.file = file
        self.deliveries = [
            known.get(each.name) or Delivery(each, self.metrics) for each in file.receiver
        ]
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
            delivery.restored(map(as_told, told.iter_rows(named=True)), kept=True)
            delivery.restored(self._unread.pop(name))
        delivery.step(self._look, time.monotonic())
        keep(self.store, "alerts_told", delivery.unkept)

    def _look(self) -> Look:
        return Look(self.engine.standing(), self.silences(), time.time_ns())

    def _fired(self, standing: Standing) -> None:
        for each in self.deliveries:
            each.fired(standing)

    def _restored(self, standing: list[Standing]) -> None:
        """Hear what stood before a restart; nobody has heard of what is silent."""
        quiet, now_ns = self.silences(), time.time_ns()
        loud = [each for each in standing if not silencing(quiet, each.labels, now_ns)]
        self._unread = dict.fromkeys(self._unread, loud)
        self._stood = True
