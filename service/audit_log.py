"""Rows of the audit log on their way into the store: those that come meanwhile go in together."""

import logging
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import polars as pl

from pipeline import TABLES, Store, StoreError
from service.metrics import Metrics

TABLE = "audit"
logger = logging.getLogger("hopsight.audit")


class AuditLog:
    """Keeps rows, one insert at a time, in a thread that no answer waits for.

    However many are refused at once, they take no thread of those who read, and few inserts.
    """

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self.store = store
        self.metrics = metrics
        self._turn = anyio.CapacityLimiter(1)
        self._lock = threading.Lock()
        self._waiting: list[Mapping[str, Any]] = []

    async def keep(self, *rows: Mapping[str, Any]) -> None:
        """Return when rows are stored, or logged where the store does not take them."""
        with self._lock:
            self._waiting += rows
        await anyio.to_thread.run_sync(self._store, limiter=self._turn)

    def _store(self) -> None:
        """Insert all that waits; nothing, where who had the turn before has done so."""
        with self._lock:
            rows, self._waiting = self._waiting, []
        if not rows:
            return
        frame = pl.DataFrame(rows, schema=TABLES[TABLE].schema)
        failed: StoreError | None = None
        try:
            self.store.insert(TABLE, frame, uuid.uuid4().hex)
        except StoreError as error:
            failed = error
        for made in rows:
            if failed is not None:
                logger.error("the audit log could not be written: %s: %s", made, failed)
            outcome = "kept" if failed is None else "failed"
            self.metrics.count("hopsight_audit_rows_total", outcome=outcome)


def left_out(told: str, count: int) -> dict[str, Any]:
    """A row that says how many have none of their own."""
    return {
        "time_ns": time.time_ns(), "who": "", "address": "", "method": "", "path": "",
        "body": f'{{"{told}": {count}}}', "status": 0,
    }  # fmt: skip
