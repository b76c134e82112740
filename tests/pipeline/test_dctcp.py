"""DCTCP against its nine steps taken literally, and what each dialect does its own way."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import dctcp

MSS = 1000
START = 10_000
"""SND.UNA = SND.NXT when the handshake is over."""


@dataclass
class Steps:
    """Steps 1-8 of semantics.md section 4 in the letter of RFC 8257."""

    alpha: float = 1.0
    una: int = START
    window_end: int = START
    acked: int = 0
    marked: int = 0

    def ack(self, ack: int, snd_nxt: int, *, ece: bool) -> None:
        newly = ack - self.una
        self.una = ack
        self.acked += newly
        if ece:
            self.marked += newly
        if ack <= self.window_end:
            return
        m = self.marked / self.acked
        self.alpha = self.alpha * (1 - 1 / 16) + 1 / 16 * m
        self.window_end = snd_nxt
        self.acked = self.marked = 0


@dataclass
class Kernel:
    """The same as Linux 6 does it: segments, whole 1/1024, windows that end at WindowEnd."""

    alpha: int = 1024
    una: int = START
    window_end: int = START
    acked: int = 0
    marked: int = 0
    before: bool = False

    def ack(self, ack: int, snd_nxt: int, *, ece: bool) -> None:
        segments = -(-(ack - self.una) // MSS)
        self.una = ack
        closes = ack >= self.window_end
        if closes and self.before:
            self.close(snd_nxt)
        self.acked += segments
        self.marked += segments if ece else 0
        if closes and not self.before:
            self.close(snd_nxt)

    def close(self, snd_nxt: int) -> None:
        self.alpha -= self.alpha >> 4 or self.alpha
        self.alpha = min(self.alpha + (self.marked << 6) // max(self.acked, 1), 1024)
        self.window_end, self.acked, self.marked = snd_nxt, 0, 0


class Sender:
    """A sender in one dialect, established at START."""

    def __init__(self, dialect: str, **changes: Any) -> None:
        self.p = dctcp.record({"dialect": dialect, "mss": MSS, **changes})
        self.s = dctcp.state()[0]
        dctcp.reset(self.s, self.p)
        dctcp.establish(self.s, self.p, START, MSS)

    def ack(
        self, ack: int, snd_nxt: int, *, ece: bool = False, duplicate: bool = False
    ) -> dctcp.Branch:
        branch = dctcp.new_ack(self.s, self.p, START + ack, START + snd_nxt, ece, 0, duplicate)
        return dctcp.Branch(branch)


ACKS = st.lists(
    st.tuples(st.integers(1, 5 * MSS), st.integers(0, 10 * MSS), st.booleans()), max_size=60
)


def numbered(acks: list[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """(SEG.ACK, SND.NXT, ECE) from steps of both."""
    ack = snd_nxt = START
    rows = []
    for acked, sent, ece in acks:
        ack += acked
        snd_nxt = max(snd_nxt + sent, ack)
        rows.append((ack, snd_nxt, ece))
    return rows


@settings(max_examples=50, deadline=None)
@given(ACKS)
def test_the_compiled_form_is_the_nine_steps_to_the_bit(acks: list[tuple[int, int, bool]]) -> None:
    steps, sender, plain = Steps(), Sender("rfc8257"), Sender("rfc8257")
    for ack, snd_nxt, ece in numbered(acks):
        steps.ack(ack, snd_nxt, ece=ece)
        arguments = (ack, snd_nxt, ece, 0, False)
        dctcp.new_ack(sender.s, sender.p, *arguments)
        dctcp.new_ack.py_func(plain.s, plain.p, *arguments)  # type: ignore[attr-defined]
        for s in (sender.s, plain.s):
            assert (s.alpha, s.BytesAcked, s.BytesMarked, s.WindowEnd) == (
                steps.alpha,
                steps.acked,
                steps.marked,
                steps.window_end,
            )
        assert sender.s.cwnd == plain.s.cwnd


@settings(max_examples=50, deadline=None)
@given(ACKS, st.booleans())
def test_whole_arithmetic_is_the_kernels(acks: list[tuple[int, int, bool]], before: bool) -> None:
    kernel = Kernel(before=before)
    sender = Sender("linux_before" if before else "linux")
    for ack, snd_nxt, ece in numbered(acks):
        kernel.ack(ack, snd_nxt, ece=ece)
        dctcp.new_ack(sender.s, sender.p, ack, snd_nxt, ece, 0, False)
        assert (sender.s.scaled, sender.s.WindowEnd) == (kernel.alpha, kernel.window_end)
        assert sender.s.alpha == kernel.alpha / 1024


def test_alpha_falls_to_zero_below_a_sixteenth_of_its_unit() -> None:
    sender = Sender("linux", alpha_init=15 / 1024)
    sender.ack(MSS, 2 * MSS)
    assert sender.s.alpha == 0.0


def test_the_letter_ends_a_window_past_its_end_and_senders_at_it() -> None:
    letter, deployed = Sender("rfc8257"), Sender("linux")
    for sender in (letter, deployed):
        sender.ack(MSS, 3 * MSS)
    assert letter.ack(3 * MSS, 5 * MSS) is dctcp.Branch.COUNT
    assert deployed.ack(3 * MSS, 5 * MSS) is dctcp.Branch.WINDOW_END


def test_the_first_window_of_ns3_opens_at_the_first_data_ack() -> None:
    sender = Sender("ns3")
    assert sender.ack(0, 4 * MSS) is dctcp.Branch.NOTHING
    assert sender.ack(MSS, 4 * MSS) is dctcp.Branch.WINDOW_OPEN
    assert sender.ack(3 * MSS, 6 * MSS) is dctcp.Branch.COUNT
    assert sender.ack(4 * MSS, 8 * MSS) is dctcp.Branch.WINDOW_END
    assert (sender.s.alpha, sender.s.closed_acked) == (1 - 1 / 16, 4 * MSS)


def test_an_ack_that_delivers_nothing_ends_a_window_of_linux_only() -> None:
    linux, letter = Sender("linux"), Sender("rfc8257")
    assert linux.ack(0, 0) is dctcp.Branch.WINDOW_END
    assert float(linux.s.alpha) == 960 / 1024
    assert letter.ack(0, 0) is dctcp.Branch.NOTHING


def test_a_duplicate_counts_a_segment_of_ns3() -> None:
    sender = Sender("ns3")
    sender.ack(MSS, 9 * MSS)
    sender.ack(MSS, 9 * MSS, duplicate=True)
    assert sender.s.BytesAcked == 2 * MSS


def test_whole_segments_carry_the_rest() -> None:
    sender = Sender("ns3")
    for ack in (MSS // 2, MSS, 3 * MSS // 2):
        sender.ack(ack, 9 * MSS)
    assert (sender.s.acked, sender.s.carry, sender.s.BytesAcked) == (1, MSS // 2, MSS)


def test_the_letter_reduces_once_a_window_at_its_end() -> None:
    sender = Sender("rfc8257")
    sender.ack(MSS, 10 * MSS)
    before = float(sender.s.cwnd)
    assert sender.ack(2 * MSS, 10 * MSS, ece=True) is dctcp.Branch.COUNT
    assert sender.s.cwnd == before
    assert sender.ack(11 * MSS, 12 * MSS, ece=True) is dctcp.Branch.WINDOW_END_REDUCE
    assert sender.s.cwnd == before * (1 - sender.s.alpha / 2)


def test_deployed_senders_reduce_at_the_first_mark_and_slide_there() -> None:
    sender = Sender("linux")
    sender.ack(MSS, 10 * MSS)
    before = int(sender.s.cwnd) // MSS
    assert sender.ack(2 * MSS, 10 * MSS, ece=True) is dctcp.Branch.COUNT_REDUCE
    target = before - (before * int(sender.s.scaled) >> 11)
    assert sender.s.ssthresh == target * MSS
    assert sender.s.cwnd > sender.s.ssthresh
    assert sender.ack(3 * MSS, 10 * MSS, ece=True) is dctcp.Branch.COUNT
    sender.ack(9 * MSS, 10 * MSS)
    assert sender.s.ca_state == 2
    sender.ack(10 * MSS, 15 * MSS)
    assert sender.s.ca_state == 0
    assert sender.s.ssthresh <= sender.s.cwnd <= sender.s.ssthresh + 2 * MSS


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(dctcp.DIALECTS)), ACKS)
def test_nothing_leaves_its_range(dialect: str, acks: list[tuple[int, int, bool]]) -> None:
    sender = Sender(dialect)
    for ack, snd_nxt, ece in numbered(acks):
        dctcp.new_ack(sender.s, sender.p, ack, snd_nxt, ece, 0, False)
        assert 0 <= sender.s.alpha <= 1
        assert sender.s.ssthresh >= (0 if dialect == "ns3" else 2 * MSS)
        assert np.isfinite(sender.s.cwnd)
        assert sender.s.cwnd >= 0


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"dialect": "bsd"}, "dialect takes auto or linux or linux_before or ns3 or rfc8257 or "),
        ({"g": 0}, "g takes a number from 0.001 to 1, not 0"),
        ({"gain": 1}, "no parameter is called 'gain'; accepted are dialect, g, "),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        dctcp.record(values)
    assert str(caught.value).startswith(sentence)
