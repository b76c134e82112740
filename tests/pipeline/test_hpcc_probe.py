"""HPCC++ by probes against a literal reading, and every way in which a response can be no use."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import hop_record, hpcc, hpcc_probe
from pipeline.cc.hop_record import KINDS, WIDEST
from pipeline.cc.hpcc_probe import OUTSTANDING, PATH, UNKNOWN, Branch, Fault

T, ETA, STAGES, NIC, STEP = 12_000, 0.95, 3, 100 * 10**9, 80.0
Records = list[tuple[int, int, int, int]]


@dataclass
class Draft:
    """Lines 1-20, once in a round trip: by a probe that left after the update before."""

    U: float = 1.0
    Wc: float = NIC * T / 8e9
    W: float = NIC * T / 8e9
    incStage: int = 0
    updated: int | None = None
    L: Records = field(default_factory=list)
    waiting: dict[int, int] = field(default_factory=dict)

    def probe(self, number: int, now: int) -> None:
        self.waiting.pop(number, None)
        if len(self.waiting) == OUTSTANDING:
            del self.waiting[next(iter(self.waiting))]
        self.waiting[number] = now

    def measure_inflight(self, told: Records) -> float:
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

    def response(self, number: int, now: int, told: Records) -> None:
        sent = self.waiting.pop(number, None)
        if sent is None or (self.updated is not None and sent < self.updated):
            return
        if self.updated is not None:
            u = self.measure_inflight(told)
            if u >= ETA or self.incStage >= STAGES:
                self.W, self.incStage = self.Wc / (u / ETA) + STEP, 0
            else:
                self.W, self.incStage = self.Wc + STEP, self.incStage + 1
            self.Wc = self.W
        self.L, self.updated = told, now


class Prober:
    """One prober, driven by hand, in compiled or in plain Python."""

    def __init__(self, *, plain: bool = False, **changes: Any) -> None:
        given = {"T_ns": T, "B_nic_bps": NIC, "maxStage": STAGES, "W_ai": STEP, **changes}
        mine = {row.name for row in hpcc_probe.TABLE}
        self.p = hpcc.record({name: value for name, value in given.items() if name not in mine})
        self.q = hpcc_probe.record({name: given[name] for name in mine & set(given)})
        self.s, self.r = hpcc.state()[0], hpcc_probe.state()[0]
        self.links = hop_record.links()
        kernels: Any = (
            hpcc_probe.probe_sent,
            hpcc_probe.probe_response,
            hpcc_probe.notification,
        )
        self.kernels = [each.py_func if plain else each for each in kernels]
        hpcc.reset(self.s, self.p)
        hpcc_probe.reset(self.r)

    def probe(self, number: int, now: int) -> int:
        self.kernels[0](self.r, number, now)
        return int(self.r.faults)

    def arguments(self, told: Records) -> tuple[Any, ...]:
        nhop = len(told)
        record = np.full((len(KINDS), max(nhop, 1), 1), -1, np.int64)
        for hop, values in enumerate(told):
            record[: len(values), hop, 0] = values
        return nhop, record, 0, WIDEST, WIDEST, np.empty((max(nhop, 1), 1))

    def response(self, number: int, now: int, told: Records, link: int = PATH) -> Branch:
        before = (self.s, self.r, self.p, self.q, self.links)
        return Branch(self.kernels[1](*before, number, now, link, *self.arguments(told)))

    def notice(self, now: int, told: Records, link: int = PATH) -> Branch:
        before = (self.s, self.r, self.p, self.q, self.links)
        return Branch(self.kernels[2](*before, now, link, *self.arguments(told)))


HOP = st.tuples(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.data())
def test_the_compiled_form_is_the_literal_reading_to_the_bit(nhop: int, data: Any) -> None:
    rates = data.draw(st.lists(st.integers(10**9, 4 * 10**11), min_size=nhop, max_size=nhop))
    packet = st.tuples(
        st.sampled_from(("probe", "probe", "response")),
        st.integers(0, 11),
        st.sampled_from((0, 1, 300, T)),
        st.lists(HOP, min_size=nhop, max_size=nhop),
    )
    draft, now = Draft(), 10**15
    forms = [Prober(clamp="off"), Prober(clamp="off", plain=True)]
    ts, tx = [0] * nhop, [0] * nhop
    for kind, number, gap, steps in data.draw(st.lists(packet, min_size=4, max_size=60)):
        now += gap
        ts = [before + step[0] for before, step in zip(ts, steps, strict=True)]
        tx = [before + step[1] for before, step in zip(tx, steps, strict=True)]
        told = list(zip(ts, tx, [step[2] for step in steps], rates, strict=True))
        everyone: tuple[Any, ...] = (draft, *forms)
        for one in everyone:
            if kind == "probe":
                one.probe(number, now)
            else:
                one.response(number, now, told)
        for form in forms:
            s, r = form.s, form.r
            assert (s.U, s.W, s.Wc, s.incStage) == (draft.U, draft.W, draft.Wc, draft.incStage)
            assert s.lastUpdateSeq == (draft.updated or 0)
            waiting = zip(r.numbers[: r.count], r.sent_ns[: r.count], strict=True)
            assert list(waiting) == list(draft.waiting.items())


def hop(n: int, b: int = NIC) -> Records:
    """The n-th record of one link at nine tenths of its rate."""
    return [(n * 1000, n * 11_250, 0, b)]


def started(**changes: Any) -> Prober:
    """A prober whose first response has come at 1000."""
    one = Prober(**changes)
    one.probe(0, 0)
    assert one.response(0, 1000, hop(0)) is Branch.FIRST_RESPONSE
    return one


def test_branches_are_those_of_the_sender_and_two_more() -> None:
    assert [each.value for each in hpcc.Branch] == [each.value for each in Branch][:10]
    assert [each.name for each in hpcc.Branch][1:] == [each.name for each in Branch][1:10]


def test_the_first_response_stores_and_times_the_round_trip() -> None:
    one = started()
    assert (one.s.U, one.s.lastUpdateSeq, one.r.rtt_ns, one.r.count) == (1.0, 1000, 1000, 0)


def test_one_update_in_a_round_trip() -> None:
    one = started()
    for number, now in ((1, 1000), (2, 1200), (3, 1900)):
        one.probe(number, now)
    assert one.response(1, 2000, hop(1)) is Branch.FULL_UPDATE_MI
    after = one.s.copy()
    assert one.response(2, 2200, hop(2)) is Branch.WITHIN_RTT
    assert all(one.s[name] == after[name] for name in ("U", "W", "Wc", "incStage", "lastUpdateSeq"))
    assert one.links["ts_ns"][0] == 1000
    one.probe(4, 2200)
    assert one.response(4, 3200, hop(3)) is Branch.FULL_UPDATE_MI
    assert one.s.tau_ns == 2000


def test_within_a_round_trip_it_may_react() -> None:
    one = started(within_rtt="react")
    one.probe(1, 1000)
    one.probe(2, 1200)
    assert one.response(1, 2000, hop(1)) is Branch.FULL_UPDATE_MI
    agreed = float(one.s.Wc)
    assert one.response(2, 2200, hop(2)) is Branch.FAST_REACT_MI
    assert (one.s.Wc, one.s.lastUpdateSeq) == (agreed, 2000)


def test_responses_match_in_any_order() -> None:
    one = started()
    one.probe(1, 1000)
    one.probe(2, 1100)
    assert one.response(2, 2100, hop(2)).name.startswith("FULL")
    assert one.response(1, 2200, hop(3)) is Branch.WITHIN_RTT
    assert (one.r.rtt_ns, one.r.count) == (1200, 0)


def test_a_response_to_no_known_probe_is_left() -> None:
    one = started()
    before = one.s.copy()
    assert one.response(7, 10 * T, hop(1)) is Branch.NOT_TAKEN
    assert one.s.faults == Fault.UNMATCHED
    assert all(one.s[name] == before[name] for name in ("U", "W", "lastUpdateSeq", "nhop"))


def test_a_response_to_no_known_probe_may_be_taken_once_t_has_passed() -> None:
    one = started(unmatched="take")
    assert one.response(7, 1000 + T, hop(1)) is Branch.WITHIN_RTT
    assert one.response(7, 1001 + T, hop(1)) is Branch.FULL_UPDATE_MI
    assert one.s.faults == Fault.UNMATCHED


def test_a_second_response_is_unmatched() -> None:
    one = started()
    assert one.response(0, 2000, hop(1)) is Branch.NOT_TAKEN
    assert one.s.faults == Fault.UNMATCHED


def test_a_notification_updates_once_t_has_passed() -> None:
    one = Prober()
    assert one.notice(5_000, hop(0)) is Branch.FIRST_RESPONSE
    assert one.notice(5_000 + T, hop(1)) is Branch.WITHIN_RTT
    assert one.notice(5_001 + T, hop(2)) is Branch.FULL_UPDATE_MI
    assert one.s.lastUpdateSeq == 5_001 + T


def test_a_response_without_telemetry_changes_nothing() -> None:
    one = started()
    one.probe(1, 1500)
    assert one.response(1, 2000, []) is Branch.NO_TELEMETRY
    assert (one.s.nhop, one.s.lastUpdateSeq) == (1, 1000)


def test_bad_telemetry_is_named() -> None:
    one = started()
    one.probe(1, 1500)
    assert one.response(1, 2000, hop(1, 0)) is Branch.BAD_TELEMETRY
    assert one.s.faults == hpcc.Fault.ZERO_B
    blind = started(T_ns=0)
    blind.probe(1, 1500)
    assert blind.response(1, 2000, hop(1)) is Branch.BAD_TELEMETRY
    assert blind.s.faults == hpcc.Fault.ZERO_T


def test_a_path_of_another_length_only_stores() -> None:
    one = started()
    one.probe(1, 1500)
    assert one.response(1, 2000, hop(1) * 2) is Branch.PATH_CHANGE


def test_a_response_before_its_probe_is_named() -> None:
    one = started()
    one.probe(1, 5000)
    assert one.response(1, 4000, hop(1)) is Branch.NOT_TAKEN
    assert one.s.faults == Fault.UNMATCHED | Fault.TIME_BACKWARDS
    assert one.r.count == 0
    assert one.probe(2, 4500) == Fault.TIME_BACKWARDS


def test_probes_without_response_are_forgotten_oldest_first() -> None:
    one = Prober()
    faults = [one.probe(number, number) for number in range(OUTSTANDING + 1)]
    assert faults == [0] * OUTSTANDING + [Fault.PROBE_FORGOTTEN]
    assert (one.r.forgotten, one.r.count) == (1, OUTSTANDING)
    assert one.response(0, 50, hop(0)) is Branch.NOT_TAKEN
    assert one.response(1, 50, hop(0)) is Branch.FIRST_RESPONSE


def test_a_number_that_is_used_again_is_of_the_new_probe() -> None:
    one = started()
    one.probe(1, 1100)
    assert one.probe(1, 1500) == Fault.NUMBER_REUSED
    one.response(1, 2000, hop(1))
    assert (one.r.rtt_ns, one.r.count) == (500, 0)


def test_one_link_counts_when_it_is_known_to_be_the_same() -> None:
    one = Prober()
    one.probe(0, 0)
    assert one.response(0, 1000, hop(0), link=7) is Branch.FIRST_RESPONSE
    one.probe(1, 1000)
    assert one.response(1, 2000, hop(1), link=7) is Branch.FULL_UPDATE_MI
    assert (one.s.faults, one.s.tau_ns) == (0, 1000)


def test_one_link_that_is_not_known_makes_no_difference_and_is_flagged() -> None:
    one = Prober()
    one.probe(0, 0)
    assert one.response(0, 1000, hop(0), link=UNKNOWN) is Branch.NOT_TAKEN
    assert one.s.faults == Fault.LINK_UNKNOWN
    assert (one.s.started, one.r.rtt_ns) == (0, 1000)


@pytest.mark.parametrize(("link", "b"), [(8, NIC), (7, 4 * NIC)])
def test_another_link_only_stores_and_is_flagged(link: int, b: int) -> None:
    one = Prober()
    one.probe(0, 0)
    one.response(0, 1000, hop(0), link=7)
    one.probe(1, 1000)
    assert one.response(1, 2000, hop(1, b), link=link) is Branch.PATH_CHANGE
    assert one.s.faults == Fault.LINK_CHANGED
    one.probe(2, 2000)
    assert one.response(2, 3000, hop(2, b), link=link).name.startswith("FULL")
    assert one.s.faults == 0


def test_another_link_that_is_not_taken_leaves_l() -> None:
    one = Prober()
    one.probe(0, 0)
    one.response(0, 1000, hop(0), link=7)
    assert one.response(9, 2000, hop(5), link=8) is Branch.NOT_TAKEN
    one.probe(1, 2000)
    assert one.response(1, 3000, hop(1), link=7) is Branch.FULL_UPDATE_MI


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"within_rtt": "x"}, "within_rtt takes ignore or react, not 'x'"),
        ({"rtt": 1}, "no parameter is called 'rtt'; accepted are within_rtt, unmatched"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        hpcc_probe.record(values)
    assert str(caught.value).startswith(sentence)
