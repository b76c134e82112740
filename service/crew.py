"""A crew: processes that work out points of a sweep, each with what all of them need."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

from service.failure import ExitCode, Failure

Point = tuple[str, ...]
Row = dict[str, Any]
Work = Callable[[Any, Point], list[Row]]
ENDED = (
    "a process of the sweep was ended from outside, for want of memory perhaps: fewer --jobs need"
    " less; --output keeps what was worked out"
)
LOOK_S = 0.1
"""Time between two looks at whether Ctrl-C was pressed, seconds."""
_held: dict[str, Any] = {}


def begin(work: Work, needed: Any) -> None:
    """Make a process ready; an interruption is its parent's business, whose end is its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    _held.update(work=work, needed=needed)


@contextmanager
def unheard() -> Iterator[None]:
    """Ctrl-C waits, and processes that begin meanwhile never hear it, not even as they begin."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def heard() -> Iterator[Callable[[], None]]:
    """Ctrl-C is raised by the call that is given, and nowhere else.

    Whoever is interrupted while he holds a lock of the pool holds it for ever, and so ends never.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    pressed = threading.Event()

    def told() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield told
    finally:
        signal.signal(signal.SIGINT, before)


def next_of(ended: "SimpleQueue[Future[Any]]", told: Callable[[], None]) -> "Future[Any]":
    """The next point that has ended; KeyboardInterrupt when that is told first."""
    while True:
        told()
        with suppress(Empty):
            return ended.get(timeout=LOOK_S)


def end_with_parent() -> None:
    """End when the parent has: one that was killed has told nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def one(point: Point) -> list[Row] | tuple[ExitCode, str]:
    """The rows of a point, or why there are none: a Failure itself does not travel."""
    try:
        rows: list[Row] = _held["work"](_held["needed"], point)
    except Failure as failure:
        return failure.code, str(failure)
    return rows


def worked(
    work: Work, needed: Any, points: Sequence[Point], jobs: int | None
) -> Iterator[tuple[Point, list[Row]]]:
    """The rows of each point as they come, over all cores; what a point raises is raised.

    With one job or one point, nothing but this process works.
    """
    count = min(jobs or os.cpu_count() or 1, len(points))
    if count <= 1:
        for point in points:
            yield point, work(needed, point)
        return
    # Fresh processes: threads of the engine and of compiled code do not survive a fork.
    context = multiprocessing.get_context("spawn")
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    with heard() as told, ProcessPoolExecutor(count, context, begin, (work, needed)) as pool:
        with unheard():  # all processes begin with the first point
            asked = {pool.submit(one, point): point for point in points}
        try:
            for each in asked:
                each.add_done_callback(ended.put)
            for _ in points:
                done = next_of(ended, told)
                try:
                    rows = done.result()
                except BrokenProcessPool:
                    raise Failure(ExitCode.UNAVAILABLE, ENDED) from None
                if isinstance(rows, tuple):
                    raise Failure(*rows)
                yield asked[done], rows
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
