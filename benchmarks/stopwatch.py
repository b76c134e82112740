"""How long something takes: wall and processor seconds, medians of a few runs."""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

RUNS = 5


@dataclass(frozen=True)
class Spent:
    """Seconds of one run: on the clock, and of processors (user and system)."""

    wall: float
    cpu: float


def rate(name: str, unit: str, amount: int, work: Callable[[], object]) -> None:
    """Print how many `unit` a second `work` does, when one call does `amount` of them."""
    work()  # compiles and fills caches
    found = median([spent(work) for _ in range(RUNS)])
    print(f"{name}: {amount / found.wall / 1e6:.2f} M {unit}/s ({found.wall * 1e3:.0f} ms)")


def spent(work: Callable[[], object]) -> Spent:
    """Time of one call in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def spent_by(command: Sequence[str]) -> Spent:
    """Time of one command, its output thrown away."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(  # noqa: S603 - commands are those of the benchmarks
        command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(time.perf_counter() - wall, cpu)


def median(runs: Sequence[Spent]) -> Spent:
    """Median of each."""
    walls, cpus = ([getattr(run, name) for run in runs] for name in ("wall", "cpu"))
    return Spent(statistics.median(walls), statistics.median(cpus))


def in_turns(works: Mapping[str, Callable[[], Spent]], runs: int = RUNS) -> dict[str, Spent]:
    """Medians of several works, measured in turns so that a disturbance meets them all."""
    found: dict[str, list[Spent]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            found[name].append(work())
    return {name: median(each) for name, each in found.items()}


def one_core() -> None:
    """Keep this process, and all that it starts, on one core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
