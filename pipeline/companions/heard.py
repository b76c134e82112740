"""What rows tell of load, and whose sender it is of: reflected on ACKs, or carried by data.

Telemetry on data waits for the ACK that covers it (`load_loop`); once a sender has been seen to get
its telemetry back, only that counts, as in `telemetry_row`: both are one measurement.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import ANSWERS, Kind, Rows
from pipeline.book import holder
from pipeline.cc.parameter import Record, state_dtype
from pipeline.companion import set_path
from pipeline.memory import Ints
from pipeline.sender import ACK, SYN

Flags = NDArray[np.bool_]
NOBODY = -1


class News(IntEnum):
    """What one piece of telemetry begins."""

    NOTHING = 0
    REFLECTION = 1
    SENDER = 2


HEARD = state_dtype(("i8", "t_ns"), ("i1", "reflected"))
"""T of a sender, and whether it gets its telemetry back."""


class Heard(NamedTuple):
    """Pieces of telemetry in the order of rows, what is reflected before what data carries.

    `row` and `back` (reflected) of each; then what `attribute` finds out: the place of the sender
    (`NOBODY`: it does not count), its T, what it begins; and for each row of the batch (`acks`) the
    place of the sender whose data it can acknowledge.
    """

    row: Ints
    back: NDArray[np.uint8]
    place: Ints
    t_ns: Ints
    news: NDArray[np.uint8]
    acks: Ints


def heard(rows: Rows, on_data: Flags, on_acks: Flags) -> Heard:
    """The pieces of a batch, from the rows that carry some of either kind."""
    tcp = (rows.kind == Kind.TCP) & (rows.tcp_flags & (ACK | SYN) == ACK)
    data = (rows.kind > Kind.PROBE) & (rows.payload > 0)
    told = np.stack([on_acks & (tcp | ANSWERS[rows.kind]), on_data & data], axis=1)
    row, own = np.nonzero(told)
    return Heard(
        row.astype(np.int64),
        (own == 0).astype(np.uint8),
        np.full(row.size, NOBODY, np.int64),
        np.zeros(row.size, np.int64),
        np.zeros(row.size, np.uint8),
        np.full(rows.time_ns.size, NOBODY, np.int64),
    )


@borrowing
def attribute(
    rows: Rows, trail: NDArray[Any], told: Heard, book: NDArray[Any], used: Ints,
    known: NDArray[Any], p: NDArray[Any], scratch: NDArray[Any],
) -> None:  # fmt: skip
    """Say of each piece whose it is; `known` are `HEARD` of senders, `scratch` is overwritten."""
    piece = 0
    for at in range(trail.size):
        mark, r = trail[at], int(rows.direction[at])
        told.acks[at] = place_of(book, mark, 1 - r)
        while piece < told.row.size and told.row[piece] == at:
            back = told.back[piece] != 0
            d = 1 - r if back else r
            place, fresh = holder(book, used, mark, d)
            news = News.NOTHING.value
            if fresh:
                news = News.SENDER.value
                set_path(scratch[0], p[0], rows, at, mark, d)
                known[place].t_ns = np.int64(scratch[0].T_ns)
                known[place].reflected = 0
            if back:
                told.acks[at] = place
                if known[place].reflected == 0 and not fresh:
                    news = News.REFLECTION.value
                known[place].reflected = 1
            if back or known[place].reflected == 0:
                told.place[piece] = place
                told.t_ns[piece], told.news[piece] = known[place].t_ns, news
            piece += 1


@inlined
def place_of(book: NDArray[Any], mark: Record, d: int) -> int:
    """The place of sender d of a slot, where it has one."""
    own = book[2 * mark.slot + d]
    return int(own.place) - 1 if own.place > 0 and own.life == mark.life[d] else NOBODY
