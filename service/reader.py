"""Questions to the store from the event loop: each in a thread, timed and counted."""

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread
import polars as pl

from pipeline import Store, StoreBusy, StoreError, StoreLimit
from service.metrics import Metrics
from service.problem import Problem

T = TypeVar("T")

THREADS = 64
"""Requests that may wait for the store at once; more than that wait for a thread first."""


class Reader:
    """The store as routes see it. The store itself caps how many queries run at once."""

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self.store = store
        self.metrics = metrics
        self._threads = anyio.CapacityLimiter(THREADS)

    async def ask(self, name: str, **parameters: Any) -> pl.DataFrame:
        """The answer to a query of the store by its name."""
        return await self.run(name, self.store.query, name, **parameters)

    async def run(self, label: str, function: Callable[..., T], *given: Any, **named: Any) -> T:
        """Call a function that asks the store, in a thread; `label` names it in the metrics.

        Raises Problem: 503 when no reader comes free in time or the store fails, 422 when a limit
        of the store is passed.
        """
        began, outcome = time.perf_counter(), "failed"
        call = functools.partial(function, *given, **named)
        try:
            answer = await anyio.to_thread.run_sync(call, limiter=self._threads)
            outcome = "answered"
        except StoreBusy as error:
            outcome = "refused"
            raise Problem(503, f"{error}; try again") from error
        except StoreLimit as error:
            raise Problem(422, str(error), field="window") from error
        except StoreError as error:
            raise Problem(503, str(error)) from error
        finally:
            self.metrics.count("hopsight_store_queries_total", query=label, outcome=outcome)
            self.metrics.observe(
                "hopsight_store_query_seconds", time.perf_counter() - began, query=label
            )
        return answer
