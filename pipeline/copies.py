"""Copies of one frame at one point: a mirror that sends twice must not count twice.

A frame is a copy when everything that a host would change is as in one shortly before: IP
identification, sequence numbers, flags, timestamps, length. Two acknowledgments of a host that does
not number its packets may say the same and both have been sent: they are copies only where frames
that can be told apart came twice too, or where too few came yet to know.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, borrowing, inlined
from pipeline.point_number import PointNumbers
from pipeline.unit import MICROSECOND

PLACES = 1 << 18
"""Frames that are remembered; one gives way to another that falls on its place."""
FEW = 4
"""Frames at a point that say nothing yet of whether its mirror sends twice."""
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORDS = ("flow", "ip_id", "seq", "ack", "flags", "payload_bytes", "ts_val", "hpcc_kind")
"""What makes a frame what it is, beside its point."""
OF_ROCE = {
    "seq": "roce_psn", "ack": "roce_msn", "flags": "roce_opcode", "ts_val": "roce_syndrome",
}  # fmt: skip
"""What RoCE says in the place of words that it leaves empty."""
NUMBERED, DATA = WORDS.index("ip_id"), WORDS.index("payload_bytes")


class Copies:
    """Finds copies among rows in order of time. Those further apart than `within_us` are none."""

    def __init__(self, within_us: float) -> None:
        self.within_ns = round(within_us * MICROSECOND)
        self.count = 0
        self.marks = np.zeros(PLACES, np.uint64)
        self.times = np.zeros(PLACES, np.int64)
        self.frames = np.zeros(PLACES, np.uint64)
        self.points = PointNumbers()
        self.seen = np.zeros((0, 2), np.int64)

    def without(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that are no copies of earlier ones."""
        if not self.within_ns or rows.is_empty():
            return rows
        words = words_of(rows)
        point = self.points.of(rows["point"])
        new = len(self.points.known) - len(self.seen)
        self.seen = np.concatenate([self.seen, np.zeros((new, 2), np.int64)])
        first = np.ones(rows.height, np.bool_)
        find(
            words, arrow.fixed(point), self.seen, arrow.values(rows["time_ns"]),
            arrow.values(rows["frame"]),
            self.within_ns, self.marks, self.times, self.frames, first,
        )  # fmt: skip
        copies = rows.height - int(np.count_nonzero(first))
        self.count += copies
        return rows.filter(pl.Series(first)) if copies else rows


def words_of(rows: pl.DataFrame) -> NDArray[np.uint64]:
    """(word, row): what makes each frame what it is; a column that is absent is 0."""
    words = np.zeros((len(WORDS), rows.height), np.uint64)
    for place, name in enumerate(WORDS):
        if name in rows.columns:
            words[place] = arrow.values(rows[name])
    for name, same in OF_ROCE.items():
        if same in rows.columns:
            words[WORDS.index(name)] |= arrow.values(rows[same])
    return words


@inlined
def mixed(state: Any, word: Any) -> Any:
    """Both in one word, every bit of either in every bit of it."""
    state = (state ^ word) * np.uint64(FIRST)
    state = (state ^ state >> np.uint64(29)) * np.uint64(SECOND)
    return state ^ state >> np.uint64(32)


@borrowing
def find(
    words: NDArray[np.uint64],
    point: NDArray[np.int32],
    seen: NDArray[np.int64],
    time_ns: NDArray[np.int64],
    frame: NDArray[np.uint64],
    within_ns: int,
    marks: NDArray[np.uint64],
    times: NDArray[np.int64],
    frames: NDArray[np.uint64],
    first: NDArray[np.bool_],
) -> None:
    """Write whether each row is the first of its kind. Rows of one frame are never copies.

    `seen` counts, of each point, frames that can be told apart: those that came, and came again.
    """
    for row in range(time_ns.size):
        here = point[row]
        mark = np.uint64(here)
        for word in range(words.shape[0]):
            mark = mixed(mark, words[word, row])
        place = mark & np.uint64(marks.size - 1)
        again = marks[place] == mark and frames[place] != frame[row]
        again = again and time_ns[row] - times[place] <= within_ns
        if words[NUMBERED, row] != np.uint64(0) or words[DATA, row] != np.uint64(0):
            seen[here, int(again)] += 1
        elif seen[here, 0] > FEW and 2 * seen[here, 1] < seen[here, 0]:
            continue
        if again:
            first[row] = False
        else:
            marks[place], times[place], frames[place] = mark, time_ns[row], frame[row]
