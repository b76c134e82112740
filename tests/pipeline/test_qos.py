"""Classes of a port: their parts of the link by each strategy, and u' from sojourn times."""

from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import hop_load, hpcc, qos
from pipeline.cc.hop_load import Tag
from pipeline.cc.qos import Branch, Fault

T, B = 10_000, 10**11
WEIGHTS = (1, 2, 5, 0, 0, 0, 0, 0)
FULL, USED, RESOLUTION = 0.05, 0.9, 0.01
SHOWN = ("lower", "upper", "faults", "tag", "tau_by", "hop", "port")


def same(*records: Any) -> bool:
    """Whether records are equal to the bit, NaN equal to itself."""
    return len({str([record[name] for name in record.dtype.names]) for record in records}) == 1


class Port:
    """One port, in compiled and in plain Python."""

    def __init__(self, b: int = B, weights: Any = WEIGHTS, **changes: Any) -> None:
        self.q = qos.record(changes)
        self.weights = np.array(weights, np.int64)
        self.states, self.loads = qos.state(2), hop_load.loads(2)
        for s in self.states:
            qos.reset(s, b)

    @property
    def s(self) -> Any:
        """The compiled form's state."""
        return self.states[0]

    def packet(
        self, klass: int, now: int, sojourn: int = 0, rate: float = 0.0, before: int = -1,
        t: int = T,
    ) -> Branch:  # fmt: skip
        kernel: Any = qos.measured
        for form, load, s in zip((kernel, kernel.py_func), self.loads, self.states, strict=True):
            branch = form(load, s, self.q, self.weights, klass, now, t, sojourn, before, rate)
        assert same(*self.states)
        assert len({str([load[name] for name in SHOWN]) for load in self.loads}) == 1
        return Branch(branch)

    @property
    def load(self) -> Any:
        """The load that the last packet told."""
        return self.loads[0]


@dataclass
class Search:
    """The binary search of one class, read aloud."""

    least: float
    low: float = nan
    high: float = nan
    part: float = nan
    stepped: int = 0
    last: int = -1
    names: list[str] = field(default_factory=list)

    def packet(self, now: int, sojourn: int, rate: float) -> float:
        if self.last < 0 or now - self.last > T:
            self.low, self.high, self.part, self.stepped = self.least, B, self.least, now
        elif now - self.stepped >= T:
            met = self.high - self.low <= RESOLUTION * B
            if sojourn > FULL * T:
                self.low, self.high = self.least if met else self.low, self.part
                self.part, self.stepped = (self.low + self.high) / 2, now
            elif rate >= USED * self.part:
                self.low, self.high = self.part, float(B) if met else self.high
                self.part, self.stepped = (self.low + self.high) / 2, now
        self.last = now
        return self.part


PACKET = st.tuples(
    st.sampled_from((0, 1, 5_000, 9_999, 10_000, 10_001, 40_000)),
    st.sampled_from((0, 499, 500, 501, 9_000)),
    st.floats(0, 1),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(PACKET, min_size=1, max_size=60))
def test_a_search_is_what_its_rule_says_to_the_bit(packets: list[Any]) -> None:
    port, search, now = Port(strategy="binary_search"), Search(float(B) * 2 / 8), 0
    for gap, sojourn, share in packets:
        now, rate = now + gap, share * B
        part = search.packet(now, sojourn, rate)
        port.packet(1, now, sojourn, rate)
        assert float(port.s.B_eff[1]) == part
        assert float(port.load.lower) == sojourn / T + rate / part
        assert B * 2 / 8 <= port.s.low[1] <= port.s.high[1] <= B


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 15_000)), min_size=1, max_size=40),
    st.booleans(),
)
def test_parts_by_weight_are_of_all_or_of_active_classes(
    packets: list[tuple[int, int]], proportional: bool
) -> None:
    port = Port(strategy="proportional" if proportional else "none")
    seen: dict[int, int] = {}
    now = 0
    for klass, gap in packets:
        now += gap
        seen[klass] = now
        branch = port.packet(klass, now, 100, 1e9)
        counted = [k for k, at in seen.items() if now - at <= T] if proportional else range(3)
        part = float(B) * WEIGHTS[klass] / sum(WEIGHTS[k] for k in counted)
        assert float(port.s.B_eff[klass]) == part
        assert float(port.load.lower) == 100 / T + 1e9 / part
        assert branch is (Branch.PROPORTIONAL if proportional else Branch.NOMINAL)


def settled(strategy: str, others: int, rounds: int = 40) -> float:
    """B_eff of class 0 after it has taken all that the others leave, as far as it may."""
    port = Port(strategy=strategy)
    free = float(B - others)
    for turn in range(rounds):
        part = float(port.s.B_eff[0]) if turn else 0.0
        port.packet(0, turn * T, 5_000 if part > free else 0, min(part, free))
    return float(np.mean(port.s.B_eff[0]))


def test_a_search_finds_what_other_classes_leave_over() -> None:
    assert settled("none", 0) == B / 8
    assert settled("proportional", 0) == B
    for others in (0, 30, 60):
        assert settled("binary_search", others * 10**9) == pytest.approx(
            B - others * 10**9, rel=0.1
        )
    assert settled("binary_search", 100 * 10**9) == B / 8


def test_each_step_of_a_search_by_name() -> None:
    port = Port(strategy="binary_search")
    assert port.packet(0, 0, 0, B / 8) is Branch.SEARCH_START
    assert port.packet(0, 1, 0, B / 8) is Branch.SEARCH_WAIT
    assert port.packet(0, T, 0, B / 8) is Branch.SEARCH_UP
    assert float(port.s.B_eff[0]) == (B / 8 + B) / 2
    assert port.packet(0, 2 * T, 0, B / 8) is Branch.SEARCH_WAIT
    assert port.packet(0, 2 * T + 1, T, B / 8) is Branch.SEARCH_DOWN
    assert port.packet(0, 3 * T + 2, 0, 0.0) is Branch.SEARCH_START


def test_a_search_may_begin_half_way() -> None:
    port = Port(strategy="binary_search", search_from="middle")
    port.packet(0, 0)
    assert float(port.s.B_eff[0]) == (B / 8 + B) / 2


def test_a_weight_that_grows_lifts_the_search() -> None:
    port = Port(strategy="binary_search")
    port.packet(0, 0)
    port.weights[0] = 7
    port.packet(0, 1)
    assert float(port.s.B_eff[0]) == port.s.low[0] == B * 7 / 14


def test_the_lesser_of_two_sojourn_times_counts() -> None:
    port = Port()
    port.packet(2, 0, 4_000, 0.0, before=1_000)
    assert float(port.load.lower) == 0.1
    port.packet(2, 1, 4_000, 0.0, before=9_000)
    assert float(port.load.lower) == float(port.load.upper) == 0.4
    assert (port.load.tag, port.load.faults) == (Tag.REPORTED, 0)


def test_one_term_alone_is_a_lower_bound() -> None:
    port = Port()
    port.packet(2, 0, 4_000, nan)
    assert (float(port.load.lower), port.load.tag) == (0.4, Tag.LOWER_BOUND)
    assert np.isnan(port.load.upper)
    port.packet(2, 1, -1, B / 2)
    assert float(port.load.lower) == pytest.approx(0.8)
    assert (port.load.tag, port.load.faults) == (Tag.LOWER_BOUND, hpcc.Fault.MISSING_VALUE)


def packet_of(**changes: Any) -> Any:
    """The state after one packet that is in order but for what `changes` says, and its branch."""
    event = {"klass": 2, "now": 5, "sojourn": 100, "rate": 1e9}
    made = {name: changes.pop(name) for name in ("b", "weights", "strategy") if name in changes}
    port = Port(**made)
    return port, port.packet(**{**event, **changes})


@pytest.mark.parametrize(
    ("fault", "changes"),
    [
        (hpcc.Fault.ZERO_B, {"b": 0}),
        (hpcc.Fault.MISSING_VALUE, {"b": -1}),
        (hpcc.Fault.MISSING_VALUE, {"b": 10**16}),
        (hpcc.Fault.ZERO_T, {"t": 0}),
        (Fault.NO_CLASS, {"klass": 8}),
        (Fault.NO_CLASS, {"klass": -1}),
        (Fault.NO_WEIGHT, {"klass": 5}),
        (Fault.NO_WEIGHT, {"weights": (1, 1, -1, 0, 0, 0, 0, 0)}),
    ],
)
def test_a_class_without_a_part_is_flagged(fault: Any, changes: dict[str, Any]) -> None:
    for strategy in ("none", "binary_search", "proportional"):
        port, branch = packet_of(strategy=strategy, **changes)
        assert branch is Branch.UNKNOWN
        assert port.s.faults == port.load.faults == fault
        assert np.isnan(port.s.B_eff).all()
        assert not port.load.lower > 0.02


@pytest.mark.parametrize("rate", [-1.0, float("inf"), 1e300])
def test_a_rate_that_cannot_be_is_flagged(rate: float) -> None:
    port, _ = packet_of(rate=rate)
    assert port.load.faults == hop_load.Fault.OUT_OF_RANGE
    assert float(port.load.lower) == 0.01


def test_time_that_runs_backwards_counts_as_the_latest() -> None:
    port = Port()
    port.packet(0, 1000)
    port.packet(0, 5)
    assert (port.load.faults, port.s.seen_ns[0]) == (Fault.CLASS_TIME_BACKWARDS, 1000)


WIDE = st.integers(-(10**13), 10**13)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(("none", "binary_search", "proportional")),
    st.lists(st.tuples(st.integers(-1, 8), WIDE, WIDE, st.floats(), WIDE, WIDE), max_size=12),
)
def test_no_input_makes_a_load_infinite(strategy: str, packets: list[Any]) -> None:
    port = Port(strategy=strategy, weights=range(8))
    for klass, now, sojourn, rate, before, t in packets:
        port.packet(klass, now, sojourn, rate, before, t)
        assert not np.isinf([port.load.lower, port.load.upper]).any()
        assert not np.isinf(port.s.B_eff).any()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"strategy": "all"}, "strategy takes none or binary_search or proportional, not 'all'"),
        ({"used": 2}, "used takes a number from 0 to 1, not 2"),
        ({"full": 1}, "no parameter is called 'full'; accepted are strategy, active_T, "),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        qos.record(values)
    assert str(caught.value).startswith(sentence)
