"""Companion: HPCC++ at the receiver (`cc.hpcc_receiver`) on telemetry that data carries."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import Batch, Kind, Rows
from pipeline.book import Book, holder
from pipeline.cc import flow_count, hpcc, hpcc_receiver, parameter
from pipeline.cc.hop_record import LINK, MOST_PLACES, path_changed
from pipeline.cc.hpcc_receiver import Clock
from pipeline.cc.parameter import Parameter, Record, Value
from pipeline.companion import Course, decide, decided_dtype, frame_of, set_path
from pipeline.companions import last_hop, window
from pipeline.companions.hop_values import stack
from pipeline.companions.last_hop import Counters
from pipeline.companions.window import own_links, round_trip_told, set_quality, tell_window
from pipeline.memory import Ints, Mark, Quality, Rules, Why
from pipeline.sender import far_from_sender

NAME = "hpcc_receiver"
AUTO = 0
"""The first choice of `clock`; the others are those of `Clock`, plus one."""
CLOCK = (
    Parameter("clock", "auto", "", 0, 2,
              "Where the tap's time is taken: at the receiver's edge where the handshake says so,"
              " or as said.", "open", ("auto", "elsewhere", "receiver_edge")),
)  # fmt: skip
OWN = (*hpcc_receiver.TABLE, *CLOCK)
TABLE = (*OWN, *flow_count.TABLE, *last_hop.TABLE)
DECIDED = decided_dtype(*window.FIELDS, ("f8", "W_sent"), ("i8", "N"), ("i1", "sent"))


class Receivers(NamedTuple):
    """The receivers of all flows."""

    book: NDArray[Any]
    used: Ints
    states: NDArray[Any]
    links: NDArray[Any]
    own: NDArray[Any]
    seen: NDArray[Any]


class LastHops(NamedTuple):
    """Node and port of the last hop of each row with telemetry, -1 where not told."""

    node: Ints
    port: Ints


class HpccReceiver:
    """Every receiver as if it ran lines 28-34; ValueError names a parameter not accepted."""

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        tables = (OWN, flow_count.TABLE, last_hop.TABLE)
        self.parameters = parameter.records(parameters, *tables)
        self.book = Book(
            states=(hpcc.STATE, 1), links=(LINK, MOST_PLACES), own=(hpcc_receiver.STATE, 1),
            seen=(last_hop.SEEN, 1),
        )  # fmt: skip
        self.counters = self._counters()
        self.counted = self.book.used

    def _counters(self) -> Counters:
        """Counters that have counted nothing."""
        _, counting, hops = self.parameters
        return last_hop.counters(counting[0], int(hops[0]["last_hops"]))

    def advance(self, course: Course) -> pl.DataFrame:
        """Decisions at each data packet with telemetry."""
        book, batch = self.book, course.batch
        if self.counted is not book.used:  # a snapshot was put back
            self._count_again()
        book.room(course.slots, batch.trail.size)
        receivers = Receivers(book.book, book.used, *(book[name] for name in book.kinds))
        made = np.zeros(course.told.height, DECIDED)
        own, counting, _ = self.parameters
        count = follow(
            course.rows, batch, course.rules, receivers, last_hops(course), self.counters, own,
            counting, np.empty_like(batch.u), made,
        )  # fmt: skip
        return frame_of(course, made[:count], NAME, hpcc_receiver.Branch)

    def _count_again(self) -> None:
        """Count flows by what receivers saw last."""
        self.counters, self.counted = self._counters(), self.book.used
        seen = self.book["seen"]
        order = np.argsort(seen["seen_ns"][: int(self.counted[0])], kind="stable")
        last_hop.count_again(self.counters, self.parameters[1][0], seen, order)


def last_hops(course: Course) -> LastHops:
    """Where the stacks of a batch end."""
    last = course.batch.loads["nhop"] - 1
    rows, hops = np.arange(last.size), course.batch.stacks.shape[1]
    return LastHops(*(stack(course.told, name, hops, -1)[last, rows] for name in LastHops._fields))


@borrowing
def follow(
    rows: Rows, batch: Batch, rules: Rules, receivers: Receivers, names: LastHops,
    counters: Counters, own: NDArray[Any], counting: NDArray[Any], u: NDArray[np.float64],
    made: NDArray[Any],
) -> int:  # fmt: skip
    """Every data packet that carries telemetry, for the receiver of its flow."""
    count, p, q = 0, rules.hpcc[0], own[0]
    for at in range(batch.trail.size):
        there = rows.telemetry[at]
        if there < 0 or rows.payload[at] == 0 or rows.kind[at] == Kind.PROBE.value:
            continue
        if batch.loads[there].reflected != 0:
            continue
        mark, d = batch.trail[at], int(rows.direction[at])
        place, fresh = holder(receivers.book, receivers.used, mark, d)
        s, r = receivers.states[place], receivers.own[place]
        own_links(s, place)
        if fresh:
            set_path(s, p, rows, at, mark, d)
            hpcc_receiver.reset(r, Clock.ELSEWHERE.value)
        r.clock = clock_of(q, mark, d)
        seen = receivers.seen[place]
        look(seen, rows, names, at, s.T_ns)
        N = last_hop.flows_at(counters, counting[0], seen)
        load = batch.loads[there]
        path_changed(s, batch.path[there])
        made[count].U_before = s.U
        hpcc_receiver.new_int(
            s, r, p, q, receivers.links, rows.time_ns[at], N, load.nhop, batch.stacks, there,
            rules.ts_mask[load.width], rules.tx_mask[load.width], u,
        )  # fmt: skip
        decide(made[count], mark, d, at, mark.snd_una[d], 0)
        tell_window(made[count], s)
        made[count].W_sent, made[count].N, made[count].sent = r.W_sent, r.N, r.sent
        set_quality(
            made[count], window.unknown_window(s, mark, d),
            quality(mark, d, r.clock, round_trip_told(p, rows, at)),
        )  # fmt: skip
        count += 1
    return count


@inlined
def look(seen: Record, rows: Rows, names: LastHops, at: int, t_ns: float) -> None:
    """What a packet says of its flow and its last hop."""
    there = rows.telemetry[at]
    seen.flow = rows.conversation[at] ^ np.uint64(rows.direction[at])
    seen.seen_ns, seen.span_ns, seen.point = rows.time_ns[at], np.int64(t_ns), rows.point[at]
    seen.node, seen.port = names.node[there], names.port[there]


@inlined
def clock_of(q: Record, mark: Record, d: int) -> int:
    """Whether the tap is so near the receiver of d's data that its time is the receiver's."""
    if q.clock != AUTO:
        return int(q.clock) - 1
    near = mark.rtt_ns > 0 and not far_from_sender(mark, 1 - d)
    return Clock.RECEIVER_EDGE.value if near else Clock.ELSEWHERE.value


@inlined
def quality(mark: Record, d: int, clock: int, t_told: bool) -> tuple[int, int]:
    """How far a window that is known can be trusted, and why."""
    if clock != Clock.RECEIVER_EDGE.value:
        return Quality.ESTIMATED.value, Why.RECEIVER_TIME.value
    if not t_told:
        return Quality.ESTIMATED.value, Why.T_FROM_HANDSHAKE.value
    if mark.marks[d] & Mark.GAP.value:
        return Quality.ESTIMATED.value, Why.GAP.value
    return Quality.EXACT.value, Why.NOTHING.value
