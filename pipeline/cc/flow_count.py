"""N: distinct flows seen at a last hop in a sliding window, for W_ai = W_init*(1-eta)/N.

draft-miao-ccwg-hpcc-03, section 4.3 and the receiver of lines 28-34: what is at the last hop sees
every flow that shares it and can count them. A flow is in the window at time t when it was seen
later than t - span; the span is T unless a parameter says otherwise. Times are ns, a flow is a
number of 64 bits that stands for it.

Memory is bounded: a counter has `room` places, and when all are taken the flow that has been silent
longest is forgotten, so that N is then the room, a lower bound, and W_ai an upper one. All is
integers, so the same packets in the same order give the same N. Places of several counters stand in
one array, those of a counter from `first` on; a place is named by its number in the counter plus
one, so that blank memory is an empty counter.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import parameter
from pipeline.cc.parameter import Parameter, Record, Value


class Fault(IntEnum):
    """What was wrong when a flow was seen, as bits."""

    NO_SPAN = 1
    FULL = 2
    TIME_BACKWARDS = 4


MOST_PLACES = 10**6
SPREAD = np.uint64(0x9E3779B97F4A7C15)
TABLE = (
    Parameter("span_ns", 0, "ns", 0, 10**12, "Window in which flows are counted; 0 is T.", "open"),
    Parameter("places", 1024, "flows", 1, MOST_PLACES,
              "Flows that a counter can tell apart; beyond, N is a lower bound.", "open"),
)  # fmt: skip

STATE = parameter.state_dtype(
    ("i8", "span_ns", "now_ns", "evicted"),
    ("i4", "first", "room", "N", "used", "spare", "oldest", "newest", "faults"),
)
"""One counter: `span_ns` the window, `now_ns` the latest time, `evicted` the flows forgotten for
room, `faults` bits of `Fault` of the last packet; the rest are places."""

PLACE = parameter.state_dtype(("u8", "flow"), ("i8", "seen_ns"), ("i4", "head", "next", "older",
                              "newer"))  # fmt: skip
"""One flow. `next` is the one after it in its bucket (of a spare place: the next spare), `older`
and `newer` its neighbours by time; `head` is the first of the bucket that has this place's number.
"""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(p: Record, count: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
    """`count` empty counters and the places of all; `set_span` makes one ready."""
    made = np.zeros(count, STATE)
    made["first"] = np.arange(count) * p.places
    made["room"] = p.places
    return made, np.zeros(count * int(p.places), PLACE)


@borrowing
def set_span(c: Record, p: Record, t_ns: int) -> None:
    """Give a counter its window, that of the parameter or T; 0 is unknown, and N stays 0."""
    c.span_ns = p.span_ns if p.span_ns > 0 else t_ns


@borrowing
def bucket(c: Record, flow: np.uint64) -> int:
    """The place whose `head` begins the bucket of a flow."""
    mixed = (flow ^ flow >> np.uint64(32)) * SPREAD
    return int(c.first) + int((mixed >> np.uint64(33)) % np.uint64(c.room))


@borrowing
def leave_time(c: Record, places: NDArray[Any], at: int) -> None:
    """Take a flow out of the order of time."""
    flow = places[c.first + at - 1]
    if flow.older > 0:
        places[c.first + flow.older - 1].newer = flow.newer
    else:
        c.oldest = flow.newer
    if flow.newer > 0:
        places[c.first + flow.newer - 1].older = flow.older
    else:
        c.newest = flow.older


@borrowing
def forget_oldest(c: Record, places: NDArray[Any]) -> None:
    """Free the place of the flow that has been silent longest."""
    at = c.oldest
    gone = places[c.first + at - 1]
    leave_time(c, places, at)
    head = places[bucket(c, gone.flow)]
    if head.head == at:
        head.head = gone.next
    else:
        before = places[c.first + head.head - 1]
        while before.next != at:
            before = places[c.first + before.next - 1]
        before.next = gone.next
    gone.next = c.spare
    c.spare = at
    c.N -= 1


@borrowing
def count(c: Record, places: NDArray[Any], now_ns: int) -> int:
    """N at a time: the flows seen later than now - span. 0 when the span is not known."""
    c.faults = 0
    if c.span_ns <= 0:
        c.faults |= Fault.NO_SPAN.value
        return 0
    if now_ns < c.now_ns:  # it counts as of the latest time
        c.faults |= Fault.TIME_BACKWARDS.value
    c.now_ns = max(c.now_ns, now_ns)
    while c.oldest > 0 and places[c.first + c.oldest - 1].seen_ns <= c.now_ns - c.span_ns:
        forget_oldest(c, places)
    return int(c.N)


@borrowing
def place_of(c: Record, places: NDArray[Any], flow: np.uint64) -> int:
    """The place of a flow, a new one when it has none."""
    head = places[bucket(c, flow)]
    at = head.head
    while at > 0 and places[c.first + at - 1].flow != flow:
        at = places[c.first + at - 1].next
    if at > 0:
        leave_time(c, places, at)
        return int(at)
    if c.room == c.N:
        c.faults |= Fault.FULL.value
        c.evicted += 1
        forget_oldest(c, places)
    at = c.spare
    if at > 0:
        c.spare = places[c.first + at - 1].next
    else:
        c.used += 1
        at = c.used
    places[c.first + at - 1].flow = flow
    places[c.first + at - 1].next = head.head
    head.head = at
    c.N += 1
    return int(at)


@borrowing
def seen(c: Record, places: NDArray[Any], flow: np.uint64, now_ns: int) -> int:
    """A packet of a flow at the last hop; returns N with it, 0 when the span is not known."""
    count(c, places, now_ns)
    if c.span_ns <= 0:
        return 0
    at = place_of(c, places, flow)
    this = places[c.first + at - 1]
    this.seen_ns = c.now_ns
    this.older = c.newest
    this.newer = 0
    if c.newest > 0:
        places[c.first + c.newest - 1].newer = at
    else:
        c.oldest = at
    c.newest = at
    return int(c.N)
