"""Questions to the store from the event loop: each in a thread, timed and counted."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from contextvars import copy_context
from functools import cache, partial
from typing import Any, TypeVar

import polars as pl
from fastapi import Request
from opentelemetry.trace import Tracer

from pipeline import (
    NotTheirs,
    OwnerClient,
    Question,
    Store,
    StoreBusy,
    StoreError,
    StoreLimit,
    TenantStore,
    answer,
)
from service.access import identity_of
from service.metrics import Metrics
from service.problem import Problem
from service.same_question import Shared
from service.turns import Turns

T = TypeVar("T")
ANSWERS = 5
"""Answers about a flow that are made at once for each reader: the store asks for them together. Of
nine a tenth more are made while 200 ask, and what others poll meanwhile takes twice as long."""
THREADS = 64
"""Threads that ask; who would need more of them waits, as the store would let it."""


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "asking")


async def in_thread(call: Callable[[], T]) -> T:
    """What a call gives in a thread; whoever is cancelled goes when that has ended.

    A thread of anyio is waited for a third of a millisecond longer.
    """
    running = asyncio.wrap_future(_threads().submit(copy_context().run, call))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        with suppress(Exception):  # nobody is there to hear of it
            await running
        raise


class Reader:
    """The store as routes see it: as many questions at once as it has readers, the rest queue.

    A question that would have no turn in `StoreLimits.wait_s` is refused (`Turns`). Answers about
    a flow have turns of their own (`answers`): their questions are asked together.
    """

    def __init__(
        self,
        store: Store | OwnerClient | TenantStore,
        metrics: Metrics,
        turns: Turns,
        tracer: Tracer | None = None,
        shared: Shared | None = None,
        answers: Turns | None = None,
    ) -> None:
        self.shared = shared or Shared()
        self.tracer = tracer
        self.store = store
        self.metrics = metrics
        self.turns = turns
        self.answers = answers or Turns(ANSWERS * turns.count, turns.wait_s)

    @property
    def busy(self) -> bool:
        """Whether readers have no time left."""
        return self.turns.all_taken or self.answers.taken >= self.turns.count

    @property
    def sees_all(self) -> bool:
        """Whether whoever asks sees the flows of everybody."""
        return not isinstance(self.store, TenantStore)

    @property
    def seen(self) -> tuple[str, ...] | None:
        """The tenants whose flows whoever asks sees; None: those of everybody."""
        return tuple(self.store.tenants) if isinstance(self.store, TenantStore) else None

    def of_tenants(self, tenants: tuple[str, ...]) -> "Reader":
        """The same for people who see the flows of some tenants alone."""
        own = (
            self.store if isinstance(self.store, TenantStore) else TenantStore(self.store, tenants)
        )
        return Reader(own, self.metrics, self.turns, self.tracer, self.shared, self.answers)

    async def ask(self, name: str, **parameters: Any) -> pl.DataFrame:
        """The answer to a query of the store by its name; who asks the same meanwhile shares it."""
        key = (name, repr(self.seen), repr(sorted(parameters.items())))

        async def asked() -> pl.DataFrame:
            return await self.run(name, self.store.query, name, **parameters)

        told: pl.DataFrame
        told, known = await self.shared.ask(key, self.store.revision, asked)
        if known:
            self.metrics.count("hopsight_store_queries_total", query=name, outcome="shared")
        return told

    def look(self) -> None:
        """Raises Problem where an answer about a flow would come too late, before it is asked."""
        try:
            self.answers.look()
        except StoreBusy as error:
            self.metrics.count("hopsight_store_queries_total", query="answer", outcome="refused")
            raise refused(error) from error

    async def answer(self, question: Question) -> dict[str, Any]:
        """Where a flow is bottlenecked (`pipeline.answer`). Raises Problem as `run` does."""
        return await self._timed("answer", partial(answer, self.store, question), self.answers)

    async def run(self, label: str, function: Callable[..., T], *given: Any, **named: Any) -> T:
        """Call a function that asks the store, in a thread; `label` names it in the metrics.

        Raises Problem: 503 when there is no turn in time or the store fails, 422 when a limit of
        the store is passed, 404 for what is of other tenants.
        """
        return await self._timed(label, partial(function, *given, **named), self.turns)

    async def _timed(self, label: str, call: Callable[[], T], turns: Turns) -> T:
        began, outcome = time.perf_counter(), "failed"
        spans = self.tracer
        try:
            with spans.start_as_current_span(f"store {label}") if spans else nullcontext():
                async with turns.one():
                    told = await in_thread(call)
            outcome = "answered"
        except StoreBusy as error:
            outcome = "refused"
            raise refused(error) from error
        except StoreLimit as error:
            raise Problem(422, str(error), field="window") from error
        except NotTheirs as error:
            raise Problem(404, str(error)) from error
        except StoreError as error:
            raise Problem(503, str(error)) from error
        finally:
            self.metrics.count("hopsight_store_queries_total", query=label, outcome=outcome)
            self.metrics.observe(
                "hopsight_store_query_seconds", time.perf_counter() - began, query=label
            )
        return told


def refused(error: StoreBusy) -> Problem:
    """What a client hears that is to come again."""
    return Problem(503, f"{error}; try again in {error.later_s} s", later_s=error.later_s)


def reader_of(request: Request) -> Reader:
    """The store as whoever asks may see it."""
    reader: Reader = request.app.state.reader
    identity = identity_of(request)
    if identity is None:
        raise Problem(401, "nobody is known to ask")
    return reader if identity.sees_all else reader.of_tenants(identity.tenants)
