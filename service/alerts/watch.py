"""Rules and receivers around one store, each at its own pace."""

import time

from pipeline import Store
from service.alerts.delivery import Deliveries
from service.alerts.engine import Engine
from service.alerts.rule import AlertFile
from service.alerts.silence import Silence, silences_of
from service.hub import Hub
from service.metrics import Metrics

MOST_SILENCES = 10_000


class Watch:
    """The alerts of a service: `engine.step` moves states, `deliver` tells the receivers."""

    def __init__(self, file: AlertFile, store: Store, hub: Hub, metrics: Metrics) -> None:
        self.file = file
        self.store = store
        self.engine = Engine(file, store, hub)
        self.deliveries = Deliveries(file.receiver, metrics)

    def silences(self) -> list[Silence]:
        """Silences that are not over. Raises StoreError."""
        after = {"after_ns": time.time_ns(), "rows": MOST_SILENCES}
        return silences_of(self.store.query("silences", **after))

    def deliver(self) -> None:
        """Tell the receivers what stands and is not silent. Raises StoreError."""
        if self.deliveries.each:
            self.deliveries.step(self.engine.standing(), self.silences())
