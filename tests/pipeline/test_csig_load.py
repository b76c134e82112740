"""CSIG's bounds of u' from two terms, and every tag that is no use."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import csig_load, hop_load, hpcc
from pipeline.cc.csig_load import Signal
from pipeline.cc.hop_load import Fault, Tag

T, NIC = 10_000, 10**11
NAN = float("nan")
FIELDS = ("lower", "upper", "port", "faults", "tag", "tau_by", "hop")


def same(*loads: Any) -> bool:
    """Whether loads are equal to the bit, NaN equal to itself."""
    return len({tuple(str(load[name]) for name in FIELDS) for load in loads}) == 1


class Tags:
    """CSIG of one flow, in compiled and in plain Python."""

    def __init__(self, **changes: Any) -> None:
        self.q = csig_load.record(changes)
        self.states = csig_load.state(2)
        self.loads = hop_load.loads(2)

    def tag(
        self, signal: int, low: float, high: float, now: int = 0, port: int = 7, b: int = NIC,
        base: int = 0, t: int = T,
    ) -> Any:  # fmt: skip
        kernel: Any = csig_load.csig
        forms = (kernel, kernel.py_func)
        for form, load, state in zip(forms, self.loads, self.states, strict=True):
            form(load, state, self.q, signal, low, high, port, b, base, now, t)
        assert same(*self.loads)
        return self.loads[0]


ENDS = st.tuples(st.floats(0, 3), st.one_of(st.just(NAN), st.floats(0, 3)))


def literal_term(signal: int, low: float, high: float) -> tuple[float, float]:
    """Of ABW in B and ABW/C: one less the value; of PD in T: the value less half a T."""
    if signal == Signal.PD:
        return max(low - 0.5, 0), max(high - 0.5, 0) if np.isfinite(high) else NAN
    return max(1 - high, 0) if np.isfinite(high) else 0, max(1 - low, 0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), ENDS, st.integers(0, 2 * T)), max_size=12))
def test_csig_is_bounds_from_two_terms(tags: list[Any]) -> None:
    flow, now = Tags(), 0
    last: dict[bool, tuple[float, float, int]] = {}
    for signal, (low, width), gap in tags:
        now, high = now + gap, low + width
        unit = {Signal.ABW: NIC, Signal.ABW_OVER_C: 1, Signal.PD: T}[Signal(signal)]
        load = flow.tag(signal, low * unit, high * unit, now, base=T // 2)
        queue = signal == Signal.PD
        last[queue] = (*literal_term(signal, low, high), now)
        other = last.get(not queue)
        lower, upper = last[queue][0], NAN
        if other and now - other[2] <= T:
            lower, upper = max(lower, other[0]), last[queue][1] + other[1]
        assert load.lower == pytest.approx(lower, abs=1e-12)
        assert load.upper == pytest.approx(upper, abs=1e-12, nan_ok=True)
        assert bool(load.faults & Fault.STALE) == bool(other and now - other[2] > T)
        assert load.tag == Tag.BOUNDS


def test_a_csig_load_is_of_one_port_where_both_locators_are() -> None:
    flow = Tags()
    assert flow.tag(Signal.ABW, 0.25 * NIC, 0.5 * NIC).port == -1
    one = flow.tag(Signal.PD, 2_000, 4_000)
    assert (one.lower, one.upper, one.port) == (0.5, 0.75 + 0.4, 7)
    assert flow.tag(Signal.PD, 2_000, 4_000, port=8).port == -1
    assert flow.tag(Signal.PD, 2_000, 4_000, port=-1).port == -1


def test_c_over_b_scales_the_rate_term_and_apart_t_the_time() -> None:
    flow = Tags(C_over_B=2.0, apart_T=3.0)
    assert flow.tag(Signal.ABW_OVER_C, 0.25, 0.5).lower == 1.0
    assert flow.tag(Signal.PD, 2_000, 4_000, now=3 * T).upper == 1.5 + 0.4
    assert flow.tag(Signal.PD, 2_000, 4_000, now=3 * T + 1).faults == Fault.STALE


@pytest.mark.parametrize(
    ("arguments", "changes", "fault"),
    [
        ((Signal.ABW, NIC / 2, NIC), {"b": 0}, hpcc.Fault.ZERO_B),
        ((Signal.ABW, NIC / 2, NIC), {"b": -1}, hpcc.Fault.MISSING_VALUE),
        ((Signal.ABW, NAN, NAN), {}, hpcc.Fault.MISSING_VALUE),
        ((Signal.PD, 10.0, 20.0), {"base": -1}, hpcc.Fault.MISSING_VALUE),
        ((Signal.PD, 10.0, 20.0), {"t": 0}, hpcc.Fault.ZERO_T),
        ((Signal.PD, -10.0, 20.0), {}, Fault.OUT_OF_RANGE),
        ((5, 10.0, 20.0), {}, Fault.OUT_OF_RANGE),
    ],
)
def test_a_tag_that_is_no_use_is_named_and_forgets_nothing(
    arguments: tuple[int, float, float], changes: Any, fault: int
) -> None:
    flow = Tags()
    flow.tag(Signal.ABW, 0.5 * NIC, 0.5 * NIC)
    load = flow.tag(*arguments, **changes)
    assert load.faults == fault
    assert np.isnan([load.lower, load.upper]).all()
    assert flow.tag(Signal.PD, 0.0, 0.0).lower == 0.5


WHOLE = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-2, 10**6))


@settings(max_examples=200, deadline=None)
@given(st.integers(-1, 4), st.floats(), st.floats(), st.tuples(WHOLE, WHOLE, WHOLE))
def test_no_tag_makes_a_load_infinite_or_negative(
    signal: int, low: float, high: float, whole: tuple[int, ...]
) -> None:
    b, base, t = whole
    flow = Tags()
    flow.tag(Signal.ABW_OVER_C, 0.25, 0.5)
    load = flow.tag(signal, low, high, b=b, base=base, t=t)
    assert not np.isinf([load.lower, load.upper]).any()
    assert np.isnan(load.lower) or load.lower >= 0
    assert not np.isnan(load.lower) or load.faults


def test_odd_ends_of_a_bucket_are_named() -> None:
    assert Tags().tag(Signal.PD, 10.0, 20.0, base=30).faults == Fault.BELOW_BASE
    assert Tags().tag(Signal.ABW, 2.0 * NIC, 3.0 * NIC).faults == Fault.OUT_OF_RANGE
    assert Tags().tag(Signal.ABW_OVER_C, 0.5, 0.25).faults == Fault.OUT_OF_RANGE
    flow = Tags()
    flow.tag(Signal.ABW, 0.0, 0.0)
    assert np.isnan(flow.tag(Signal.PD, 10.0, float("inf")).upper)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"apart_T": -1}, "apart_T takes a number from 0 to 1e+06 T, not -1"),
        ({"B": 1}, "no parameter is called 'B'; accepted are C_over_B, apart_T"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        csig_load.record(values)
    assert str(caught.value).startswith(sentence)
