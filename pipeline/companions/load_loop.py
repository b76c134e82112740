"""HPCC++ at each ACK of a sender, from loads of any kind: one loop for all that make loads.

A companion that makes loads says of which rows (`heard`), makes one `hop_load.LOAD` of each piece,
and this loop hears them: what an ACK reflects at once, what data carried when the ACK is seen that
covers it, with tau between the times at which it was seen. T, B_nic and W_init are the tracker's.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import Rows
from pipeline.cc import hop_load, hpcc
from pipeline.cc.hop_load import LOAD, Tag
from pipeline.cc.parameter import Record, state_dtype
from pipeline.companion import decide, decided_dtype, quality_of_sender, set_path
from pipeline.companions.heard import NOBODY, Heard, News
from pipeline.memory import Quality, Why
from pipeline.reserved import UNTOLD
from pipeline.tell import WORD

WAITING = 64
"""Loads of a sender on data that wait for their ACK; a further one takes the place of the last."""


class Fault(IntEnum):
    """What was wrong beside the faults of `hpcc`, `hop_load` and `qos`, as bits of one number."""

    NOT_ALL_KEPT = 1 << 11
    BASE_UNKNOWN = 1 << 12
    PORT_UNKNOWN = 1 << 13


DECIDED = decided_dtype(
    ("f8", "U_before", "U", "U_upper", "W", "Wc", "R", "u_lower", "u_upper", "tau_ns"),
    ("u4", "lastUpdateSeq", "node", "port"), ("i4", "incStage", "faults"), ("i1", "hop", "tag"),
)  # fmt: skip
"""u and tau are those of the last load that was heard."""
KEPT = state_dtype(
    ("f8", "lower", "upper", "tau_ns"), ("i8", "port", "end", "seen_ns"), ("i4", "faults"),
    ("i1", "tag", "tau_by", "hop"),
)  # fmt: skip
"""A load that data up to `end` carried, and when that was seen."""
QUEUE = state_dtype(("i1", "first", "count", "told", "reflected"))
"""Where the loads of a sender that wait begin; `told`: its T is the row's."""


class Senders(NamedTuple):
    """State of senders: HPCC++, its upper U, the load heard last, and loads that wait."""

    states: NDArray[Any]
    uppers: NDArray[Any]
    last: NDArray[Any]
    queues: NDArray[Any]
    waiting: NDArray[Any]


KINDS = {
    "states": (hpcc.STATE, 1), "uppers": (hop_load.STATE, 1), "last": (LOAD, 1),
    "queues": (QUEUE, 1), "waiting": (KEPT, WAITING),
}  # fmt: skip
"""Arrays of `Senders`, and how many elements a sender has of each."""


@borrowing
def hear(
    rows: Rows, trail: NDArray[Any], told: Heard, loads: NDArray[Any], own: Senders,
    hpcc_p: NDArray[Any], hop_load_q: NDArray[Any], made: NDArray[Any],
) -> int:  # fmt: skip
    """Every row: what it reflects, what data it covers carried, then what its own data carries."""
    count, piece, p, q = 0, 0, hpcc_p[0], hop_load_q[0]
    for at in range(trail.size):
        mark, r, place = trail[at], int(rows.direction[at]), told.acks[at]
        reflects = piece < told.row.size and told.row[piece] == at and told.back[piece] != 0
        if reflects and told.news[piece] != News.NOTHING.value:
            begin(own, place, told.news[piece], rows, at, mark, 1 - r, p)
        if place != NOBODY and (reflects or mark.acked > 0):
            s = own.states[place]
            made[count].U_before = s.U
            if reflects:
                copy(own.last[place], loads[piece])
                reflected(own, place, p, q, mark, 1 - r, rows.time_ns[at])
                piece += 1
            else:
                covered(own, place, p, q, mark, 1 - r)
            decide(made[count], mark, 1 - r, at, mark.snd_una[1 - r], mark.acked)
            tell(made[count], s, own.uppers[place], own.last[place])
            tag = own.last[place].tag
            quality, why = quality_of(own.queues[place], s, p, mark, 1 - r, tag)
            made[count].quality, made[count].why = quality, why
            count += 1
        while piece < told.row.size and told.row[piece] == at:
            if told.place[piece] != NOBODY:
                if told.news[piece] != News.NOTHING.value:
                    begin(own, told.place[piece], told.news[piece], rows, at, mark, r, p)
                wait(own, told.place[piece], loads[piece], mark.snd_nxt[r], rows.time_ns[at])
            piece += 1
    return count


@inlined
def begin(
    own: Senders, place: int, news: int, rows: Rows, at: int, mark: Record, d: int, p: Record
) -> None:
    """Make a sender's state ready; its first reflection only ends what waits."""
    queue = own.queues[place]
    queue.first, queue.count = 0, 0
    queue.reflected = 0
    if news == News.SENDER.value:
        set_path(own.states[place], p, rows, at, mark, d)
        hop_load.reset(own.uppers[place], p)
        hop_load.begin(own.last[place], 0)
        queue.told = rows.base_rtt_ns[at] > 0


@inlined
def copy(into: Record, load: Record) -> None:
    """A load to where it is kept."""
    into.lower, into.upper, into.tau_ns = load.lower, load.upper, load.tau_ns
    into.port, into.faults, into.hop = load.port, load.faults, load.hop
    into.tag, into.tau_by = load.tag, load.tau_by


@inlined
def wait(own: Senders, place: int, load: Record, end: int, now_ns: int) -> None:
    """Keep a load until data up to `end` is acknowledged."""
    queue, faults = own.queues[place], 0
    if queue.count >= WAITING:
        queue.count = WAITING - 1
        faults = Fault.NOT_ALL_KEPT.value
    kept = own.waiting[place * WAITING + (queue.first + queue.count) % WAITING]
    copy(kept, load)
    kept.faults |= faults
    kept.end, kept.seen_ns = end, now_ns
    queue.count += 1


@inlined
def reflected(
    own: Senders, place: int, p: Record, q: Record, mark: Record, d: int, now_ns: int
) -> None:
    """Lines 21-27 with what an ACK reflects."""
    own.queues[place].reflected = 1
    s, v, load = own.states[place], own.uppers[place], own.last[place]
    hop_load.measured(s, v, p, q, load, mark.snd_una[d], mark.snd_nxt[d], now_ns)


@inlined
def covered(own: Senders, place: int, p: Record, q: Record, mark: Record, d: int) -> None:
    """The same with all that the data which an ACK covers carried: each into U, then one answer."""
    s, v, queue, last = own.states[place], own.uppers[place], own.queues[place], own.last[place]
    hpcc.no_telemetry(s)
    began, good, heard = s.started != 0, False, False
    while queue.count > 0:
        kept = own.waiting[place * WAITING + queue.first % WAITING]
        if kept.end > mark.snd_una[d]:
            break
        copy(last, kept)
        if last.tag != 0:
            heard = True
            good |= hop_load.averaged(s, v, last, kept.seen_ns)
        queue.first = (queue.first + 1) % WAITING
        queue.count -= 1
    if heard:
        hop_load.answered(s, v, p, q, began, good, mark.snd_una[d], mark.snd_nxt[d])


@inlined
def quality_of(
    queue: Record, s: Record, p: Record, mark: Record, d: int, tag: int
) -> tuple[int, int]:
    """Quality of W, Wc, R, and why, in the order of `sender.quality_of_window`.

    From a load of which only bounds are known, `tag` of the last one, nothing exact follows.
    """
    if s.T_ns <= 0:
        return Quality.UNKNOWN.value, Why.T_UNKNOWN.value
    if np.isnan(s.W):
        return Quality.UNKNOWN.value, Why.NIC_UNKNOWN.value
    quality, why = quality_of_sender(mark, d)
    if quality == Quality.UNKNOWN.value:
        return quality, why
    if queue.reflected == 0:
        return Quality.ESTIMATED.value, Why.RECEIVER_TIME.value
    if queue.told == 0 and p.T_ns == 0:
        return Quality.ESTIMATED.value, Why.T_FROM_HANDSHAKE.value
    if quality == Quality.EXACT.value and tag in (Tag.LOWER_BOUND.value, Tag.BOUNDS.value):
        quality, why = Quality.ESTIMATED.value, Why.BOUNDS.value
    return quality, why


@inlined
def tell(made: Record, s: Record, v: Record, load: Record) -> None:
    """The draft's variables, and the load behind them."""
    made.branch, made.faults, made.incStage = s.branch, s.faults, s.incStage
    made.U, made.U_upper, made.W, made.Wc, made.R = s.U, v.U_upper, s.W, s.Wc, s.R
    made.lastUpdateSeq = s.lastUpdateSeq & WORD
    told = s.branch != hpcc.Branch.NO_TELEMETRY.value
    made.u_lower = load.lower if told else np.nan
    made.u_upper = load.upper if told else np.nan
    made.tau_ns = load.tau_ns if told else np.nan
    made.tag, made.hop = (load.tag, load.hop) if told else (0, -1)
    placed = told and load.port != -1
    made.node = (load.port >> 32) & WORD if placed else UNTOLD
    made.port = load.port & WORD if placed else UNTOLD
