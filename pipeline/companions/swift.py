"""Companion: Swift (`cc.swift`) on the round trips of a tap and on CSIG's reflections."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import Rows
from pipeline.book import Book
from pipeline.cc import parameter, swift
from pipeline.cc.parameter import Record, Value
from pipeline.companion import Course, decided_dtype, frame_of
from pipeline.companions import sample
from pipeline.companions.event import Event, acked_packets, decide_window, happened
from pipeline.companions.sample import Echoes, Senders
from pipeline.memory import Ints
from pipeline.round_trip import Timed

NAME = "swift"
TABLE = (*swift.TABLE, *sample.TABLE)
DECIDED = decided_dtype(
    ("f8", "cwnd_before", "cwnd", "fcwnd", "ecwnd", "target_ns", "delay_ns", "pacing_delay_ns"),
    ("i8", "rtt_ns"), ("i4", "retransmit_cnt", "faults"),
)  # fmt: skip


class Swift:
    """Every sender as if it ran Swift; ValueError names a parameter that is not accepted."""

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        self.parameters = parameter.records(parameters, swift.TABLE, sample.TABLE)
        self.book = Book(states=(swift.STATE, 1), samples=(sample.STATE, 1))

    def advance(self, course: Course) -> pl.DataFrame:
        """Decisions at each ACK of new data and each loss; windows are in packets of the MSS."""
        trail, book = course.batch.trail, self.book
        book.room(course.slots, trail.size)
        made = np.zeros(course.events, DECIDED)
        senders = sample.senders_of(book)
        echoes, hops = sample.echoes(course.frame), sample.hops_back(course.told)
        own, held = self.parameters
        count = follow(course.rows, trail, course.timed, echoes, hops, senders, own, held, made)
        return frame_of(course, made[:count], NAME, swift.Branch)


@borrowing
def follow(
    rows: Rows, trail: NDArray[Any], timed: Timed, echoes: Echoes, hops: Ints, senders: Senders,
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
                swift.reset(s, p)
            if event == Event.NOTHING.value:
                continue
            made[count].cwnd_before = s.cwnd
            if event == Event.ACKED.value:
                sample.take(m, echoes.pd_ns[at], echoes.abw_bps[at], now_ns)
                nhop = hops[rows.telemetry[at]] if rows.telemetry[at] >= 0 else -1
                hear(s, p, q, m, mark, d, now_ns, timed.rtt_ns[at], nhop)
            else:
                swift.lost(s, p, now_ns, event == Event.TIMEOUT.value)
            decide_window(made[count], mark, rows, at, d)
            tell(made[count], s)
            count += 1
    return count


@inlined
def hear(
    s: Record, p: Record, q: Record, m: Record, mark: Record, d: int, now_ns: int, rtt_ns: int,
    nhop: int,
) -> None:  # fmt: skip
    """On Receiving ACK; a round trip that is not measured is as the last one."""
    rtt = rtt_ns if rtt_ns > 0 else s.rtt_ns
    most = q.hold_rtt * rtt
    delay = sample.held(m.pd_ns, m.pd_seen_ns, now_ns, most)
    spare = sample.held(m.abw_bps, m.abw_seen_ns, now_ns, most)
    swift.new_ack(s, p, now_ns, rtt, -1, nhop, acked_packets(mark, d, p.packet_bytes), delay, spare)


@inlined
def tell(made: Record, s: Record) -> None:
    """The paper's variables."""
    made.cwnd, made.fcwnd, made.ecwnd = s.cwnd, s.fcwnd, s.ecwnd
    made.target_ns, made.delay_ns, made.pacing_delay_ns = s.target_ns, s.delay_ns, s.pacing_delay_ns
    made.rtt_ns, made.retransmit_cnt = s.rtt_ns, s.retransmit_cnt
    made.faults, made.branch = s.faults, s.branch
