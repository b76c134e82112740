"""HPCC++ at the receiver against lines 28-34 taken literally, and what time and N do to it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import flow_count, hop_record, hpcc, hpcc_receiver
from pipeline.cc.hop_record import KINDS, WIDEST
from pipeline.cc.hpcc_receiver import Branch, Clock, Fault

T, ETA, STAGES, NIC = 12_000, 0.95, 3, 100 * 10**9
Int = list[tuple[int, int, int, int]]


@dataclass
class Draft:
    """Lines 28-34, and those of lines 1-20 that they call. A message is a W."""

    U: float = 1.0
    Wc: float = NIC * T / 8e9
    W: float = NIC * T / 8e9
    incStage: int = 0
    W_ai: float = 0.0
    lastUpdateTime: int = 0
    L: Int | None = None
    messages: list[float] = field(default_factory=list)

    def measure_inflight(self, told: Int) -> float:
        assert self.L is not None
        u, tau = 0.0, None
        for (ts, tx, qlen, b), (ts_before, tx_before, qlen_before, _) in zip(
            told, self.L, strict=True
        ):
            tx_rate = (tx - tx_before) * 8 / ((ts - ts_before) * 1e-9)
            u_dash = 8 * min(qlen, qlen_before) / (b * (T * 1e-9)) + tx_rate / b
            if u_dash > u:
                u, tau = u_dash, ts - ts_before
        if tau is not None:
            tau = min(tau, T)
            self.U = (1 - tau / T) * self.U + tau / T * u
        return self.U

    def compute_wind(self, u: float, *, update_wc: bool) -> float:
        if u >= ETA or self.incStage >= STAGES:
            w, stage = self.Wc / (u / ETA) + self.W_ai, 0
        else:
            w, stage = self.Wc + self.W_ai, self.incStage + 1
        if update_wc:
            self.incStage, self.Wc = stage, w
        return w

    def new_int(self, now: int, told: Int, flows: int) -> None:
        self.W_ai = NIC * T / 8e9 * (1 - ETA) / flows
        if self.L is None:
            self.lastUpdateTime = now
        elif now > self.lastUpdateTime + T:
            self.W = self.compute_wind(self.measure_inflight(told), update_wc=True)
            self.messages.append(self.W)
            self.lastUpdateTime = now
        else:
            self.W = self.compute_wind(self.measure_inflight(told), update_wc=False)
        self.L = told


class Receiver:
    """One receiver, driven by hand, in compiled or in plain Python."""

    def __init__(self, *, plain: bool = False, **changes: Any) -> None:
        given = {"T_ns": T, "B_nic_bps": NIC, "maxStage": STAGES, **changes}
        mine = {row.name for row in hpcc_receiver.TABLE}
        self.p = hpcc.record({name: value for name, value in given.items() if name not in mine})
        self.q = hpcc_receiver.record({name: given[name] for name in mine & set(given)})
        self.s, self.r = hpcc.state()[0], hpcc_receiver.state()[0]
        self.links = hop_record.links()
        kernel: Any = hpcc_receiver.new_int
        self.new_int = kernel.py_func if plain else kernel
        hpcc.reset(self.s, self.p)
        hpcc_receiver.reset(self.r, Clock.RECEIVER_EDGE)

    def take(self, now: int, told: Int, flows: int = 1) -> Branch:
        nhop = len(told)
        record = np.full((len(KINDS), max(nhop, 1), 1), -1, np.int64)
        for hop, values in enumerate(told):
            record[: len(values), hop, 0] = values
        u = np.empty((max(nhop, 1), 1))
        return Branch(
            self.new_int(
                self.s, self.r, self.p, self.q, self.links, now, flows, nhop, record, 0, WIDEST,
                WIDEST, u,
            )
        )  # fmt: skip


HOP = st.tuples(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.data())
def test_the_compiled_form_is_the_pseudo_code_to_the_bit(nhop: int, data: Any) -> None:
    rates = data.draw(st.lists(st.integers(10**9, 4 * 10**11), min_size=nhop, max_size=nhop))
    hops = st.lists(HOP, min_size=nhop, max_size=nhop)
    packet = st.tuples(hops, st.sampled_from((0, 1, 700, T, T + 1)), st.integers(1, 50))
    draft, now = Draft(), 10**15
    forms = [Receiver(clamp="off"), Receiver(clamp="off", plain=True)]
    ts, tx = [0] * nhop, [0] * nhop
    for steps, gap, flows in data.draw(st.lists(packet, min_size=2, max_size=40)):
        now += gap
        ts = [before + step[0] for before, step in zip(ts, steps, strict=True)]
        tx = [before + step[1] for before, step in zip(tx, steps, strict=True)]
        told = list(zip(ts, tx, [step[2] for step in steps], rates, strict=True))
        draft.new_int(now, told, flows)
        for form in forms:
            form.take(now, told, flows)
            s, r = form.s, form.r
            assert (s.U, s.W, s.Wc, s.incStage, s.lastUpdateSeq, s.W_ai) == (
                draft.U, draft.W, draft.Wc, draft.incStage, draft.lastUpdateTime, draft.W_ai,
            )  # fmt: skip
            assert r.messages == len(draft.messages)
            assert np.isnan(r.W_sent) if not draft.messages else r.W_sent == draft.messages[-1]
    assert [form.r.sent for form in forms] == [forms[0].r.sent] * 2


def hop(n: int) -> Int:
    """The n-th record of one link at nine tenths of its rate."""
    return [(n * 1000, n * 11_250, 0, NIC)]


def test_the_first_packet_stores_and_starts_the_clock() -> None:
    one = Receiver()
    assert one.take(5_000, hop(0)) is Branch.FIRST_ACK
    assert (one.s.lastUpdateSeq, one.s.U, one.r.sent) == (5_000, 1.0, 0)


def test_a_message_is_sent_when_more_than_t_has_passed() -> None:
    one = Receiver()
    one.take(0, hop(0))
    assert one.take(T, hop(1)) is Branch.FAST_REACT_MI
    assert (one.r.sent, one.s.lastUpdateSeq) == (0, 0)
    assert one.take(T + 1, hop(2)) is Branch.FULL_UPDATE_MI
    assert (one.r.sent, one.r.messages, one.s.lastUpdateSeq) == (1, 1, T + 1)
    assert one.r.W_sent == one.s.W == one.s.Wc
    assert one.take(T + 2, hop(3)).name.startswith("FAST")
    assert (one.r.sent, one.r.messages) == (0, 1)


def test_the_clock_may_start_at_zero() -> None:
    one = Receiver(lastUpdateTime_starts="zero")
    one.take(50_000, hop(0))
    assert one.take(50_001, hop(1)) is Branch.FULL_UPDATE_MI


def test_a_packet_without_telemetry_changes_nothing() -> None:
    one = Receiver()
    one.take(0, hop(0))
    assert one.take(10 * T, []) is Branch.NO_TELEMETRY
    assert (one.s.lastUpdateSeq, one.s.U, one.r.sent) == (0, 1.0, 0)


def test_bad_telemetry_sends_nothing_and_is_named() -> None:
    one = Receiver()
    one.take(0, hop(0))
    assert one.take(10 * T, hop(0)) is Branch.BAD_TELEMETRY
    assert one.s.faults == hpcc.Fault.ZERO_DT
    assert (one.s.lastUpdateSeq, one.r.sent) == (0, 0)


def test_a_path_of_another_length_only_stores() -> None:
    one = Receiver()
    one.take(0, hop(0))
    assert one.take(10 * T, hop(1) * 2) is Branch.PATH_CHANGE
    assert one.s.lastUpdateSeq == 0


def test_without_t_nothing_is_measured() -> None:
    one = Receiver(T_ns=0)
    one.take(0, hop(0))
    assert one.take(9, hop(1)) is Branch.BAD_TELEMETRY
    assert one.s.faults == hpcc.Fault.ZERO_T


def test_without_the_nic_the_message_has_no_window() -> None:
    one = Receiver(B_nic_bps=0)
    one.take(0, hop(0))
    one.take(2 * T, hop(1))
    assert one.s.faults == hpcc.Fault.UNKNOWN_WINDOW
    assert one.r.sent == 1
    assert np.isnan(one.r.W_sent)


def test_time_backwards_is_named_and_never_a_full_update() -> None:
    one = Receiver()
    one.take(9 * T, hop(0))
    assert one.take(0, hop(1)).name.startswith("FAST")
    assert one.s.faults == Fault.TIME_BACKWARDS
    one.take(9 * T, hop(2))
    assert one.s.faults == 0


def test_the_flows_of_the_last_hop_set_the_additive_step() -> None:
    one = Receiver(form="rate")
    one.take(0, hop(0), 10)
    assert (one.s.W_ai, one.r.N) == (150_000 * (1 - ETA) / 10, 10)
    assert one.s.R_ai == np.floor(8 * one.s.W_ai / (T * 1e-9))
    one.take(1, hop(1), 0)
    assert (one.r.N, one.s.faults) == (10, Fault.FLOWS_UNKNOWN)


def test_a_step_that_is_given_stays_and_so_does_a_given_n() -> None:
    given = Receiver(W_ai=80.0, R_ai_bps=7)
    given.take(0, hop(0), 10)
    assert (given.s.W_ai, given.s.R_ai) == (80.0, 7)
    expected = Receiver(N_from="parameter", N=50)
    expected.take(0, hop(0), 10)
    assert (expected.s.W_ai, expected.r.N) == (150_000 * (1 - ETA) / 50, 0)
    expected.take(1, hop(1), 0)
    assert expected.s.faults == 0


def test_the_count_of_a_last_hop_feeds_each_of_its_receivers() -> None:
    p = flow_count.record()
    counters, places = flow_count.state(p)
    flow_count.set_span(counters[0], p, T)
    receivers = [Receiver() for _ in range(3)]
    for n in range(3):
        for flow, one in enumerate(receivers):
            now = n * 1000 + flow
            flows = flow_count.seen(counters[0], places, np.uint64(flow), now)
            one.take(now, hop(n), flows)
    assert [one.r.N for one in receivers] == [3, 3, 3]
    assert flow_count.count(counters[0], places, 10 * T) == 0


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"N_from": "guess"}, "N_from takes parameter or last_hop, not 'guess'"),
        ({"n": 1}, "no parameter is called 'n'; accepted are N_from, lastUpdateTime_starts"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        hpcc_receiver.record(values)
    assert str(caught.value).startswith(sentence)
