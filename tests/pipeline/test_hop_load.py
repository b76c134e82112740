"""u' from every source by its formula, each tag and fault by name, and HPCC++ run on them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import hop_load, hop_record, hpcc
from pipeline.cc.hop_load import Fault, Tag, Tau
from pipeline.cc.hop_record import KINDS, WIDEST
from pipeline.cc.hpcc import Branch

T, ETA, STAGES, NIC, STEP = 10_000, 0.95, 3, 10**11, 80.0
NAN = float("nan")
NO, YES = False, True
FIELDS = ("lower", "upper", "port", "faults", "tag", "tau_by", "hop")


def same(*loads: Any) -> bool:
    """Whether loads are equal to the bit, NaN equal to itself."""
    return len({tuple(str(load[name]) for name in FIELDS) for load in loads}) == 1


def made(kernel: Any, *arguments: Any) -> Any:
    """A load of a kernel, when its plain form says the same."""
    compiled, plain = hop_load.loads(2)
    kernel(compiled, *arguments)
    kernel.py_func(plain, *arguments)
    assert same(compiled, plain)
    return compiled


def reported(
    queue: int = 0, utilization: float = 0.5, before: int = -1, since: int = -1,
    b: int = NIC, t: int = T, **changes: Any,
) -> Any:  # fmt: skip
    q = hop_load.record(changes)
    return made(hop_load.reported, q, queue, before, since, utilization, b, t)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**9), st.integers(-1, 10**9), st.integers(-1, 3 * T), st.floats(0, 2),
    st.integers(1, 4 * 10**11),
)  # fmt: skip
def test_a_reported_load_is_its_formula(
    queue: int, before: int, since: int, busy: float, b: int
) -> None:
    load = reported(queue, busy, before, since, b, queue_unit_bytes=80.0, utilization_full=0.5)
    if before >= 0 and 0 <= since <= T:
        queue = min(queue, before)
    assert load.lower == load.upper == 8 * queue * 80.0 / (b * (T * 1e-9)) + busy / 0.5
    assert (load.tag, load.faults, load.tau_by) == (Tag.REPORTED, 0, Tau.TAU_OBSERVER)


def test_half_a_reported_load_is_a_lower_bound() -> None:
    queue_only, busy_only = reported(125_000, NAN), reported(-1, 0.7)
    assert (queue_only.lower, busy_only.lower) == (8 * 125_000 / (NIC * (T * 1e-9)), 0.7)
    for load in (queue_only, busy_only):
        assert (load.tag, load.faults) == (Tag.LOWER_BOUND, hpcc.Fault.MISSING_VALUE)
        assert np.isnan(load.upper)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"b": 0}, hpcc.Fault.ZERO_B),
        ({"t": 0}, hpcc.Fault.ZERO_T),
        ({"b": -1}, hpcc.Fault.MISSING_VALUE),
        ({"queue": -1}, hpcc.Fault.MISSING_VALUE),
    ],
)
def test_what_a_reported_load_lacks_is_named(changes: Any, fault: int) -> None:
    load = reported(**changes, utilization=-1.0)
    assert load.faults == fault | Fault.OUT_OF_RANGE
    assert np.isnan([load.lower, load.upper]).all()


def test_latency_is_the_queue_term_alone() -> None:
    load = made(hop_load.latency, 7_500, 2_500, T)
    assert (load.lower, load.tag, load.faults) == (0.5, Tag.LOWER_BOUND, 0)
    assert np.isnan(load.upper)


@pytest.mark.parametrize(
    ("arguments", "fault", "lower"),
    [
        ((100, 200, T), Fault.BELOW_BASE, 0.0),
        ((100, -1, T), hpcc.Fault.MISSING_VALUE, NAN),
        ((-1, 0, T), hpcc.Fault.MISSING_VALUE, NAN),
        ((100, 0, 0), hpcc.Fault.ZERO_T, NAN),
    ],
)
def test_what_latency_lacks_is_named(arguments: tuple[int, ...], fault: int, lower: float) -> None:
    load = made(hop_load.latency, *arguments)
    assert load.faults == fault
    assert str(load.lower) == str(lower)


def test_the_inflight_ratio_is_taken_as_it_is() -> None:
    load = made(hop_load.aecn, 1.25, NO)
    assert (load.lower, load.upper, load.tag) == (1.25, 1.25, Tag.ROUTER_COMPUTED)


def test_a_saturated_inflight_ratio_has_no_upper_value() -> None:
    load = made(hop_load.aecn, 2.0, YES)
    assert (load.lower, load.faults) == (2.0, Fault.SATURATED)
    assert np.isnan(load.upper)


@pytest.mark.parametrize(
    ("ratio", "fault"),
    [
        (NAN, hpcc.Fault.MISSING_VALUE),
        (-1.0, Fault.OUT_OF_RANGE),
        (float("inf"), Fault.OUT_OF_RANGE),
    ],
)
def test_an_inflight_ratio_that_is_none_is_named(ratio: float, fault: int) -> None:
    load = made(hop_load.aecn, ratio, NO)
    assert load.faults == fault
    assert np.isnan(load.lower)


def test_the_worst_hop_is_the_load_of_a_path() -> None:
    hops = hop_load.loads(4)
    q = hop_load.record()
    for hop, busy in zip(hops, (0.2, 0.9, 0.9), strict=False):
        hop_load.reported(hop, q, 0, -1, -1, busy, NIC, T)
    path = made(hop_load.worst, hops, 3)
    assert (path.lower, path.upper, path.hop, path.tag) == (0.9, 0.9, 1, Tag.REPORTED)
    hop_load.latency(hops[3], 500, 0, T)
    path = made(hop_load.worst, hops, 4)
    assert (path.lower, path.hop, path.tag) == (0.9, 1, Tag.LOWER_BOUND)
    assert np.isnan(path.upper)
    nothing = made(hop_load.worst, hops, 0)
    assert (nothing.tag, nothing.hop, str(nothing.lower)) == (0, -1, "nan")


def test_a_hop_of_which_nothing_is_known_is_left_out_and_named() -> None:
    hops = hop_load.loads(2)
    hop_load.latency(hops[0], -1, 0, T)
    hop_load.latency(hops[1], 500, 0, T)
    path = made(hop_load.worst, hops, 2)
    assert (path.lower, path.hop, path.faults) == (0.05, 1, hpcc.Fault.MISSING_VALUE)


EXACT = 2**53
"""Whole numbers up to here are the same as a float; Python divides larger ones otherwise."""
WHOLE = st.one_of(st.integers(-EXACT, EXACT), st.integers(-2, 10**6))
REAL = st.one_of(st.floats(), st.floats(0, 2))


@settings(max_examples=200, deadline=None)
@given(st.lists(WHOLE, min_size=6, max_size=6), REAL)
def test_no_input_makes_a_load_infinite_or_negative(whole: list[int], real: float) -> None:
    queue, before, since, b, t, base = whole
    for load in (
        reported(queue, real, before, since, b, t),
        made(hop_load.latency, queue, base, t),
        made(hop_load.aecn, real, NO),
    ):
        assert not np.isinf([load.lower, load.upper]).any()
        assert np.isnan(load.lower) or load.lower >= 0
        assert not np.isnan(load.lower) or load.faults


@dataclass
class Draft:
    """Lines 8-26 with one u' an ACK, and the average of its upper value beside."""

    acts_on: str
    U: float = 1.0
    U_upper: float = 1.0
    Wc: float = NIC * T / 8e9
    W: float = NIC * T / 8e9
    incStage: int = 0
    lastUpdateSeq: int = 0
    seen: int | None = None

    def new_ack(self, seq: int, snd_nxt: int, lower: float, upper: float, now: int) -> None:
        before, self.seen = self.seen, now
        if before is None:
            self.lastUpdateSeq = snd_nxt
            return
        tau = min(now - before, T)
        if tau == 0:
            return
        if lower > 0:
            self.U = (1 - tau / T) * self.U + tau / T * lower
        if upper > 0:
            self.U_upper = (1 - tau / T) * self.U_upper + tau / T * upper
        u = self.U_upper if self.acts_on == "upper" else self.U
        if u >= ETA or self.incStage >= STAGES:
            self.W, stage = self.Wc / (u / ETA) + STEP, 0
        else:
            self.W, stage = self.Wc + STEP, self.incStage + 1
        if seq > self.lastUpdateSeq:
            self.Wc, self.incStage, self.lastUpdateSeq = self.W, stage, snd_nxt


class Sender:
    """HPCC++ on loads, in compiled or in plain Python."""

    def __init__(self, *, plain: bool = False, acts_on: str = "lower", **changes: Any) -> None:
        given: dict[str, Any] = {"T_ns": T, "B_nic_bps": NIC, "maxStage": STAGES, "W_ai": STEP}
        self.p = hpcc.record({**given, "clamp": "off", **changes})
        self.q = hop_load.record({"acts_on": acts_on})
        self.s, self.v = hpcc.state()[0], hop_load.state()[0]
        self.load = hop_load.loads()[0]
        kernel: Any = hop_load.measured
        self.measured = kernel.py_func if plain else kernel
        hpcc.reset(self.s, self.p)
        hop_load.reset(self.v, self.p)

    def bounds(self, lower: float, upper: float, now: int, ack: int = 1, nxt: int = 2) -> Branch:
        hop_load.begin(self.load, Tag.BOUNDS.value)
        self.load.lower, self.load.upper = lower, upper
        return self.ack(now, ack, nxt)

    def ack(self, now: int, ack: int = 1, nxt: int = 2) -> Branch:
        arguments = (self.s, self.v, self.p, self.q, self.load, ack, nxt, now)
        return Branch(self.measured(*arguments))


ACK = st.tuples(
    st.floats(0, 3), st.floats(0, 3), st.sampled_from((0, 1, 700, T, 3 * T)),
    st.integers(0, 9_000), st.integers(0, 9_000),
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(("lower", "upper")), st.lists(ACK, min_size=2, max_size=40))
def test_hpcc_on_bounds_is_the_literal_reading_to_the_bit(acts_on: str, acks: list[Any]) -> None:
    draft = Draft(acts_on)
    forms = [Sender(acts_on=acts_on, plain=plain) for plain in (False, True)]
    now, ack, nxt = 10**15, 0, 0
    for low, more, gap, acked, sent in acks:
        now, ack, nxt = now + gap, ack + acked, max(nxt + sent, ack + acked)
        draft.new_ack(ack, nxt, low, low + more, now)
        for form in forms:
            form.bounds(low, low + more, now, ack, nxt)
            s, v = form.s, form.v
            assert (s.U, v.U_upper, s.W, s.Wc, s.incStage, s.lastUpdateSeq) == (
                draft.U, draft.U_upper, draft.W, draft.Wc, draft.incStage, draft.lastUpdateSeq,
            )  # fmt: skip


HOP = st.tuples(st.integers(0, 10**5), st.integers(0, 10**6), st.integers(0, 10**6))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.data())
def test_what_is_counted_gives_what_new_ack_gives(nhop: int, data: Any) -> None:
    steps = data.draw(st.lists(st.lists(HOP, min_size=nhop, max_size=nhop), max_size=25))
    sender, other = Sender(), Sender()
    mine, links = hop_record.links(), hop_record.links()
    record = np.full((len(KINDS), nhop, 1), 10**10, np.int64)
    record[:3] = 0
    u = np.empty((nhop, 1))
    for n, step in enumerate(steps):
        for hop, (ts, tx, queue) in enumerate(step):
            record[0, hop] += ts
            record[1, hop] += tx
            record[2, hop] = queue
        arguments = (nhop, record, 0, WIDEST, WIDEST, u)
        hpcc.new_ack(other.s, other.p, links, n, 2 * n, *arguments)
        s = sender.s
        s.faults = 0
        found = s.nhop == nhop and hpcc.hop_loads(s, sender.p, mine, *arguments)
        hop_record.keep(s, mine, nhop, record, 0)
        hop_load.counted(sender.load, s, found)
        sender.ack(n, n, 2 * n)
        for name in hpcc.STATE.names or ():
            if name not in {"u_max", "u_hop", "tau_ns"} or found:
                assert str(s[name]) == str(other.s[name]), name
        assert sender.v.U_upper == s.U or np.isnan(sender.v.U_upper)
        assert sender.load.tag == Tag.MEASURED


def test_hpcc_runs_on_the_inflight_ratio() -> None:
    one = Sender()
    hop_load.aecn(one.load, 1.9, NO)
    assert one.ack(0) is Branch.FIRST_ACK
    assert (one.s.U, one.s.lastUpdateSeq) == (1.0, 2)
    assert one.ack(T // 2, ack=3, nxt=4) is Branch.FULL_UPDATE_MI
    assert (one.s.U, one.load.tau_ns, one.s.tau_ns) == (0.5 + 0.5 * 1.9, T // 2, T // 2)
    assert float(one.s.W) == NIC * T / 8e9 / (float(one.s.U) / ETA) + STEP


def test_hpcc_runs_on_latency_with_a_lower_u_alone() -> None:
    one = Sender(acts_on="upper")
    hop_load.latency(one.load, 5_000, 0, T)
    one.ack(0)
    assert one.ack(T).name == "FAST_REACT_AI"
    assert one.s.U == 0.5
    assert np.isnan(one.v.U_upper)
    assert one.s.faults == Fault.UPPER_UNKNOWN


def test_an_upper_u_is_known_again_after_t_of_known_values() -> None:
    one = Sender()
    one.bounds(1.0, 1.0, 0)
    one.bounds(1.0, NAN, 100)
    assert np.isnan(one.v.U_upper)
    for n in range(1, 10):
        one.bounds(1.0, 3.0, 100 + n * T // 10)
        assert np.isnan(one.v.U_upper)
    one.bounds(1.0, 2.0, 100 + T)
    assert one.v.U_upper == 2.0


def test_a_row_without_telemetry_changes_nothing() -> None:
    one = Sender()
    one.bounds(1.5, 1.5, 0)
    one.load.tag = 0
    assert one.ack(500) is Branch.NO_TELEMETRY
    assert (one.s.U, one.v.last_ns) == (1.0, 0)


def test_an_idle_path_leaves_u_alone() -> None:
    one = Sender()
    one.bounds(0.0, 0.0, 0)
    assert one.bounds(0.0, 0.0, 500).name == "FAST_REACT_MI"
    assert (one.s.U, one.v.U_upper, one.s.faults) == (1.0, 1.0, 0)


@pytest.mark.parametrize(
    ("changes", "lower", "now", "faults"),
    [
        ({}, NAN, 6_000, 0),
        ({}, 1.5, 5_000, hpcc.Fault.ZERO_DT),
        ({}, 1.5, 4_000, hpcc.Fault.ZERO_DT | Fault.TIME_BACKWARDS),
        ({"T_ns": 0}, 1.5, 6_000, hpcc.Fault.ZERO_T),
    ],
)
def test_what_cannot_be_measured_is_flagged(
    changes: Any, lower: float, now: int, faults: int
) -> None:
    one = Sender(**changes)
    one.bounds(1.0, 1.0, 5_000)
    assert one.bounds(lower, 2.0, now) is Branch.BAD_TELEMETRY
    assert (one.s.faults, one.s.U, one.v.U_upper) == (faults, 1.0, 1.0)


def test_without_the_nic_the_window_stays_unknown() -> None:
    one = Sender(B_nic_bps=0)
    one.bounds(1.0, 1.0, 0)
    one.bounds(1.5, 1.5, T)
    assert one.s.faults == hpcc.Fault.UNKNOWN_WINDOW
    assert (one.s.U, str(one.s.W)) == (1.5, "nan")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"acts_on": "both"}, "acts_on takes lower or upper, not 'both'"),
        ({"b": 1}, "no parameter is called 'b'; accepted are queue_unit_bytes, "),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        hop_load.record(values)
    assert str(caught.value).startswith(sentence)
