"""Flows of the last hops that receivers count at: one counter (`cc.flow_count`) a last hop.

A last hop is the node and the port of a stack's last record, at a point. The number of counters is
bounded. A counter whose flows have all been silent for its span tells nothing any more and is given
to another last hop; where all are busy, N there is not known. So N is right or unknown, and the
same in any split of the rows into batches.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.cc import flow_count
from pipeline.cc.parameter import Parameter, Record, state_dtype
from pipeline.memory import Ints

TABLE = (
    Parameter("last_hops", 256, "counters", 1, 65536,
              "Last hops whose flows are counted at a time; N of further ones is unknown.", "open"),
)  # fmt: skip

MOST_PLACES = 1 << 26
"""Places of all counters together."""
SEEN = state_dtype(
    ("u8", "flow"), ("i8", "seen_ns", "span_ns", "node", "port"), ("i4", "point", "counter")
)
"""What a receiver's last packet said: its flow, its last hop and T, by which flows are counted, and
the number of the counter there plus one (0: none)."""
OWNER = state_dtype(("i8", "node", "port"), ("i4", "point"))
"""The last hop of a counter."""


class Counters(NamedTuple):
    """All counters; `used` is how many have an owner."""

    owners: NDArray[Any]
    counters: NDArray[Any]
    places: NDArray[Any]
    used: Ints


def counters(counting: Record, count: int) -> Counters:
    """So many counters without an owner, as `flow_count` makes them; ValueError: too many."""
    if count * int(counting.places) > MOST_PLACES:
        raise ValueError(f"last_hops times places is at most {MOST_PLACES}")
    made, places = flow_count.state(counting, count)
    return Counters(np.zeros(count, OWNER), made, places, np.zeros(1, np.int64))


@inlined
def is_of(owner: Record, seen: Record) -> bool:
    """Whether a counter is that of a packet's last hop."""
    return bool(owner.node == seen.node and owner.port == seen.port and owner.point == seen.point)


@inlined
def counter_of(c: Counters, seen: Record) -> int:
    """The counter of a packet's last hop, or one that may be given to it; -1 where none may."""
    at = seen.counter - 1
    if 0 <= at < c.used[0] and is_of(c.owners[at], seen):
        return int(at)
    oldest = 0
    for each in range(c.used[0]):
        if is_of(c.owners[each], seen):
            return each
        if c.counters[each].now_ns < c.counters[oldest].now_ns:
            oldest = each
    if c.used[0] < c.counters.size:
        oldest = c.used[0]
        c.used[0] += 1
    elif flow_count.count(c.counters[oldest], c.places, seen.seen_ns) > 0:
        return -1
    c.owners[oldest].node, c.owners[oldest].port = seen.node, seen.port
    c.owners[oldest].point = seen.point
    c.counters[oldest].now_ns, c.counters[oldest].span_ns = 0, 0
    return int(oldest)


@inlined
def flows_at(c: Counters, counting: Record, seen: Record) -> int:
    """N with a packet's flow at its last hop; 0 where its last hop is not named or not counted."""
    if seen.node < 0 or seen.port < 0:
        return 0
    at = counter_of(c, seen)
    seen.counter = at + 1
    if at < 0:
        return 0
    this = c.counters[at]
    if this.span_ns <= 0:
        flow_count.set_span(this, counting, seen.span_ns)
    return int(flow_count.seen(this, c.places, np.uint64(seen.flow), seen.seen_ns))


@borrowing
def count_again(c: Counters, counting: Record, seen: NDArray[Any], order: Ints) -> None:
    """Count what receivers saw last, in the order of time: so counters follow from their state."""
    for place in order:
        seen[place].counter = 0
        flows_at(c, counting, seen[place])
