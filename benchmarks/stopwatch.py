"""How long something takes: the best of a few runs, which is the one least disturbed."""

import time
from collections.abc import Callable

RUNS = 5


def rate(name: str, unit: str, amount: int, work: Callable[[], object]) -> None:
    """Print how many `unit` a second `work` does, when one call does `amount` of them."""
    work()  # compiles and fills caches
    best = min(seconds(work) for _ in range(RUNS))
    print(f"{name}: {amount / best / 1e6:.2f} M {unit}/s ({best * 1e3:.0f} ms for {amount})")


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
