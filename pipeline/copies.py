"""Copies of one frame at one point: a mirror that sends twice must not count twice.

A frame is a copy when everything that a host would change is as in one shortly before: IP
identification, sequence numbers, flags, timestamps, length. Of a host that does not number its
packets two acknowledgments may say the same, and data that is sent again is as it was: they are
copies only where half of the frames of their point come twice, or where too few came yet to know.
Datagrams without any number (UDP of IPv6, or with an identification of 0) are all alike. They tell
nothing of their point, and where its other frames come twice each second one is a copy. Of a point
that has no others none is: that a mirror sends twice cannot be seen there.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, borrowing, inlined, prefetch
from pipeline.cc.parameter import state_dtype
from pipeline.point_number import PointNumbers
from pipeline.recent import NEAR, PLACES, placed

AT_ONCE = 1 << 12
"""Rows that are looked at together, so that their words stay near."""
AHEAD = 32
"""Rows whose places are asked for before they are looked at."""
FEW = 4
"""Frames at a point that say nothing yet of whether its mirror sends twice."""
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORDS = ("flow", "ip_id", "seq", "ack", "flags", "payload_bytes", "ts_val", "hpcc_kind")
"""What makes a frame what it is, beside its point."""
OF_ROCE = {
    "seq": "roce_psn", "ack": "roce_msn", "flags": "roce_opcode", "ts_val": "roce_syndrome",
}  # fmt: skip
"""What RoCE says in the place of words that it leaves empty."""
TELLING = frozenset((*WORDS, *OF_ROCE.values()))
"""Columns that words are made of."""
FLOW, NUMBERED, SEQ, ACK, FLAGS, DATA, ECHO, KIND = range(len(WORDS))
MIDDLE, HIGH = np.uint64(16), np.uint64(32)
"""Where in a word the second and the last lie of values of 16 and of 32 bits."""
FRAME = state_dtype(("u8", "mark", "frame"), ("i8", "time_ns"))
"""What is remembered of a frame, side by side: it is far away."""


class Copies:
    """Finds copies among rows in order of time. Those further apart than `within_ns` are none."""

    def __init__(self, within_ns: int) -> None:
        self.within_ns = within_ns
        self.count = 0
        self.known = np.zeros(PLACES, FRAME)
        self.points = PointNumbers()
        self.seen = np.zeros((0, 2), np.int64)

    def without(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that are no copies of earlier ones."""
        if not self.within_ns or rows.is_empty():
            return rows
        point = self.points.of(rows["point"])
        new = len(self.points.known) - len(self.seen)
        self.seen = np.concatenate([self.seen, np.zeros((new, 2), np.int64)])
        first = np.ones(rows.height, np.bool_)
        columns = columns_of(rows)
        time_ns, frame = arrow.values(rows["time_ns"]), arrow.values(rows["frame"])
        words = np.zeros((len(WORDS), AT_ONCE), np.uint64)
        mark = np.zeros(AT_ONCE + AHEAD, np.uint64)
        for begin in range(0, rows.height, AT_ONCE):
            here = slice(begin, begin + AT_ONCE)
            find(
                filled(words, columns, here), point[here], self.seen, time_ns[here], frame[here],
                self.within_ns, mark, self.known, first[here],
            )  # fmt: skip
        copies = rows.height - int(np.count_nonzero(first))
        self.count += copies
        return rows.filter(pl.Series(first)) if copies else rows


def columns_of(rows: pl.DataFrame) -> list[tuple[int, NDArray[Any]]]:
    """Columns that make each frame what it is, with the number of their word."""
    told = [(place, name) for place, name in enumerate(WORDS) if name in rows.columns]
    told += [(WORDS.index(name), same) for name, same in OF_ROCE.items() if same in rows.columns]
    return [(place, arrow.values(rows[name])) for place, name in told]


def filled(
    words: NDArray[np.uint64], columns: list[tuple[int, NDArray[Any]]], here: slice
) -> NDArray[np.uint64]:
    """(word, row) of some rows, in the memory of `words`; a column that is absent is 0."""
    begun: set[int] = set()
    for place, values in columns:
        some = values[here]
        if place in begun:
            words[place, : some.size] |= some
        else:
            words[place, : some.size] = some
        begun.add(place)
    return words


def words_of(rows: pl.DataFrame) -> NDArray[np.uint64]:
    """(word, row): what makes each frame what it is; a column that is absent is 0."""
    words = np.zeros((len(WORDS), rows.height), np.uint64)
    return filled(words, columns_of(rows), slice(None))


@inlined
def mixed(state: Any, word: Any) -> Any:
    """Both in one word, every bit of either in every bit of it."""
    state = (state ^ word) * np.uint64(FIRST)
    state = (state ^ state >> np.uint64(29)) * np.uint64(SECOND)
    return state ^ state >> np.uint64(32)


@inlined
def unnamed(words: Any, row: Any) -> bool:
    """Whether nothing tells a frame apart from others of its flow and length."""
    told = words[SEQ, row] | words[ACK, row] | words[ECHO, row] | words[FLAGS, row]
    return bool((told | words[NUMBERED, row] | words[KIND, row]) == np.uint64(0))


@borrowing
def find(
    words: NDArray[np.uint64],
    point: NDArray[np.int32],
    seen: NDArray[np.int64],
    time_ns: NDArray[np.int64],
    frame: NDArray[np.uint64],
    within_ns: int,
    mark: NDArray[np.uint64],
    known: NDArray[Any],
    first: NDArray[np.bool_],
) -> None:
    """Write whether each row is the first of its kind. Rows of one frame are never copies.

    `seen` counts, of each point, frames that can be told apart: those that came, and came again.
    `mark` has room for a word a row.
    """
    for at in range(time_ns.size):
        row = np.uint64(at)  # an index without a sign is a plain load
        own = mixed(np.uint64(point[row]), words[FLOW, row])
        own = mixed(own, words[SEQ, row] | words[ACK, row] << HIGH)
        own = mixed(
            own, words[FLAGS, row] | words[NUMBERED, row] << MIDDLE | words[DATA, row] << HIGH
        )
        mark[row] = mixed(own, words[KIND, row] | words[ECHO, row] << HIGH)
    marks, times = known["mark"], known["time_ns"]
    for at in range(time_ns.size):
        row = np.uint64(at)
        ahead = mark[row + np.uint64(AHEAD)] & np.uint64(known.size - NEAR)
        prefetch(known, ahead)
        prefetch(known, ahead | np.uint64(NEAR - 1))
        own = mark[row]
        like = known[placed(marks, times, own, NEAR)]
        again = like.mark == own and like.frame != frame[row]
        again = again and time_ns[row] - like.time_ns <= within_ns
        numbered, data = words[NUMBERED, row] != np.uint64(0), words[DATA, row] != np.uint64(0)
        alike = unnamed(words, row)
        counts = seen[point[row]]
        if (numbered or data) and not alike:
            counts[np.uint64(again)] += 1
        twice = 2 * counts[1] >= counts[0]
        sent_alike = not numbered and counts[0] > FEW and not twice
        if alike and again:
            first[row] = counts[0] <= FEW or not twice
            like.mark = np.uint64(0)  # the one after it is another one's first
        elif again:
            first[row] = sent_alike
        elif data or not sent_alike:
            like.mark, like.time_ns, like.frame = own, time_ns[row], frame[row]
