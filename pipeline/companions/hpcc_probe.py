"""Companion: HPCC++ by probes and notifications (`cc.hpcc_probe`).

Packets with the setting `pipeline.probe_dscp` are probes and their responses. Telemetry that comes
back on a packet that acknowledges nothing, of no transport that is followed or RoCE's CNP, is a
notification. A RoCE response with one hop is that of section 7.1.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import Batch, Kind, Rows
from pipeline.book import Book, holder
from pipeline.cc import hpcc, hpcc_probe, parameter
from pipeline.cc.hop_record import LINK, MOST_PLACES, path_changed
from pipeline.cc.hpcc_probe import PATH, UNKNOWN
from pipeline.cc.parameter import Parameter, Record, Value
from pipeline.companion import Course, decide, decided_dtype, frame_of, set_path
from pipeline.companions import window
from pipeline.companions.window import own_links, round_trip_told, set_quality, tell_window
from pipeline.memory import Ints, Quality, Rules, Why
from pipeline.sender import quality_of_tap

NAME = "hpcc_probe"
NUMBERS = {
    "ip_id": ("ip_id", "ip_id"),
    "roce_psn": ("roce_psn", "roce_psn"),
    "tcp_timestamp": ("ts_val", "ts_ecr"),
}
"""Columns of the number that pairs a probe with its response: the probe's, the response's."""
BY_NUMBER, SAME = 1, 1
"""The second choices of `response_by` and `one_link`."""
READING = (
    Parameter("number", "ip_id", "", 0, 2, "What a probe and its response both carry.", "open",
              tuple(NUMBERS)),
    Parameter("response_by", "reflected", "", 0, 1,
              "A response is known by telemetry that is marked as reflected, or also by the number"
              " of a probe that waits at the other end.", "open", ("reflected", "number")),
    Parameter("one_link", "unknown", "", 0, 1,
              "Of which link a RoCE response with one hop speaks that names none: not known, or"
              " always of the same.", "7.1", ("unknown", "same")),
)  # fmt: skip
TABLE = (*hpcc_probe.TABLE, *READING)
DECIDED = decided_dtype(*window.FIELDS, ("i8", "rtt_ns", "forgotten"))


class Role(IntEnum):
    """What a packet is to the prober of its direction, or of the other."""

    NOTHING = 0
    PROBE = 1
    RESPONSE = 2
    NOTIFICATION = 3


class Probers(NamedTuple):
    """The probers of all conversations."""

    book: NDArray[Any]
    used: Ints
    states: NDArray[Any]
    links: NDArray[Any]
    own: NDArray[Any]


class Numbers(NamedTuple):
    """The number of each row as a probe and as a response; -1 is none.

    `link` says of which link each row with telemetry speaks as a response.
    """

    asked: Ints
    answered: Ints
    link: Ints


class HpccProbe:
    """Every prober as if it ran HPCC++; ValueError names a parameter that is not accepted."""

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        self.parameters = parameter.records(parameters, hpcc_probe.TABLE, READING)
        self.book = Book(
            states=(hpcc.STATE, 1), links=(LINK, MOST_PLACES), own=(hpcc_probe.STATE, 1)
        )  # fmt: skip

    def advance(self, course: Course) -> pl.DataFrame:
        """Decisions at each response and notification."""
        book, batch = self.book, course.batch
        book.room(course.slots, batch.trail.size)
        probers = Probers(book.book, book.used, *(book[name] for name in book.kinds))
        made = np.zeros(course.told.height, DECIDED)
        own, reading = self.parameters
        count = follow(
            course.rows, batch, course.rules, probers, numbers(course, reading[0]), own, reading,
            np.empty_like(batch.u), made,
        )  # fmt: skip
        return frame_of(course, made[:count], NAME, hpcc_probe.Branch)


def numbers(course: Course, reading: Record) -> Numbers:
    """The numbers of a batch, from the columns that the parameters name."""
    asked, answered = list(NUMBERS.values())[int(reading["number"])]
    told = course.told
    hops = [told[name] if name in told.columns else None for name in ("h0_node", "h0_port")]
    link = np.full(told.height, PATH, np.int64)
    if "roce_opcode" in told.columns:
        same = reading["one_link"] == SAME
        one = told["roce_opcode"].is_not_null() & (told["hop_count"] == 1)
        node, port = (none(told.height) if hop is None else known(hop) for hop in hops)
        named = np.where((node >= 0) & (port >= 0), node << 31 ^ port, 0 if same else UNKNOWN)
        link = np.where(one.to_numpy(), named, link)
    return Numbers(known_in(course.frame, asked), known_in(course.frame, answered), link)


def none(rows: int) -> Ints:
    """So many rows without a number."""
    return np.full(rows, -1, np.int64)


def known(column: pl.Series) -> Ints:
    """A column as numbers, -1 where it is null."""
    numbers: Ints = column.cast(pl.Int64).fill_null(-1).to_numpy()
    return np.ascontiguousarray(numbers)


def known_in(frame: pl.DataFrame, name: str) -> Ints:
    """The same of a column that may be left out."""
    return known(frame[name]) if name in frame.columns else none(frame.height)


@borrowing
def follow(
    rows: Rows, batch: Batch, rules: Rules, probers: Probers, given: Numbers, own: NDArray[Any],
    reading: NDArray[Any], u: NDArray[np.float64], made: NDArray[Any],
) -> int:  # fmt: skip
    """Every probe, for the prober that sent it, and what comes back, for that at the other end."""
    count, p, q = 0, rules.hpcc[0], own[0]
    for at in range(batch.trail.size):
        mark = batch.trail[at]
        role = role_of(rows, batch, probers, given, reading[0].response_by, mark, at)
        if role == Role.NOTHING.value:
            continue
        d = int(rows.direction[at]) ^ (role != Role.PROBE.value)
        place, fresh = holder(probers.book, probers.used, mark, d)
        s, r = probers.states[place], probers.own[place]
        own_links(s, place)
        if fresh:
            set_path(s, p, rows, at, mark, d)
            hpcc_probe.reset(r)
        if role == Role.PROBE.value:
            if given.asked[at] >= 0:
                hpcc_probe.probe_sent(r, given.asked[at], rows.time_ns[at])
            continue
        made[count].U_before = s.U
        hear(rows, batch, rules, probers.links, given, s, r, p, q, role, u, at)
        decide(made[count], mark, d, at, mark.snd_una[d], 0)
        tell_window(made[count], s)
        made[count].faults |= r.faults
        made[count].rtt_ns, made[count].forgotten = r.rtt_ns, r.forgotten
        otherwise = quality(mark, d, round_trip_told(p, rows, at))
        set_quality(made[count], window.unknown_window(s, mark, d), otherwise)
        count += 1
    return count


@inlined
def role_of(
    rows: Rows, batch: Batch, probers: Probers, given: Numbers, by: int, mark: Record, at: int
) -> int:
    """What a packet is."""
    there = rows.telemetry[at]
    reflected = there >= 0 and batch.loads[there].reflected != 0
    if rows.kind[at] in (Kind.OTHER.value, Kind.ROCE_CNP.value):
        return Role.NOTIFICATION.value if reflected else Role.NOTHING.value
    if rows.kind[at] != Kind.PROBE.value:
        return Role.NOTHING.value
    if reflected:
        return Role.RESPONSE.value
    if by == BY_NUMBER and there >= 0 and waits(probers, mark, 1 - rows.direction[at],
                                                given.answered[at]):  # fmt: skip
        return Role.RESPONSE.value
    return Role.PROBE.value


@inlined
def waits(probers: Probers, mark: Record, d: int, number: int) -> bool:
    """Whether a probe of that number waits for its response at end d."""
    known = probers.book[2 * mark.slot + d]
    if number < 0 or known.place == 0 or known.life != mark.life[d]:
        return False
    return bool(hpcc_probe.waiting(probers.own[known.place - 1], number) >= 0)


@inlined
def hear(
    rows: Rows, batch: Batch, rules: Rules, links: NDArray[Any], given: Numbers, s: Record,
    r: Record, p: Record, q: Record, role: int, u: NDArray[np.float64], at: int,
) -> None:  # fmt: skip
    """What comes back to a prober."""
    there, now_ns = rows.telemetry[at], rows.time_ns[at]
    load, link = batch.loads[there], given.link[there]
    if link == PATH:
        path_changed(s, batch.path[there])
    ts_mask, tx_mask = rules.ts_mask[load.width], rules.tx_mask[load.width]
    if role == Role.RESPONSE.value:
        hpcc_probe.probe_response(
            s, r, p, q, links, given.answered[at], now_ns, link, load.nhop, batch.stacks, there,
            ts_mask, tx_mask, u,
        )  # fmt: skip
    else:
        hpcc_probe.notification(
            s, r, p, q, links, now_ns, link, load.nhop, batch.stacks, there, ts_mask, tx_mask, u
        )


@inlined
def quality(mark: Record, d: int, t_told: bool) -> tuple[int, int]:
    """How far a window that is known can be trusted, and why."""
    if not t_told:
        return Quality.ESTIMATED.value, Why.T_FROM_HANDSHAKE.value
    return quality_of_tap(mark, d)
