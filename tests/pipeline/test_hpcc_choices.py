"""What the draft of HPCC++ leaves open: each choice by name, and what it changes."""

from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipeline import hop_record, hpcc
from tests.pipeline.plain_form import plain
from tests.pipeline.roce_by_hand import generated, observed
from tests.pipeline.test_hpcc import WIDEST, Sender, told
from tests.pipeline.test_roce import tracker

B = [10**11, 10**11]
T_NS = 12_000
HOP = st.tuples(st.integers(1, 30_000), st.integers(0, 10**6), st.integers(0, 10**6))


def test_of_equal_loads_the_highest_hop_can_be_named() -> None:
    sender = Sender(ties="highest")
    sender.ack([0, 0], [0, 0], [0, 0], B)
    sender.ack([1000, 1000], [5000, 5000], [0, 0], B)
    assert sender.u[0] == sender.u[1]
    assert sender.s.u_hop == 1
    sender.ack([2000, 2000], [10_001, 10_000], [0, 0], B)
    assert sender.s.u_hop == 0


def test_the_first_ack_can_leave_last_update_seq_at_zero() -> None:
    for choice, right in (("snd_nxt", 2), ("zero", 0)):
        sender = Sender(first_ack=choice)
        sender.ack([0, 0], [0, 0], [0, 0], B)
        assert sender.s.lastUpdateSeq == right
        second = sender.ack([1000, 1000], [5000, 5000], [0, 0], B)
        assert second.name.startswith("FULL" if choice == "zero" else "FAST")


def test_a_change_of_path_can_begin_the_window_anew() -> None:
    for choice in ("keep", "reset"):
        sender = Sender(path_change=choice, first_ack="zero")
        sender.ack([0, 0], [0, 0], [0, 0], B)
        sender.ack([1000, 1000], [50_000, 5000], [0, 0], B)
        before = sender.s.U, sender.s.W
        assert sender.s.W_init > sender.s.W
        assert sender.ack([5], [5], [0], B[:1]) is hpcc.Branch.PATH_CHANGE
        begins = 1.0, sender.s.W_init
        assert (begins if choice == "reset" else before) == (sender.s.U, sender.s.W)
        assert sender.s.Wc == sender.s.W


class EachHop:
    """Lines 8-9 for every hop by itself; U is the largest of what they come to."""

    def __init__(self, hops: int) -> None:
        self.U = [1.0] * hops

    def measure(self, loads: list[tuple[float, int]]) -> float:
        for hop, (u, since) in enumerate(loads):
            tau = min(since, T_NS)
            self.U[hop] = (1 - tau / T_NS) * self.U[hop] + tau / T_NS * u
        return max(self.U)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.data())
def test_each_hop_can_have_an_average_of_its_own(nhop: int, data: Any) -> None:
    steps = data.draw(st.lists(st.lists(HOP, min_size=nhop, max_size=nhop), max_size=25))
    rates = data.draw(st.lists(st.integers(10**9, 10**11), min_size=nhop, max_size=nhop))
    p = hpcc.record({"T_ns": T_NS, "B_nic_bps": 10**11, "average": "hop"})
    forms = [(form, hpcc.state()[0], hop_record.links()) for form in (hpcc, plain(hpcc))]
    for form, s, _ in forms:
        form.reset(s, p)
    literal = EachHop(nhop)
    ts, tx = np.zeros(nhop, np.int64), np.zeros(nhop, np.int64)
    before = None
    for number, values in enumerate(steps, start=1):
        ts += [value[0] for value in values]
        tx += [value[1] for value in values]
        queues = [value[2] for value in values]
        u = np.empty((nhop, 1))
        for form, s, links in forms:
            record = told(ts, tx, queues, rates)
            form.new_ack(s, p, links, number, number, nhop, record, 0, WIDEST, WIDEST, u)
        if before is not None:
            loads = []
            for hop, (tau, sent, queue) in enumerate(values):
                rate = sent * 8 / (tau * 1e-9)
                shortest = min(queue, before[hop])
                load = 8 * shortest / (rates[hop] * (T_NS * 1e-9)) + rate / rates[hop]
                loads.append((load, tau))
            U = literal.measure(loads)
            assert [s.U for _, s, _ in forms] == [U, U]
        before = queues


def test_a_psn_acknowledges_the_next_one_or_itself() -> None:
    rows = observed(generated(1, 800, 5), [7])
    for choice, less in (("next", 0), ("last", 1)):
        made = tracker(ack_psn=choice).advance(rows).decisions
        full = made["branch"].cast(pl.String).str.starts_with("full")
        due = made["ack"].cast(pl.Int64) - less > made["lastUpdateSeq"].shift().cast(pl.Int64)
        measured = made["u_hop"].is_not_null() & (made["u_hop"] >= 0)
        assert full.filter(measured).to_list() == due.filter(measured).to_list()
        assert 0 < full.sum() < made.height


def test_telemetry_of_the_tracker_has_room_for_averages() -> None:
    rows = observed(generated(3, 400, 6, hops=5), [7, 8, 9])
    largest, each = (
        tracker(average=choice).advance(rows).decisions for choice in ("maximum", "hop")
    )
    assert largest.height == each.height
    assert largest["u_max"].equals(each["u_max"], null_equal=True)
    assert not largest["U"].equals(each["U"])
    assert each["U"].is_finite().all()
    first, second = tracker(average="hop"), tracker(average="hop")
    parts = [first.advance(rows[:900]).decisions]
    second.restore(first.snapshot(full=True))
    parts.append(second.advance(rows[900:]).decisions)
    assert_frame_equal(pl.concat(parts), each)
