"""Swift against Algorithm 1 taken literally, and what CSIG's signals change."""

from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import swift
from pipeline.cc.swift import Branch, Fault

BASE, HOP, RANGE, FS_MIN, FS_MAX = 20_000, 3_000, 100_000, 0.1, 100.0
AI, BETA, MAX_MDF, MIN, MAX, THRESHOLD, ENDPOINT = 1.0, 0.8, 0.5, 0.001, 1000.0, 3, 9_000


@dataclass
class Algorithm1:
    """The paper's Algorithm 1, for fabric and endpoint, time in whole ns."""

    fcwnd: float = 10.0
    ecwnd: float = 10.0
    cwnd: float = 10.0
    rtt: int = 0
    t_last_decrease: int | None = None
    retransmit_cnt: int = 0
    pacing_delay: float = 0.0

    def target_delay(self, hops: int) -> float:
        alpha = RANGE / (1 / sqrt(FS_MIN) - 1 / sqrt(FS_MAX))
        beta = -alpha / sqrt(FS_MAX)
        scaling = max(0, min(alpha / sqrt(self.fcwnd) + beta, RANGE))
        return BASE + hops * HOP + scaling

    def can_decrease(self, now: int) -> bool:
        return self.t_last_decrease is None or now - self.t_last_decrease >= self.rtt

    def receive(self, now: int, rtt: int, endpoint: int, hops: int, num_acked: int) -> None:
        self.rtt, self.retransmit_cnt = rtt, 0
        can = self.can_decrease(now)
        target = self.target_delay(hops)
        e = self.changed(self.ecwnd, endpoint, ENDPOINT, num_acked, can=can)
        f = self.changed(self.fcwnd, max(rtt - endpoint, 0), target, num_acked, can=can)
        self.end(now, f, e)

    @staticmethod
    def changed(cwnd: float, delay: float, target: float, num_acked: int, *, can: bool) -> float:
        if delay < target:
            return cwnd + AI / cwnd * num_acked if cwnd >= 1 else cwnd + AI * num_acked
        if can:
            return max(1 - BETA * ((delay - target) / delay), 1 - MAX_MDF) * cwnd
        return cwnd

    def timeout(self, now: int) -> None:
        self.retransmit_cnt += 1
        if self.retransmit_cnt >= THRESHOLD:
            self.end(now, MIN, MIN)
        elif self.can_decrease(now):
            self.end(now, (1 - MAX_MDF) * self.fcwnd, (1 - MAX_MDF) * self.ecwnd)
        else:
            self.end(now, self.fcwnd, self.ecwnd)

    def fast_recovery(self, now: int) -> None:
        self.retransmit_cnt = 0
        keep = 1 - MAX_MDF if self.can_decrease(now) else 1.0
        self.end(now, keep * self.fcwnd, keep * self.ecwnd)

    def end(self, now: int, f: float, e: float) -> None:
        before = self.cwnd
        self.fcwnd, self.ecwnd = min(max(MIN, f), MAX), min(max(MIN, e), MAX)
        self.cwnd = min(self.fcwnd, self.ecwnd)
        if self.cwnd < before:
            self.t_last_decrease = now
        self.pacing_delay = self.rtt / self.cwnd if self.cwnd < 1 else 0.0


class Sender:
    """One sender, driven by hand, in compiled or in plain Python."""

    def __init__(self, *, plain: bool = False, **changes: Any) -> None:
        self.p = swift.record({"RETX_RESET_THRESHOLD": THRESHOLD, **changes})
        self.s = swift.state()[0]
        swift.reset(self.s, self.p)
        kernels: Any = (swift.new_ack, swift.lost)
        self.new_ack, self.lose = [k.py_func if plain else k for k in kernels]

    def ack(
        self, now: int, rtt: int = 30_000, *, endpoint: int = 0, hops: int = 2, acked: int = 1,
        pd: float = nan, abw: float = nan,
    ) -> Branch:  # fmt: skip
        return Branch(self.new_ack(self.s, self.p, now, rtt, endpoint, hops, acked, pd, abw))

    def lost(self, now: int, *, timeout: bool) -> Branch:
        return Branch(self.lose(self.s, self.p, now, timeout))


EVENT = st.tuples(
    st.sampled_from("aaaaaatf"),
    st.integers(0, 60_000),
    st.integers(1, 400_000),
    st.integers(0, 30_000),
    st.integers(0, 7),
    st.integers(0, 5),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENT, min_size=1, max_size=80))
def test_the_compiled_form_is_the_algorithm_to_the_bit(events: list[Any]) -> None:
    paper, now = Algorithm1(), 0
    forms = [Sender(plain=plain, endpoint_target_ns=ENDPOINT) for plain in (False, True)]
    for kind, gap, rtt, endpoint, hops, acked in events:
        now += gap
        if kind == "a":
            paper.receive(now, rtt, endpoint, hops, acked)
        elif kind == "t":
            paper.timeout(now)
        else:
            paper.fast_recovery(now)
        for form in forms:
            s = form.s
            if kind == "a":
                form.ack(now, rtt, endpoint=endpoint, hops=hops, acked=acked)
            else:
                form.lost(now, timeout=kind == "t")
            assert (s.fcwnd, s.ecwnd, s.cwnd, s.pacing_delay_ns, s.retransmit_cnt) == (
                paper.fcwnd, paper.ecwnd, paper.cwnd, paper.pacing_delay, paper.retransmit_cnt,
            )  # fmt: skip
            assert (s.t_last_decrease if s.t_last_decrease >= 0 else None) == paper.t_last_decrease


SIGNAL = st.one_of(st.floats(), st.floats(0, 1e6), st.floats(0, 1e12))
CHOICES = st.fixed_dictionaries(
    {
        "delay_source": st.sampled_from(("rtt", "csig_pd", "least")),
        "pd_target": st.sampled_from(("one_hop", "path")),
        "without_pd": st.sampled_from(("rtt", "hold")),
        "ramp": st.sampled_from(("off", "abw", "abw_or_ai")),
        "marks_decrease": st.sampled_from(("smaller", "not_larger")),
        "fs_min_cwnd": st.sampled_from((0.1, 100.0, 200.0)),
        "endpoint_target_ns": st.sampled_from((0, ENDPOINT)),
    }
)
WIDE = st.integers(-(10**13), 10**13)


@settings(max_examples=60, deadline=None)
@given(CHOICES, st.lists(st.tuples(WIDE, WIDE, WIDE, WIDE, WIDE, SIGNAL, SIGNAL), max_size=12))
def test_no_input_makes_a_window_infinite_and_both_forms_agree(
    choices: dict[str, Any], events: list[Any]
) -> None:
    compiled, plain = Sender(**choices), Sender(plain=True, **choices)
    for now, rtt, endpoint, hops, acked, pd, abw in events:
        for form in (compiled, plain):
            form.ack(now, rtt, endpoint=endpoint, hops=hops, acked=acked, pd=pd, abw=abw)
            values = (form.s.fcwnd, form.s.ecwnd, form.s.cwnd, form.s.pacing_delay_ns)
            assert all(isfinite(value) for value in values)
        assert compiled.s.tobytes() == plain.s.tobytes()


def test_each_branch_of_an_ack_by_name() -> None:
    sender = Sender(initial_cwnd=0.5)
    assert sender.ack(0) is Branch.INCREASE_BELOW_ONE
    assert float(sender.s.cwnd) == 1.5
    assert sender.ack(1) is Branch.INCREASE
    assert float(sender.s.cwnd) == 1.5 + 1 / 1.5
    before = float(sender.s.cwnd)
    target = Algorithm1(fcwnd=before).target_delay(2)
    assert sender.ack(2, round(target) + 100) is Branch.DECREASE
    assert before * 0.99 < sender.s.cwnd < before
    assert sender.ack(3, 10**9) is Branch.HOLD
    assert sender.ack(10**10, 10**9) is Branch.DECREASE_CAPPED
    assert float(sender.s.pacing_delay_ns) == 0
    sender.ack(10**11, 10**9)
    assert float(sender.s.pacing_delay_ns) == 10**9 / sender.s.cwnd


def test_each_branch_of_a_loss_by_name() -> None:
    sender = Sender()
    sender.ack(0, 1000)
    before = float(sender.s.cwnd)
    assert sender.lost(10, timeout=False) is Branch.FAST_RECOVERY
    assert float(sender.s.cwnd) == before / 2
    assert sender.lost(20, timeout=False) is Branch.FAST_RECOVERY_HOLD
    assert sender.lost(30, timeout=True) is Branch.TIMEOUT_HOLD
    assert sender.lost(1010, timeout=True) is Branch.TIMEOUT
    assert sender.lost(1020, timeout=True) is Branch.TIMEOUT_RESET
    assert float(sender.s.cwnd) == 0.001
    sender.ack(1030, 1000)
    assert sender.s.retransmit_cnt == 0


def test_a_decrease_may_also_be_marked_by_an_equal_window() -> None:
    for marks, after in (("smaller", -1), ("not_larger", 7)):
        sender = Sender(marks_decrease=marks, max_cwnd=10.0)
        sender.ack(7)
        assert sender.s.t_last_decrease == after


def test_the_target_grows_by_hops_and_shrinks_with_the_window() -> None:
    sender = Sender()
    sender.ack(0, hops=5)
    assert float(sender.s.target_ns) == Algorithm1().target_delay(5)
    for cwnd, extra in ((0.01, RANGE), (0.1, RANGE), (100.0, 0), (900.0, 0)):
        sender = Sender(initial_cwnd=cwnd)
        sender.ack(0, hops=0)
        assert float(sender.s.target_ns) == pytest.approx(BASE + extra)


def test_csig_delay_stands_for_the_fabrics() -> None:
    sender = Sender(delay_source="csig_pd")
    assert sender.ack(0, 10**9, pd=1_000.0) is Branch.INCREASE
    assert float(sender.s.delay_ns) == 1_000.0
    assert float(sender.s.target_ns) == Algorithm1().target_delay(1)
    path = Sender(delay_source="csig_pd", pd_target="path")
    path.ack(0, 10**9, hops=4, pd=1_000.0)
    assert float(path.s.target_ns) == Algorithm1().target_delay(4)


def test_where_csig_delay_is_missing_rtt_stands_for_it_or_the_window_stays() -> None:
    sender = Sender(delay_source="csig_pd")
    assert sender.ack(0, 10**6) is Branch.DECREASE_CAPPED
    assert sender.s.faults == Fault.PD_UNKNOWN
    held = Sender(delay_source="csig_pd", without_pd="hold")
    assert held.ack(0, 10**6) is Branch.NOTHING
    assert (float(held.s.cwnd), held.s.faults) == (10.0, Fault.PD_UNKNOWN)
    assert np.isnan(held.s.delay_ns)


def test_of_two_delays_the_smaller_window_holds() -> None:
    for rtt, pd, delay in ((10**6, 1.0, 10**6), (1_000, 10.0**6, 10**6)):
        sender = Sender(delay_source="least")
        assert sender.ack(0, rtt, pd=pd) is Branch.DECREASE_CAPPED
        assert float(sender.s.delay_ns) == delay


def test_available_bandwidth_ramps_the_window_up() -> None:
    room = 0.5 * 12e9 * (30_000 * 1e-9) / (8 * 1500)  # 15 packets a round trip
    sender = Sender(ramp="abw")
    for packet in range(10):
        assert sender.ack(packet, abw=12e9) is Branch.RAMP
    assert float(sender.s.cwnd) == pytest.approx(10 + room, rel=0.3)
    full = Sender(ramp="abw")
    assert full.ack(0, abw=0.0) is Branch.RAMP
    assert float(full.s.cwnd) == 10.0
    either = Sender(ramp="abw_or_ai")
    assert either.ack(0, abw=0.0) is Branch.INCREASE
    assert either.ack(1, abw=12e9) is Branch.RAMP


@pytest.mark.parametrize(
    ("fault", "event", "changes"),
    [
        (Fault.NO_RTT, {"rtt": 0}, {}),
        (Fault.NO_RTT, {"rtt": -1}, {}),
        (Fault.OUT_OF_RANGE, {"rtt": 10**13}, {}),
        (Fault.OUT_OF_RANGE, {"acked": -1}, {}),
        (Fault.ENDPOINT_UNKNOWN, {"endpoint": -1}, {}),
        (Fault.OUT_OF_RANGE, {"endpoint": -2}, {}),
        (Fault.HOPS_UNKNOWN, {"hops": -1}, {}),
        (Fault.PD_UNKNOWN, {}, {"delay_source": "least"}),
        (Fault.OUT_OF_RANGE, {"pd": float("inf")}, {"delay_source": "least"}),
        (Fault.ABW_UNKNOWN, {}, {"ramp": "abw"}),
        (Fault.OUT_OF_RANGE, {"abw": float("inf")}, {"ramp": "abw"}),
        (Fault.OUT_OF_RANGE, {"abw": -5.0}, {"ramp": "abw"}),
        (Fault.FLOW_SCALING_EMPTY, {}, {"fs_min_cwnd": 100.0}),
    ],
)
def test_what_is_wrong_is_flagged(
    fault: Fault, event: dict[str, Any], changes: dict[str, Any]
) -> None:
    sender = Sender(**changes)
    sender.ack(0, **event)
    assert sender.s.faults == fault


def test_time_that_runs_backwards_is_flagged_and_decreases_nothing() -> None:
    sender = Sender()
    sender.ack(10**6, 10**5)
    sender.lost(10**6, timeout=False)
    assert sender.ack(5, 10**5) is not Branch.DECREASE
    assert (sender.s.faults, sender.s.now_ns) == (Fault.TIME_BACKWARDS, 10**6)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"max_mdf": 1}, "max_mdf takes a number from 0 to 0.999, not 1"),
        ({"ramp": "on"}, "ramp takes off or abw or abw_or_ai, not 'on'"),
        ({"mdf": 1}, "no parameter is called 'mdf'; accepted are base_target_ns, "),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        swift.record(values)
    assert str(caught.value).startswith(sentence)
