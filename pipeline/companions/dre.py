"""Companion: the rate of each flow at each of its data packets, by discounting (`cc.dre`)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, borrowing
from pipeline.batch import Rows
from pipeline.book import Book, holder
from pipeline.cc import dre, parameter
from pipeline.cc.parameter import Parameter, Value
from pipeline.companion import Course, decide, decided_dtype, frame_of
from pipeline.memory import Ints
from pipeline.sender import quality_of_tap

NAME = "dre"
COUNTED = (
    Parameter("bytes_of", "wire", "", 0, 1, "What of a packet counts: all octets, or its payload.",
              "open", ("wire", "payload")),
)  # fmt: skip
PAYLOAD = 1
TABLE = (*dre.TABLE, *COUNTED)
DECIDED = decided_dtype(("f8", "rate_bps", "X", "settled"), ("i4", "faults"))


class Dre:
    """See the module; ValueError names a parameter that is not accepted."""

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        self.parameters = parameter.records(parameters, dre.TABLE, COUNTED)
        self.book = Book(states=(dre.STATE, 1))

    def advance(self, course: Course) -> pl.DataFrame:
        """An estimate at each row with data."""
        rows, trail, book = course.rows, course.batch.trail, self.book
        book.room(course.slots, trail.size)
        own, counted = self.parameters
        wire = counted[0].bytes_of != PAYLOAD and "length" in course.frame.columns
        octets = arrow.values(course.frame["length"].cast(pl.UInt32)) if wire else rows.payload
        made = np.zeros(np.count_nonzero(rows.payload), DECIDED)
        estimate(rows, trail, octets, book.book, book.used, book["states"], own, made)
        return frame_of(course, made, NAME, dre.Branch)


@borrowing
def estimate(
    rows: Rows, trail: NDArray[Any], octets: NDArray[np.uint32], book: NDArray[Any], used: Ints,
    states: NDArray[Any], own: NDArray[Any], made: NDArray[Any],
) -> None:  # fmt: skip
    """Every row with data: its bytes, and the rate then."""
    count = 0
    for at in range(trail.size):
        if rows.payload[at] == 0:
            continue
        mark, d = trail[at], int(rows.direction[at])
        place, fresh = holder(book, used, mark, d)
        s = states[place]
        if fresh:
            dre.reset(s)
        branch = dre.sample(s, own[0], rows.time_ns[at], int(octets[at]))
        decide(made[count], mark, d, at, mark.snd_una[d], 0)
        made[count].branch, made[count].faults = branch, s.faults
        made[count].quality, made[count].why = quality_of_tap(mark, d)
        made[count].rate_bps, made[count].X, made[count].settled = s.rate_bps, s.X, s.settled
        count += 1
