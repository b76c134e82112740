"""Flows at a last hop against a list of what was seen, and what bounded memory costs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import flow_count

SPAN = 100
PACKETS = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from((0, 0, 1, 7, 40, 99, 100, 101, 1000))),
    max_size=120,
)


class Counter:
    """One counter, driven by hand."""

    def __init__(self, places: int = 4, *, t_ns: int = SPAN, span_ns: int = 0) -> None:
        self.p = flow_count.record({"places": places, "span_ns": span_ns})
        counters, self.places = flow_count.state(self.p)
        self.c = counters[0]
        flow_count.set_span(self.c, self.p, t_ns)

    def seen(self, flow: int, now_ns: int) -> int:
        return flow_count.seen(self.c, self.places, np.uint64(flow), now_ns)

    def count(self, now_ns: int) -> int:
        return flow_count.count(self.c, self.places, now_ns)


def in_window(packets: list[tuple[int, int]], now_ns: int, room: int) -> int:
    """Distinct flows seen later than a span ago, the silent ones forgotten where room is short."""
    last: dict[int, int] = {}
    for flow, at in packets:
        last = {each: when for each, when in last.items() if at - when < SPAN}
        last.pop(flow, None)
        if len(last) == room:
            last.pop(next(iter(last)))
        last[flow] = at
    return sum(now_ns - when < SPAN for when in last.values())


@settings(max_examples=100, deadline=None)
@given(PACKETS, st.sampled_from((1, 2, 5, 64)))
def test_n_is_the_number_of_flows_in_the_window(packets: list[Any], room: int) -> None:
    counter, now, told = Counter(room), 0, []
    for flow, gap in packets:
        now += gap
        told.append((flow, now))
        assert counter.seen(flow, now) == in_window(told, now, room)
    assert counter.count(now + 60) == in_window(told, now + 60, room)
    assert counter.count(now + SPAN) == 0


@settings(max_examples=20, deadline=None)
@given(PACKETS)
def test_plain_python_is_the_compiled_form(packets: list[Any]) -> None:
    compiled, plain, now = Counter(3), Counter(3), 0
    told: Any = flow_count.seen
    for flow, gap in packets:
        now += gap
        n = compiled.seen(flow, now)
        assert told.py_func(plain.c, plain.places, np.uint64(flow), now) == n
    assert compiled.c == plain.c
    assert (compiled.places == plain.places).all()


def test_counters_of_one_array_do_not_meet() -> None:
    p = flow_count.record({"places": 3})
    counters, places = flow_count.state(p, 2)
    for c in counters:
        flow_count.set_span(c, p, SPAN)
    for flow in range(9):
        flow_count.seen(counters[flow % 2], places, np.uint64(flow), flow)
    assert [c["N"] for c in counters] == [3, 3]
    assert set(places["flow"][:3]) == {4, 6, 8}
    assert set(places["flow"][3:]) == {3, 5, 7}


def test_a_flood_leaves_n_at_the_room_and_says_so() -> None:
    counter = Counter(4)
    assert [counter.seen(flow, 0) for flow in range(8)] == [1, 2, 3, 4, 4, 4, 4, 4]
    assert (counter.c.faults, counter.c.evicted) == (flow_count.Fault.FULL, 4)
    assert counter.seen(7, 1) == 4
    assert counter.c.faults == 0


def test_time_backwards_counts_as_of_the_latest_time() -> None:
    counter = Counter()
    counter.seen(1, 1000)
    assert counter.seen(2, 10) == 2
    assert counter.c.faults == flow_count.Fault.TIME_BACKWARDS
    assert counter.count(1099) == 2
    assert counter.count(1100) == 0


def test_without_a_span_nothing_is_counted() -> None:
    counter = Counter(t_ns=0)
    assert counter.seen(1, 0) == 0
    assert counter.c.faults == flow_count.Fault.NO_SPAN


def test_a_span_of_its_own_stands_before_t() -> None:
    counter = Counter(span_ns=10)
    counter.seen(1, 0)
    assert (counter.count(9), counter.count(10)) == (1, 0)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"places": 0}, "places takes a whole number from 1 to 1e+06 flows, not 0"),
        ({"span": 1}, "no parameter is called 'span'; accepted are span_ns, places"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        flow_count.record(values)
    assert str(caught.value).startswith(sentence)
