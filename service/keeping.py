"""What a worker made, into a store: a store that takes nothing for now is tried again."""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import polars as pl
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_delay,
    wait_random_exponential,
)

from pipeline import Output, OwnerClient, Sink, Store, StoreAway

LONGEST_PAUSE_S = 5.0
COUNTING = threading.Lock()
T = TypeVar("T")
logger = logging.getLogger("hopsight.service")


def store_sink(store: Store | OwnerClient, counts: Counter[str] | None = None) -> Sink:
    """Keeps every table of an output; a repeat of the same rows is stored once.

    While the store is away (a full disk, a server that does not answer) it waits, and so do those
    behind it; `counts` is told of each try that failed (`store_away`) and of rows by table.
    """
    counted = Counter() if counts is None else counts

    def keep(output: Output, token: str) -> None:
        for name, rows in output.whole.items():
            if rows.height:
                persist(store, name, rows, f"{token}:{fingerprint(rows)}", counted)

    return keep


def persist(
    store: Store | OwnerClient, table: str, rows: pl.DataFrame, token: str, counts: Counter[str]
) -> None:
    """Insert rows until the store takes them."""
    for attempt in Retrying(
        retry=retry_if_exception_type(StoreAway),
        wait=wait_random_exponential(multiplier=0.1, max=LONGEST_PAUSE_S),
        reraise=True,
    ):
        with attempt:
            try:
                add(counts, f"rows_{table}", store.insert(table, rows, token))
            except StoreAway as error:
                add(counts, "store_away", 1)
                if attempt.retry_state.attempt_number == 1:
                    logger.warning("rows wait: %s", error)
                raise


def add(counts: Counter[str], name: str, more: int) -> None:
    """Count, whichever of several threads does."""
    with COUNTING:
        counts[name] += more


def patiently(work: Callable[[], T], patience_s: float) -> T:
    """Do something with a store that may be away, again and again for so long.

    Raises what it raised last.
    """

    def told(state: RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome:
            logger.warning("tried again for %g s: %s", patience_s, state.outcome.exception())

    retrying = Retrying(
        retry=retry_if_exception_type(StoreAway),
        stop=stop_after_delay(patience_s),
        wait=wait_random_exponential(multiplier=0.1, max=LONGEST_PAUSE_S),
        before_sleep=told,
        reraise=True,
    )
    return retrying(work)


def fingerprint(rows: pl.DataFrame) -> str:
    """Names the rows' content: other rows never share a token, the same rows always do."""
    plain = rows.with_columns(
        pl.col(pl.List(pl.String)).list.join(","), pl.selectors.struct().struct.json_encode()
    )
    return f"{rows.height}-{plain.hash_rows().sum():x}"
