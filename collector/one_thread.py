"""Work on the thread that asks for it: its calls of Polars are not handed to Polars' own threads.

Many short calls cost more to hand over and to wait for than to do: on two shared virtual cores a
join of 3,000 rows took a fifth of the processor's time. Polars hands nothing over from inside of a
function that one of its queries calls, so the work is called by a query of one row. The results are
the same. A thread that has worked so may go on so: what it asks for later stays there, too.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import polars as pl

P = ParamSpec("P")
R = TypeVar("R")


def one_thread(work: Callable[P, R]) -> Callable[P, R]:
    """The function, done on one thread; what it raises is raised as it is."""

    @wraps(work)
    def alone(*args: P.args, **kwargs: P.kwargs) -> R:
        made: list[R] = []
        raised: list[BaseException] = []

        def called(row: pl.DataFrame) -> pl.DataFrame:
            try:
                made.append(work(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - raised again below, as it is
                raised.append(error)
            return row

        pl.LazyFrame({"row": [0]}).map_batches(called).collect()
        if raised:
            raise raised[0]
        return made[0]

    return alone
