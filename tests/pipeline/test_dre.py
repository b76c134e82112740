"""DRE against a timer that ticks every period, and what odd samples do to it."""

from math import pow as power
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import dre
from pipeline.cc.dre import Branch, Fault

T, ALPHA = 100, 0.25
SAMPLES = st.lists(
    st.tuples(st.sampled_from((0, 1, 33, 99, 100, 101, 250, 5000)), st.integers(0, 9000)),
    min_size=1,
    max_size=60,
)


class Estimator:
    """One estimator, driven by hand, in compiled or in plain Python."""

    def __init__(self, *, plain: bool = False, **changes: Any) -> None:
        self.p = dre.record({"alpha": ALPHA, "T_dre_ns": T, **changes})
        self.s = dre.state()[0]
        dre.reset(self.s)
        kernel: Any = dre.sample
        self.kernel = kernel.py_func if plain else kernel

    def sample(self, now: int, sent: int) -> Branch:
        return Branch(self.kernel(self.s, self.p, now, sent))


def ticked(samples: list[tuple[int, int]]) -> float:
    """X as a timer at every multiple of T makes it, one multiplication a period."""
    x, period = 0.0, samples[0][0] // T
    for now, sent in samples:
        while period < now // T:
            x, period = x * (1 - ALPHA), period + 1
        x += sent
    return x


def in_one_power(samples: list[tuple[int, int]]) -> float:
    """The same with n empty periods as one factor."""
    x, before = 0.0, samples[0][0]
    for now, sent in samples:
        n = now // T - before // T
        x = x * power(1 - ALPHA, n) + sent
        before = now
    return x


@settings(max_examples=100, deadline=None)
@given(SAMPLES, st.integers(0, 10**15))
def test_x_is_what_a_timer_makes_of_it(steps: list[tuple[int, int]], start: int) -> None:
    forms, now, told = [Estimator(), Estimator(plain=True)], start, []
    for gap, sent in steps:
        now += gap
        told.append((now, sent))
        for form in forms:
            form.sample(now, sent)
            assert float(form.s.X) == in_one_power(told)
            assert float(form.s.rate_bps) == 8 * form.s.X * ALPHA / (T * 1e-9)
    assert forms[0].s == forms[1].s
    assert float(forms[0].s.X) == pytest.approx(ticked(told), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(SAMPLES, st.integers(1, 400))
def test_asking_between_samples_changes_the_estimate_by_rounding_only(
    steps: list[tuple[int, int]], wait: int
) -> None:
    asked, left, now = Estimator(), Estimator(), 0
    for gap, sent in steps:
        now += gap
        for form in (asked, left):
            form.sample(now, sent)
        now += wait
        asked.sample(now, 0)
    left.sample(now, 0)
    assert float(asked.s.X) == pytest.approx(float(left.s.X), rel=1e-12, abs=1e-300)


def test_a_steady_flow_is_estimated_within_half_alpha_of_its_rate() -> None:
    for periods_start in ("epoch", "first_sample"):
        estimator, rates = Estimator(periods_start=periods_start), []
        for packet in range(1000):
            estimator.sample(7 + packet * 10, 125)
            rates.append(float(estimator.s.rate_bps))
        steady = rates[-100:]
        assert np.mean(steady) == pytest.approx(100e9, rel=ALPHA / 2)
        assert max(steady) == pytest.approx(100e9, rel=1e-9)
        assert estimator.s.faults == 0


def test_silence_discounts_by_whole_periods_and_ends_at_zero() -> None:
    estimator = Estimator()
    assert estimator.sample(50, 1000) is Branch.FIRST_SAMPLE
    assert estimator.sample(99, 0) is Branch.SAME_PERIOD
    assert float(estimator.s.X) == 1000.0
    assert estimator.sample(250, 0) is Branch.DISCOUNT
    assert float(estimator.s.X) == 1000 * 0.75**2
    estimator.sample(9 * 10**18, 0)
    assert float(estimator.s.X) == 0.0
    assert float(estimator.s.rate_bps) == 0.0


def test_periods_from_the_first_sample_end_a_period_after_it() -> None:
    estimator = Estimator(periods_start="first_sample")
    estimator.sample(50, 1000)
    assert estimator.sample(149, 0) is Branch.SAME_PERIOD
    assert estimator.sample(150, 0) is Branch.DISCOUNT


def test_an_estimate_that_has_not_settled_says_so() -> None:
    estimator = Estimator(settled_least=0.5)
    estimator.sample(0, 1000)
    assert (estimator.s.faults, float(estimator.s.settled)) == (Fault.NOT_SETTLED, 0.0)
    estimator.sample(200, 1000)
    assert float(estimator.s.settled) == 1 - 0.75**2
    assert estimator.s.faults == Fault.NOT_SETTLED
    estimator.sample(300, 1000)
    assert estimator.s.faults == 0


def test_before_the_first_sample_there_is_no_rate() -> None:
    assert np.isnan(Estimator().s.rate_bps)


@pytest.mark.parametrize(
    ("now", "sent", "fault", "x"),
    [
        (10, 500, Fault.TIME_BACKWARDS, 1500.0),
        (1001, -500, Fault.NEGATIVE_BYTES, 1000.0),
        (1001, dre.MOST_BYTES + 1, Fault.TOO_MANY_BYTES, 1000.0),
    ],
)
def test_an_odd_sample_is_flagged(now: int, sent: int, fault: Fault, x: float) -> None:
    estimator = Estimator(settled_least=0.0)
    estimator.sample(1000, 1000)
    estimator.sample(now, sent)
    assert (estimator.s.faults, float(estimator.s.X)) == (fault, x)
    estimator.sample(1000, 0)
    assert float(estimator.s.X) == x


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"alpha": 0}, "alpha takes a number from 1e-06 to 0.999, not 0"),
        ({"T_dre_ns": 0}, "T_dre_ns takes a whole number from 1 to 1e+12 ns, not 0"),
        ({"T": 1}, "no parameter is called 'T'; accepted are alpha, T_dre_ns, "),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        dre.record(values)
    assert str(caught.value).startswith(sentence)
