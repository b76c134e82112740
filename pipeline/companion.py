"""Companions: algorithms asked for by name, run on the same signals beside those of the tracker.

HPCC++ and DCTCP are followed wherever packets show them. Whether a sender runs Swift, or whether
its receiver runs the receiver's form of HPCC++, no packet says; so these run where they are asked
for, as if the sender did, and replay can compare them on one trace. A companion goes over the rows
of a batch once more in a loop of its own, led by the trail of the tracker's loop (`trail`): it
knows slots, sequence numbers and lives from there and keeps only its own state.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from collector import inlined
from pipeline.batch import Batch, Rows
from pipeline.book import Book
from pipeline.cc.parameter import Record, state_dtype
from pipeline.decided import either, flow_of, names
from pipeline.memory import Mark, Quality, Rules, Why
from pipeline.queue_pairs import DATA_FLOW
from pipeline.round_trip import Timed
from pipeline.sender import begin_path, quality_of_tap
from pipeline.tell import WORD

CONTEXT = ("time_ns", "source", "point", "frame", "conversation")


class Course(NamedTuple):
    """What a companion goes over.

    `frame` as given to the tracker and the same rows as columns, those with telemetry (`told`),
    what the loop read and left, parameters, round trips (`timed`), and how many slots the trail
    may name.
    """

    frame: pl.DataFrame
    told: pl.DataFrame
    rows: Rows
    batch: Batch
    rules: Rules
    timed: Timed
    slots: int

    @property
    def events(self) -> int:
        """The most decisions that rows can bring where ACKs and data sent again bring them."""
        acks = int(np.count_nonzero(self.batch.trail["acked"] > 0))
        return acks + int(np.count_nonzero(self.timed.resent))


class Companion(Protocol):
    """One algorithm with its state; the columns of what it gives are `columns` behind `COMMON`."""

    parameters: tuple[NDArray[Any], ...]
    book: Book

    def advance(self, course: Course) -> pl.DataFrame:
        """Take the next rows; gives what was decided, in their order."""
        ...


SHARED = (
    ("i8", "row", "acked_bytes", "inflight_bytes"),
    ("u4", "ack"),
    ("i1", "direction", "branch", "quality", "why"),
)
COMMON = state_dtype(*SHARED)
"""What decisions of all companions have."""


def decided_dtype(*groups: tuple[Any, ...]) -> np.dtype[Any]:
    """A decision of a companion: what all have, and groups as in `state_dtype` of its own."""
    return state_dtype(*SHARED, *groups)


@inlined
def set_path(s: Record, p: Record, rows: Rows, at: int, mark: Record, d: int) -> None:
    """Make an `hpcc.STATE` of sender d ready, by what a row tells of the path."""
    b_nic_bps = rows.src_nic_bps[at] if d == rows.direction[at] else rows.dst_nic_bps[at]
    begin_path(s, p, rows.base_rtt_ns[at], mark.rtt_ns, b_nic_bps, rows.window_bytes[at])


@inlined
def decide(made: Record, mark: Record, d: int, at: int, ack: int, acked: int) -> None:
    """What all decisions have: the row, whose sender, the ACK and what is in flight after it."""
    made.row = at
    made.direction = d
    made.ack = ack & WORD
    made.acked_bytes = acked
    made.inflight_bytes = mark.snd_nxt[d] - mark.snd_una[d]


@inlined
def quality_of_sender(mark: Record, d: int) -> tuple[int, int]:
    """How far a window can be trusted that began at the sender's first data."""
    if not mark.marks[d] & Mark.SYN_SEEN.value:
        return Quality.UNKNOWN.value, Why.MID_FLOW.value
    return quality_of_tap(mark, d)


def frame_of(
    course: Course, made: NDArray[Any], algorithm: str, branches: type[IntEnum]
) -> pl.DataFrame:
    """Decisions as a frame: first what all have, then the algorithm's own fields; NaN is null."""
    context = course.frame.select(CONTEXT)[made["row"]]
    codes: Mapping[str, type[IntEnum]] = {"branch": branches, "quality": Quality, "why": Why}
    flow = flow_of(context["conversation"], made["direction"])
    if DATA_FLOW in course.frame.columns:
        flow = either(course.frame[DATA_FLOW][made["row"]], flow)
    told: list[pl.Series | pl.Expr] = [
        flow,
        pl.lit(algorithm).alias("algorithm"),
        *(column(name, made[name]).cat.to(names(kind)) for name, kind in codes.items()),
    ]
    rest = [name for name in made.dtype.names or () if name not in ("row", "direction", *codes)]
    order = ["ack", "acked_bytes", "inflight_bytes"]
    order += [name for name in rest if name not in order]
    return context.with_columns(*told, *(column(name, made[name]) for name in order)).with_columns(
        pl.when(pl.col("why") != Why.NOTHING.name.lower()).then("why").alias("why"),
        cs.float().fill_nan(None),
    )


def column(name: str, values: NDArray[Any]) -> pl.Series:
    """A field of records as a column; codes have no sign."""
    code = name in ("branch", "quality", "why")
    return pl.Series(name, np.ascontiguousarray(values).view(np.uint8 if code else values.dtype))
