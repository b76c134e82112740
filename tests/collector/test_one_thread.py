"""One thread: Polars hands nothing over, and nobody can tell by what comes back."""

import resource
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

from collector import one_thread

JOINS = 40
ROWS = pl.DataFrame({"flow": range(3000), "bytes": range(3000)})


def joined() -> tuple[pl.DataFrame, int]:
    """Rows that were joined many times, and how often this thread had to wait for another."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    rows = ROWS
    for _ in range(JOINS):
        rows = rows.select("flow", "bytes").join(ROWS, on="flow", how="left", maintain_order="left")
    return rows, resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before


def anew(work: Callable[[], tuple[pl.DataFrame, int]]) -> tuple[pl.DataFrame, int]:
    """What a thread makes of it that has done nothing before."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


@pytest.mark.skipif(pl.thread_pool_size() < 2, reason="one thread has nobody to wait for")
def test_polars_hands_nothing_over() -> None:
    usual, waited = anew(joined)
    rows, alone = anew(one_thread(joined))
    assert rows.equals(usual)
    assert alone < JOINS <= waited


def test_work_stays_where_it_is_asked_for() -> None:
    @one_thread
    def here(*told: int, more: int = 0) -> tuple[int, int]:
        return threading.get_ident(), sum(told) + more

    assert here(1, 2, more=3) == (threading.get_ident(), 6)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, pl.exceptions.ColumnNotFoundError])
def test_what_is_raised_is_raised_as_it_is(kind: type[BaseException]) -> None:
    error = kind("of the work")

    @one_thread
    def failing() -> None:
        raise error

    with pytest.raises(kind) as found:
        failing()
    assert found.value is error


def test_one_may_be_in_another() -> None:
    assert one_thread(one_thread(lambda: 1))() == 1
