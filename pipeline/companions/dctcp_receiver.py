"""Companion: whether a receiver's ACKs echo CE as DCTCP says (`cc.dctcp_receiver`).

Receivers that count by Accurate ECN are left alone: they have no ECE to check.

Its decisions are of the flow whose data the ACK acknowledges, one an ACK: what the ACK was
(branch), whose rules all so far follow (verdict), on what evidence, and how sure that is.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import Kind, Rows
from pipeline.book import Book, holder
from pipeline.cc import dctcp_receiver as receiver
from pipeline.cc import parameter
from pipeline.cc.dctcp_receiver import Branch
from pipeline.cc.parameter import Record, Value
from pipeline.cc.receiver_verdict import Verdict
from pipeline.companion import Course, decide, decided_dtype, frame_of, quality_of_sender
from pipeline.decided import names
from pipeline.memory import Echo, Ints, Quality
from pipeline.sender import ACK, RST, SYN, unwrap

NAME = "dctcp_receiver"
TABLE = receiver.TABLE
DECIDED = decided_dtype(
    ("f8", "sure"), ("i8", "expected_bytes", "reported_bytes"),
    ("i4", "judged", "wrong", "late", "m"), ("i1", "verdict", "evidence"),
)  # fmt: skip
KINDS = {"verdict": receiver.Verdict, "evidence": receiver.Evidence}


class Held(NamedTuple):
    """Receivers by the senders of the data that they get, and a blank one."""

    book: NDArray[Any]
    used: Ints
    states: NDArray[Any]
    blank: NDArray[Any]


class DctcpReceiver:
    """The receiver of every TCP flow; ValueError names a parameter that is not accepted."""

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        self.parameters = parameter.records(parameters, TABLE)
        self.book = Book(states=(receiver.STATE, 1))

    def advance(self, course: Course) -> pl.DataFrame:
        """One decision for each ACK of a flow whose data was seen."""
        trail, book = course.batch.trail, self.book
        book.room(course.slots, trail.size)
        acks = int(np.count_nonzero(course.rows.tcp_flags & ACK))
        made = np.zeros(acks, DECIDED)
        held = Held(book.book, book.used, book["states"], receiver.state())
        count = follow(course.rows, trail, held, self.parameters[0], made)
        frame = frame_of(course, made[:count], NAME, Branch)
        return frame.with_columns(
            frame[name].cast(pl.UInt8).cat.to(names(kind)) for name, kind in KINDS.items()
        )


@borrowing
def follow(
    rows: Rows, trail: NDArray[Any], held: Held, parameters: NDArray[Any], made: NDArray[Any]
) -> int:
    """Every TCP row: its ACK to the receiver that sent it, its data to the other one."""
    count, p = 0, parameters[0]
    for at in range(trail.size):
        if rows.kind[at] != Kind.TCP.value or rows.echo[at] != Echo.ECE.value:
            continue
        # What is ORed with 0 has a sign from here on, as `1 - r` needs.
        mark, flags, r = trail[at], rows.tcp_flags[at] | 0, rows.direction[at] | 0
        if flags & ACK and not flags & (SYN | RST):
            s = state_of(held, mark, 1 - r)
            number = unwrap(rows.ack[at], mark.snd_una[1 - r])
            before = s.rcv_una if s.begun else number
            branch = receiver.ack(s, p, number, flags)
            if s.segments > 0:
                decide(made[count], mark, 1 - r, at, number, max(number - before, 0))
                made[count].branch = branch
                tell(made[count], s)
                quality, why = quality_of_sender(mark, 1 - r)
                if s.verdict == Verdict.UNKNOWN.value and quality == Quality.EXACT.value:
                    quality = Quality.UNKNOWN.value
                made[count].quality, made[count].why = quality, why
                count += 1
        s = state_of(held, mark, r)
        seq = unwrap(rows.seq[at], mark.snd_nxt[r])
        if flags & SYN:
            receiver.establish(s, seq + 1)
        receiver.data(s, p, seq, rows.payload[at] | 0, rows.ecn[at], flags)
    return count


@inlined
def state_of(held: Held, mark: Record, d: int) -> Record:
    """The receiver of the data of sender d, a blank one when the sender is new."""
    place, fresh = holder(held.book, held.used, mark, d)
    if fresh:
        held.states[place] = held.blank[0]
    return held.states[place]


@inlined
def tell(made: Record, s: Record) -> None:
    """What is known of the receiver after the ACK."""
    made.sure = s.sure
    made.expected_bytes, made.reported_bytes = s.expected_bytes, s.reported_bytes
    made.judged, made.wrong = s.judged[0], s.wrong[0]
    made.late, made.m = s.late, s.m
    made.verdict, made.evidence = s.verdict, s.evidence
