"""Integrity of feedback: what reflects telemetry to a sender must be new, and run forwards.

A reflection that one point sees again later than any mirror's copy, equal in all that tells packets
apart, is replayed: by its IP identification, by the time that the first hop of its stack wrote, by
RoCE's sequence numbers. Where nothing tells packets apart a repeat cannot be told from a duplicate
ACK, and nothing is said. Checksums are checked where frames are decoded (`integrity`).
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, borrowing
from pipeline.copies import mixed, words_of
from pipeline.point_number import PointNumbers
from pipeline.recent import NEAR, PLACES, placed
from pipeline.signals import reverse, reversible

TOLD = ("ip_id", "h0_ts_ns", "h0_tx_bytes", "roce_psn", "roce_msn", "csig_echo_s", "csig_echo_lm")
"""What a reflection says beside the words of any frame (`copies`)."""
APART = ("ip_id", "h0_ts_ns", "roce_psn", "roce_msn")
"""Columns of which one at least tells two packets apart."""
REFLECTED = ("csig_echo_variant", "tcp_int_echo_value")
REPLAYED = "replayed"
CHECKED = {"valid": 1, "invalid": 2}
"""What the column `integrity` of an observation says."""


class Feedback:
    """Finds reflections that were seen before. Up to `PLACES` are remembered."""

    def __init__(self) -> None:
        self.marks = np.zeros(PLACES, np.uint64)
        self.times = np.zeros(PLACES, np.int64)
        self.points = PointNumbers()

    def told(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with `replayed`: null on what is no feedback or cannot be told apart."""
        here = reflects(rows)
        if not here.any():
            return rows
        told = rows[np.flatnonzero(here)]
        words = np.concatenate([words_of(told), further(told)])
        point = arrow.fixed(self.points.of(told["point"]))
        again = np.zeros(told.height, np.bool_)
        find(words, point, arrow.values(told["time_ns"]), self.marks, self.times, again)
        apart = np.zeros(told.height, np.bool_)
        for name in APART:
            if name in told.columns:
                apart |= arrow.values(told[name]) != 0
        whole = np.full(rows.height, -1, np.int8)
        whole[here] = np.where(apart, again, -1)
        marked = pl.Series(REPLAYED, whole)
        return rows.with_columns(marked.set(marked < 0, None).cast(pl.Boolean))


def reflects(rows: pl.DataFrame) -> NDArray[np.bool_]:
    """Whether each row reflects telemetry."""
    found = np.zeros(rows.height, np.bool_)
    for name in REFLECTED:
        if name in rows.columns:
            found |= ~arrow.nulls(rows[name])
    return found | arrow.values(rows["int_reflected"]) if "int_reflected" in rows.columns else found


def further(rows: pl.DataFrame) -> NDArray[np.uint64]:
    """(word, row) of `TOLD`; what is absent is 0."""
    words = np.zeros((len(TOLD), rows.height), np.uint64)
    for place, name in enumerate(TOLD):
        if name in rows.columns:
            words[place] = arrow.values(rows[name])
    return words


def counted_feedback(rows: pl.DataFrame) -> pl.DataFrame:
    """Reflections of each row's reverse flow: time_ns, flow, point, feedback, feedback_replayed.

    Whose data a queue pair's acknowledgments reflect is not told by their ends.
    """
    needed = ("time_ns", "flow", "point", "conversation", "direction", "integrity", REPLAYED)
    told = rows[[n for n in needed if n in rows.columns]][np.flatnonzero(reflects(rows))]
    told = told.filter(reversible(told))
    again = pl.col(REPLAYED) if REPLAYED in rows.columns else pl.lit(None, pl.Boolean)
    checks = pl.col("integrity") if "integrity" in rows.columns else pl.lit(None, pl.UInt8)
    return told.select(
        "time_ns",
        reverse(told).alias("flow"),
        "point",
        pl.lit(1, pl.UInt64).alias("feedback"),
        *(
            (checks == number).fill_null(value=False).cast(pl.UInt64).alias(f"feedback_{name}")
            for name, number in CHECKED.items()
        ),
        again.is_not_null().cast(pl.UInt64).alias("feedback_told_apart"),
        again.fill_null(value=False).cast(pl.UInt64).alias("feedback_replayed"),
    )


@borrowing
def find(
    words: NDArray[np.uint64],
    point: NDArray[np.int32],
    time_ns: NDArray[np.int64],
    marks: NDArray[np.uint64],
    times: NDArray[np.int64],
    again: NDArray[np.bool_],
) -> None:
    """Write whether each row was seen before at its point."""
    for row in range(point.size):
        mark = np.uint64(point[row]) + np.uint64(1)
        for word in range(words.shape[0]):
            mark = mixed(mark, words[word, row])
        place = placed(marks, times, mark, NEAR)
        again[row] = marks[place] == mark
        marks[place], times[place] = mark, time_ns[row]
