"""Companion: Poseidon (`cc.poseidon`) on the round trips of a tap and on CSIG's max(PD)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import Rows
from pipeline.book import Book
from pipeline.cc import parameter, poseidon
from pipeline.cc.parameter import Record, Value
from pipeline.companion import Course, decided_dtype, frame_of
from pipeline.companions import sample
from pipeline.companions.event import Event, acked_packets, decide_window, happened
from pipeline.companions.sample import Echoes, Senders
from pipeline.round_trip import Timed

NAME = "poseidon"
TABLE = (*poseidon.TABLE, *sample.TABLE)
DECIDED = decided_dtype(
    ("f8", "cwnd_before", "cwnd", "rate_bps", "MPT", "MPD", "U", "pacing_delay_ns"),
    ("i8", "rtt_ns"), ("i4", "retransmit_cnt", "faults"),
)  # fmt: skip


class Poseidon:
    """Every sender as if it ran Poseidon; ValueError names a parameter that is not accepted."""

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        self.parameters = parameter.records(parameters, poseidon.TABLE, sample.TABLE)
        self.book = Book(states=(poseidon.STATE, 1), samples=(sample.STATE, 1))

    def advance(self, course: Course) -> pl.DataFrame:
        """Decisions at each ACK of new data and each loss; windows are in packets of the MSS."""
        trail, book = course.batch.trail, self.book
        book.room(course.slots, trail.size)
        made = np.zeros(course.events, DECIDED)
        senders = sample.senders_of(book)
        echoes = sample.echoes(course.frame)
        own, held = self.parameters
        count = follow(course.rows, trail, course.timed, echoes, senders, own, held, made)
        return frame_of(course, made[:count], NAME, poseidon.Branch)


@borrowing
def follow(
    rows: Rows, trail: NDArray[Any], timed: Timed, echoes: Echoes, senders: Senders,
    own: NDArray[Any], held: NDArray[Any], made: NDArray[Any],
) -> int:  # fmt: skip
    """Every row, for the sender of its data and for that of what it acknowledges."""
    count, p, q = 0, own[0], held[0]
    for at in range(trail.size):
        mark, now_ns = trail[at], rows.time_ns[at]
        for other in range(2):
            if other == 0 and timed.resent[at] == 0:
                continue
            d = int(rows.direction[at]) ^ other
            place, fresh, event = happened(senders, rows, at, mark, d, timed.resent[at])
            s, m = senders.states[place], senders.samples[place]
            if fresh:
                poseidon.reset(s, p)
            if event == Event.NOTHING.value:
                continue
            made[count].cwnd_before = s.cwnd
            mpd_ns = np.nan
            if event == Event.ACKED.value:
                sample.take(m, echoes.pd_ns[at], echoes.abw_bps[at], now_ns)
                mpd_ns = hear(s, p, q, m, mark, d, now_ns, timed.rtt_ns[at])
            else:
                poseidon.lost(s, p, now_ns, event == Event.TIMEOUT.value)
            decide_window(made[count], mark, rows, at, d)
            made[count].MPD = mpd_ns if 0 <= mpd_ns <= poseidon.MOST_NS else np.nan
            tell(made[count], s)
            count += 1
    return count


@inlined
def hear(
    s: Record, p: Record, q: Record, m: Record, mark: Record, d: int, now_ns: int, rtt_ns: int
) -> float:
    """An ACK; returns MPD. A round trip that is not measured is as the last one."""
    rtt = rtt_ns if rtt_ns > 0 else s.rtt_ns
    mpd_ns = sample.held(m.pd_ns, m.pd_seen_ns, now_ns, q.hold_rtt * rtt)
    poseidon.new_ack(s, p, now_ns, rtt, acked_packets(mark, d, p.packet_bytes), mpd_ns)
    return float(mpd_ns)


@inlined
def tell(made: Record, s: Record) -> None:
    """The paper's variables."""
    made.cwnd, made.rate_bps, made.MPT, made.U = s.cwnd, s.rate_bps, s.MPT, s.U
    made.pacing_delay_ns, made.rtt_ns = s.pacing_delay_ns, s.rtt_ns
    made.retransmit_cnt, made.faults, made.branch = s.retransmit_cnt, s.faults, s.branch
