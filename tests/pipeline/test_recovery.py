"""cwnd and ssthresh against RFC 5681, 6298, 6937 and 8257 section 3.5 taken literally."""

from dataclasses import dataclass
from math import ceil, floor, inf, isfinite
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector import borrowing
from pipeline.cc import dctcp, recovery, scoreboard
from pipeline.cc.recovery import CWR, DISORDER, LOSS, OPEN, RECOVERY
from tests.pipeline.plain_form import plain

MSS = 1000
KERNELS = (
    "reduced", "after_loss", "proportional_rate_reduction", "enter", "grow", "adjust_cwnd",
    "lose", "sent_again", "time_out",
)  # fmt: skip
COMPILED = {name: borrowing(getattr(recovery, name).py_func) for name in KERNELS}
PLAIN = plain(recovery)
DIALECT = st.sampled_from(("rfc8257", "linux", "ns3"))


class Sender:
    """A sender's state and scoreboard, compiled and plain, that must agree to the bit."""

    def __init__(self, dialect: str = "linux", **changes: Any) -> None:
        self.p = dctcp.record({"dialect": dialect, "mss": MSS, **changes})
        self.s, self.twin = dctcp.state(2)
        self.b, self.twin_b = scoreboard.board(2)
        clear = borrowing(scoreboard.clear.py_func)  # type: ignore[attr-defined]
        for s, b in ((self.s, self.b), (self.twin, self.twin_b)):
            dctcp.reset(s, self.p)
            clear(b, 0, 0)

    def put(self, **fields: Any) -> None:
        for s in (self.s, self.twin):
            for name, value in fields.items():
                setattr(s, name, value)

    def call(self, name: str, *arguments: Any) -> Any:
        """A kernel of (state, parameters, …)."""
        value = COMPILED[name](self.s, self.p, *arguments)
        assert getattr(PLAIN, name)(self.twin, self.p, *arguments) == value
        assert self.s.tobytes() == self.twin.tobytes()
        return value

    def send_again(self, seq: int, snd_nxt: int) -> None:
        COMPILED["sent_again"](self.s, self.p, self.b, seq, seq + MSS, snd_nxt)
        PLAIN.sent_again(self.twin, self.p, self.twin_b, seq, seq + MSS, snd_nxt)
        assert self.s.tobytes() == self.twin.tobytes()
        assert self.b.tobytes() == self.twin_b.tobytes()


WINDOW = st.floats(1, 1e9)
OCTETS = st.integers(0, 10**6)


@settings(max_examples=150, deadline=None)
@given(DIALECT, WINDOW, st.integers(0, 1024), st.sampled_from(("half", "alpha")))
def test_step_9_and_the_window_after_a_loss(
    dialect: str, cwnd: float, alpha: int, how: str
) -> None:
    sender = Sender(dialect, loss_reduces=how)
    sender.put(cwnd=cwnd, alpha=alpha / 1024, scaled=alpha)
    if dialect == "linux":  # max(cwnd - (cwnd*alpha >> 11), 2) segments
        packets = floor(cwnd / MSS)
        expected = max((packets - ((packets * alpha) >> 11)) * MSS, 2 * MSS)
    elif dialect == "ns3":  # whole octets, no smallest window
        expected = floor(cwnd * (1 - alpha / 1024 / 2))
    else:  # cwnd = cwnd * (1 - alpha/2)
        expected = max(cwnd * (1 - alpha / 1024 / 2), 2 * MSS)
    assert sender.call("reduced") == expected
    half = max(floor(cwnd / MSS) // 2, 2) * MSS  # RFC 5681 equation 4 in whole segments
    assert sender.call("after_loss") == (half if how == "half" else expected)


@settings(max_examples=200, deadline=None)
@given(DIALECT, WINDOW, OCTETS, OCTETS, st.integers(0, 9 * MSS), OCTETS, st.floats(1, 1e6))
def test_the_proportional_rate_reduction_of_rfc_6937(
    dialect: str, ssthresh: float, pipe: int, prr_out: int, delivered: int, before: int, fs: float
) -> None:
    sender = Sender(dialect)
    sender.put(ssthresh=ssthresh, prr_delivered=before, prr_flight=fs)
    prr_delivered = before + delivered
    if pipe > ssthresh:
        sndcnt = ceil(prr_delivered * ssthresh / fs) - prr_out
    elif dialect == "ns3":
        sndcnt = min(ssthresh - pipe, delivered)
    else:  # slow start reduction bound
        limit = max(prr_delivered - prr_out, delivered) + MSS
        sndcnt = min(ssthresh - pipe, limit)
    sndcnt = max(sndcnt, 0 if prr_out > 0 else MSS)
    sender.call("proportional_rate_reduction", pipe, prr_out, delivered)
    assert (sender.s.cwnd, sender.s.prr_delivered) == (pipe + sndcnt, prr_delivered)


@dataclass
class Growth:
    """RFC 5681 section 3.1, and ns-3's in whole segments with the count that it carries."""

    cwnd: float
    ssthresh: float
    whole: bool
    count: int = 0

    def ack(self, delivered: int) -> None:
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + delivered, self.ssthresh)
        elif not self.whole:
            self.cwnd += MSS * delivered / self.cwnd
        else:
            w = max(floor(self.cwnd) // MSS, 1)
            if self.count >= w:
                self.count = 0
                self.cwnd += MSS
            self.count += delivered // MSS
            if self.count >= w:
                delta = self.count // w
                self.count -= delta * w
                self.cwnd += delta * MSS


@settings(max_examples=100, deadline=None)
@given(
    st.booleans(), st.integers(MSS, 50 * MSS), st.one_of(st.just(inf), WINDOW),
    st.lists(st.integers(0, 9 * MSS), max_size=60),
)  # fmt: skip
def test_slow_start_and_congestion_avoidance(
    whole: bool, cwnd: int, ssthresh: float, acks: list[int]
) -> None:
    sender = Sender("ns3" if whole else "linux")
    sender.put(cwnd=cwnd, ssthresh=ssthresh, grown=0)
    growth = Growth(cwnd, ssthresh, whole)
    for delivered in acks:
        growth.ack(delivered)
        sender.call("grow", delivered)
        assert (sender.s.cwnd, sender.s.grown) == (growth.cwnd, growth.count)


def test_the_letter_reduces_at_a_windows_end_with_marks_only() -> None:
    for marked, expected in ((0, False), (MSS, True)):
        sender = Sender("rfc8257")
        sender.put(cwnd=10.0 * MSS, alpha=0.5, closed_marked=marked)
        assert bool(sender.call("adjust_cwnd", 9 * MSS, 0, MSS, MSS, False, True)) == expected
        if expected:
            assert (sender.s.cwnd, sender.s.ssthresh) == (7.5 * MSS, 7.5 * MSS)


def test_a_deployed_sender_reduces_once_until_what_was_sent_then_is_acknowledged() -> None:
    sender = Sender("linux")
    sender.put(cwnd=10.0 * MSS, scaled=1024, alpha=1.0)
    assert sender.call("adjust_cwnd", 20 * MSS, 0, 9 * MSS, MSS, True, False)
    assert (sender.s.ca_state, sender.s.ssthresh, sender.s.recover) == (CWR, 5 * MSS, 20 * MSS)
    sender.put(snd_una=19 * MSS)
    assert not sender.call("adjust_cwnd", 25 * MSS, 0, 6 * MSS, MSS, True, False)
    sender.put(snd_una=20 * MSS)
    assert sender.call("adjust_cwnd", 25 * MSS, 0, 5 * MSS, MSS, True, False)


@settings(max_examples=100, deadline=None)
@given(
    DIALECT, st.integers(OPEN, LOSS), WINDOW, OCTETS, OCTETS, OCTETS, st.booleans(), st.booleans()
)
def test_no_ack_makes_a_window_infinite(
    dialect: str, state: int, cwnd: float, una: int, sent: int, delivered: int, ece: bool,
    closed: bool,
) -> None:  # fmt: skip
    sender = Sender(dialect)
    sender.put(cwnd=cwnd, ca_state=state, snd_una=una, recover=una + 1, ssthresh=cwnd)
    sender.put(closed_marked=1)
    sender.call("adjust_cwnd", una + sent, 0, sent, delivered, ece, closed)
    assert isfinite(sender.s.cwnd)


def test_data_sent_again_that_three_duplicates_asked_for_starts_recovery() -> None:
    sender = Sender(alpha_on_loss="reset", alpha_init=0.5)
    sender.put(cwnd=11.0 * MSS, dup_acks=3, scaled=100, alpha=100 / 1024)
    sender.send_again(0, 9 * MSS)
    s = sender.s
    assert (s.ca_state, s.ssthresh, s.recover, s.prr_flight) == (
        RECOVERY, 5 * MSS, 9 * MSS, 11 * MSS,
    )  # fmt: skip
    assert (s.alpha, s.scaled, sender.b.lost_to, sender.b.again_to) == (0.5, 512, MSS, MSS)
    sender.send_again(MSS, 9 * MSS)
    assert (s.ca_state, s.ssthresh, s.prr_delivered) == (RECOVERY, 5 * MSS, MSS)
    assert sender.b.sent_again == 2 * MSS


def test_data_sent_again_that_nothing_asked_for_is_a_timeout() -> None:
    """RFC 6298 and RFC 5681 section 3.1: cwnd is one segment, ssthresh falls once."""
    sender = Sender()
    sender.put(cwnd=11.0 * MSS, scaled=100, alpha=100 / 1024, dup_acks=2, ca_state=DISORDER)
    sender.send_again(0, 9 * MSS)
    s, b = sender.s, sender.b
    assert (s.ca_state, s.cwnd, s.ssthresh, s.recover, s.dup_acks) == (
        LOSS, MSS, 5 * MSS, 9 * MSS, 0,
    )  # fmt: skip
    assert (b.lost_to, b.again_to, b.expected, b.nxt) == (9 * MSS, MSS, -1, MSS)
    assert s.scaled == 100
    sender.put(cwnd=2.0 * MSS)
    sender.send_again(0, 9 * MSS)  # the same again: ssthresh is held
    assert (s.cwnd, s.ssthresh) == (MSS, 5 * MSS)
    sender.send_again(MSS, 9 * MSS)  # what comes after it, in answer to an ACK
    assert (s.ca_state, b.again_to) == (LOSS, 2 * MSS)


@pytest.mark.parametrize("arithmetic", ["real", "1024", "scaled"])
def test_alpha_starts_again_after_a_loss_if_a_parameter_says_so(arithmetic: str) -> None:
    unit = {"real": 1024, "1024": 1024, "scaled": 65536}[arithmetic]
    for how, alpha in (("kept", 0.25), ("reset", 0.75)):
        sender = Sender(arithmetic=arithmetic, alpha_on_loss=how, alpha_init=0.75)
        sender.put(alpha=0.25, scaled=unit // 4)
        sender.call("lose")
        assert (sender.s.alpha, sender.s.scaled) == (alpha, unit * alpha)
