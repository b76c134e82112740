"""Poseidon against its two equations taken literally, and what odd input does to it."""

from dataclasses import dataclass
from math import exp, isfinite, log, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import poseidon
from pipeline.cc.poseidon import Branch, Fault

P, K, M = 40_000, 2_000, 0.25
MIN_RATE, MAX_RATE, MIN_MD, MAX_MI = 10**8, 10**11, 0.4, 2.5
MIN, MAX, PACKET, THRESHOLD = 0.001, 1000.0, 1500, 3


def target(rate: float) -> float:
    return P * (log(MAX_RATE) - log(rate)) / (log(MAX_RATE) - log(MIN_RATE)) + K


def ratio(rate: float, mpd: float) -> float:
    return exp((target(rate) - mpd) / P * (log(MAX_RATE) - log(MIN_RATE)) * M)


@dataclass
class Algorithm1:
    """The sender of the paper, with the defaults of the table."""

    cwnd: float = 10.0
    rtt: int = 0
    t_last_decrease: int | None = None
    timeouts: int = 0

    def can_decrease(self, now: int) -> bool:
        return self.t_last_decrease is None or now - self.t_last_decrease >= self.rtt

    def receive(self, now: int, rtt: int, num_acked: int, mpd: float) -> None:
        self.rtt, self.timeouts = rtt, 0
        rate = min(max(self.cwnd * PACKET * 8 / (rtt * 1e-9), MIN_RATE), MAX_RATE)
        u = ratio(rate, mpd)
        if mpd <= target(rate):
            u = min(u, MAX_MI)
            self.end(now, self.cwnd * (1 + (u - 1) * num_acked / self.cwnd))
        elif self.can_decrease(now):
            self.end(now, self.cwnd * max(u, MIN_MD))

    def lose(self, now: int, *, timeout: bool) -> None:
        self.timeouts = self.timeouts + 1 if timeout else 0
        if self.timeouts >= THRESHOLD:
            self.end(now, MIN)
        elif self.can_decrease(now):
            self.end(now, MIN_MD * self.cwnd)

    def end(self, now: int, cwnd: float) -> None:
        before, self.cwnd = self.cwnd, min(max(cwnd, MIN), MAX)
        if self.cwnd < before:
            self.t_last_decrease = now


class Sender:
    """One sender, driven by hand, in compiled or in plain Python."""

    def __init__(self, *, plain: bool = False, **changes: Any) -> None:
        self.p = poseidon.record({"RETX_RESET_THRESHOLD": THRESHOLD, **changes})
        self.s = poseidon.state()[0]
        poseidon.reset(self.s, self.p)
        kernels: Any = (poseidon.new_ack, poseidon.lost)
        self.new_ack, self.lose = [k.py_func if plain else k for k in kernels]

    def ack(self, now: int, mpd: float = 0.0, *, rtt: int = 10_000, acked: int = 1) -> Branch:
        return Branch(self.new_ack(self.s, self.p, now, rtt, acked, mpd))

    def lost(self, now: int, *, timeout: bool) -> Branch:
        return Branch(self.lose(self.s, self.p, now, timeout))


EVENT = st.tuples(
    st.sampled_from("aaaaaatf"),
    st.integers(0, 60_000),
    st.integers(1, 400_000),
    st.integers(0, 5),
    st.floats(0, 80_000),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENT, min_size=1, max_size=80))
def test_the_compiled_form_is_the_equations_to_the_bit(events: list[Any]) -> None:
    paper, now = Algorithm1(), 0
    forms = [Sender(), Sender(plain=True)]
    for kind, gap, rtt, acked, mpd in events:
        now += gap
        if kind == "a":
            paper.receive(now, rtt, acked, mpd)
        else:
            paper.lose(now, timeout=kind == "t")
        for form in forms:
            s = form.s
            if kind == "a":
                form.ack(now, mpd, rtt=rtt, acked=acked)
            else:
                form.lost(now, timeout=kind == "t")
            assert (float(s.cwnd), int(s.retransmit_cnt)) == (paper.cwnd, paper.timeouts)
            assert (s.t_last_decrease if s.t_last_decrease >= 0 else None) == paper.t_last_decrease
            pacing = paper.rtt / paper.cwnd if paper.cwnd < 1 else 0.0
            assert float(s.pacing_delay_ns) == pacing
    assert forms[0].s.tobytes() == forms[1].s.tobytes()


CHOICES = st.fixed_dictionaries(
    {
        "alpha": st.sampled_from(("range", "rate")),
        "rate_by": st.sampled_from(("rtt", "base_rtt")),
        "T_ns": st.sampled_from((0, 10_000)),
        "max_mi": st.sampled_from((0.0, 2.5)),
        "p_ns": st.sampled_from((1, P)),
        "k_ns": st.sampled_from((K, 10**12)),
        "min_rate_bps": st.sampled_from((1, MAX_RATE - 1, MAX_RATE)),
        "on_loss": st.sampled_from(("min_md", "one_less_min_md")),
    }
)
WIDE = st.integers(-(10**13), 10**13)


@settings(max_examples=60, deadline=None)
@given(CHOICES, st.lists(st.tuples(WIDE, WIDE, WIDE, st.floats()), max_size=12))
def test_no_input_makes_anything_infinite_and_both_forms_agree(
    choices: dict[str, Any], events: list[Any]
) -> None:
    compiled, plain = Sender(**choices), Sender(plain=True, **choices)
    for now, rtt, acked, mpd in events:
        for form in (compiled, plain):
            form.ack(now, mpd, rtt=rtt, acked=acked)
            assert isfinite(form.s.cwnd)
            assert isfinite(form.s.pacing_delay_ns)
            assert not np.isinf([form.s.U, form.s.MPT, form.s.rate_bps]).any()
        assert compiled.s.tobytes() == plain.s.tobytes()


def test_the_largest_step_times_the_most_packets_is_finite() -> None:
    sender = Sender(plain=True, max_mi=0.0, p_ns=1, k_ns=10**12)
    for acked in (1, 10**9):
        sender.ack(0, 0.0, rtt=1, acked=acked)
        assert sender.s.U > 1e200
        assert sender.s.cwnd == 1000


def test_a_full_step_goes_to_the_rate_whose_target_is_the_delay() -> None:
    sender = Sender(m=1.0, min_md=0.001)
    sender.ack(0, 20_000.0)
    rate = float(sender.s.cwnd) * PACKET * 8 / 1e-5
    assert target(rate) == pytest.approx(20_000)


def test_each_branch_of_an_ack_by_name() -> None:
    sender = Sender()
    assert sender.ack(0, 0.0) is Branch.INCREASE
    assert float(sender.s.cwnd) == pytest.approx(10 + float(sender.s.U) - 1)
    held = float(sender.s.cwnd)
    assert sender.ack(1, float(sender.s.MPT) + 100) is Branch.DECREASE
    assert float(sender.s.cwnd) == held * float(sender.s.U)
    assert sender.ack(2, 30_000.0) is Branch.HOLD
    before = float(sender.s.cwnd)
    assert sender.ack(10_001, 10.0**9) is Branch.DECREASE_CAPPED
    assert float(sender.s.cwnd) == before * MIN_MD


def test_a_hop_at_its_target_changes_nothing() -> None:
    sender = Sender(max_mi=0.0)
    sender.ack(0, 0.0, acked=0)
    before = float(sender.s.cwnd)
    assert sender.ack(1, float(sender.s.MPT)) is Branch.INCREASE
    assert (float(sender.s.U), float(sender.s.cwnd)) == (1.0, before)


def test_each_branch_of_a_loss_by_name() -> None:
    sender = Sender(on_loss="one_less_min_md")
    sender.ack(0, acked=0)
    assert sender.lost(1, timeout=False) is Branch.FAST_RECOVERY
    assert float(sender.s.cwnd) == 10 * (1 - MIN_MD)
    assert sender.lost(2, timeout=False) is Branch.FAST_RECOVERY_HOLD
    assert sender.lost(3, timeout=True) is Branch.TIMEOUT_HOLD
    assert sender.lost(10_001, timeout=True) is Branch.TIMEOUT
    assert sender.lost(10_002, timeout=True) is Branch.TIMEOUT_RESET
    assert float(sender.s.cwnd) == MIN


def test_what_the_implementations_differ_in_is_a_parameter() -> None:
    by_rate = Sender(alpha="rate")
    by_rate.ack(0, 30_000.0)
    exponent = (target(12e9) - 30_000) / P * log(MAX_RATE / 12e9) * M
    assert float(by_rate.s.U) == pytest.approx(exp(exponent))
    by_base = Sender(rate_by="base_rtt", T_ns=20_000)
    by_base.ack(0)
    assert float(by_base.s.rate_bps) == 10 * PACKET * 8 / (20_000 * 1e-9)


@pytest.mark.parametrize(
    ("fault", "event", "changes"),
    [
        (Fault.NO_RTT, {"rtt": 0}, {}),
        (Fault.OUT_OF_RANGE, {"rtt": 10**13}, {}),
        (Fault.OUT_OF_RANGE, {"acked": -1}, {}),
        (Fault.OUT_OF_RANGE, {"mpd": -2.0}, {}),
        (Fault.OUT_OF_RANGE, {"mpd": float("inf")}, {}),
        (Fault.MPD_UNKNOWN, {"mpd": nan}, {}),
        (Fault.MPD_UNKNOWN, {"mpd": -1.0}, {}),
        (Fault.RATES_UNORDERED, {}, {"min_rate_bps": MAX_RATE}),
        (Fault.RATES_UNORDERED, {}, {"min_rate_bps": 10**15 - 1, "max_rate_bps": 10**15}),
    ],
)
def test_what_cannot_be_decided_is_flagged_and_changes_nothing(
    fault: Fault, event: dict[str, Any], changes: dict[str, Any]
) -> None:
    sender = Sender(**changes)
    assert sender.ack(5, **event) is Branch.NOTHING
    assert (sender.s.faults, float(sender.s.cwnd)) == (fault, 10.0)
    assert np.isnan([sender.s.U, sender.s.MPT, sender.s.rate_bps]).all()


def test_an_unknown_base_round_trip_is_flagged_and_the_last_one_used() -> None:
    sender = Sender(rate_by="base_rtt")
    assert sender.ack(0) is Branch.INCREASE
    assert sender.s.faults == Fault.NO_BASE_RTT


def test_time_that_runs_backwards_is_flagged() -> None:
    sender = Sender()
    sender.ack(1000, 10.0**6)
    assert sender.ack(5, 10.0**6) is Branch.HOLD
    assert (sender.s.faults, sender.s.now_ns) == (Fault.TIME_BACKWARDS, 1000)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"p_ns": 0}, "p_ns takes a whole number from 1 to 1e+12 ns, not 0"),
        ({"alpha": 0.1}, "alpha takes range or rate, not 0.1"),
        ({"p": 1}, "no parameter is called 'p'; accepted are p_ns, k_ns, m, "),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        poseidon.record(values)
    assert str(caught.value).startswith(sentence)
