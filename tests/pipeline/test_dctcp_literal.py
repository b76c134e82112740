"""DCTCP under loss and in each arithmetic, against an octet-by-octet sender taken literally.

RFC 8257 sections 3.3, 3.5 and 4.2 as semantics.md section 4 writes them out, with RFC 5681, 6298,
6675 and 6937; what dialects do differently is a choice of the parameters that both sides read.
"""

from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector import borrowing
from pipeline.cc import classic, dctcp, recovery, scoreboard
from tests.pipeline.plain_form import plain
from tests.pipeline.test_scoreboard import Octets, runs, segments

MSS, START = 4, 1000
MOST = 12 * MSS
"""In flight, so that the board's intervals suffice."""
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
SENT_AGAIN = borrowing(recovery.sent_again.py_func)  # type: ignore[attr-defined]
BOARD = {
    name: borrowing(getattr(scoreboard, name).py_func)
    for name in ("clear", "sacked_between", "segments_between", "sack", "find_lost")
}
PLAIN, PLAIN_RECOVERY, PLAIN_BOARD = plain(dctcp), plain(recovery), plain(scoreboard)


@dataclass
class Alpha:
    """Steps 5 and 6 in real numbers, in the kernel's 1/1024 and in section 4.2's whole numbers."""

    arithmetic: str
    scf: int
    shf: int
    init: float
    value: float = 0.0
    whole: int = 0

    def start(self) -> None:
        self.value = self.init
        self.whole = int(self.init * (self.scf if self.arithmetic == "scaled" else 1024))

    def update(self, marked: int, acked: int) -> None:
        if self.arithmetic == "real":
            m = marked / acked if acked else 0.0
            self.value = self.value * (1 - 1 / 16) + 1 / 16 * m
        elif self.arithmetic == "scaled":
            m = self.scf * marked // acked if acked else 0
            if (self.whole >> self.shf) == 0:
                self.whole = 0
            self.whole += (m >> self.shf) - (self.whole >> self.shf)
            self.whole = min(self.whole, self.scf)
            self.value = self.whole / self.scf
        else:
            self.whole -= self.whole >> 4 or self.whole
            self.whole = min(self.whole + (marked << 6) // max(acked, 1), 1024)
            self.value = self.whole / 1024


@dataclass
class Letter:
    """The sender, with the choices of a record of parameters by their names."""

    how: dict[str, Any]
    alpha: Alpha
    octets: Octets = field(default_factory=Octets)
    cwnd: float = 10.0 * MSS
    ssthresh: float = inf
    state: int = OPEN
    recover: int = 0
    duplicates: int = 0
    window_end: int | None = START
    acked: int = 0
    marked: int = 0
    units: int = 0
    marked_units: int = 0
    closed: tuple[int, int] = (0, 0)
    prr_delivered: int = 0
    prr_out: int = 0
    recover_fs: float = 1.0

    def reduced(self) -> float:
        """Step 9."""
        if self.how["arithmetic"] == "1024":
            packets = int(self.cwnd / MSS)
            return max((packets - ((packets * self.alpha.whole) >> 11)) * MSS, 2 * MSS)
        return max(self.cwnd * (1 - self.alpha.value / 2), 2 * MSS)

    def after_loss(self) -> float:
        """Section 3.5."""
        if self.how["loss_reduces"] == "alpha":
            return self.reduced()
        return max(int(self.cwnd / MSS) // 2, 2) * MSS

    def start_reduction(self, state: int, ssthresh: float, delivered: int) -> None:
        self.state, self.ssthresh, self.recover = state, ssthresh, self.octets.nxt
        self.recover_fs, self.prr_delivered, self.prr_out = self.cwnd, delivered, 0

    def send(self, octets: int) -> None:
        self.octets.nxt += octets
        self.prr_out += octets

    def send_again(self, seq: int) -> None:
        """A retransmission that a duplicate or selective ACK asked for, or a timeout."""
        board = self.octets
        segment = set(range(seq, seq + MSS))
        asked = bool(board.sacked) or self.duplicates >= 3
        if self.state == LOSS:
            asked = not segment & board.again
        if not asked:
            if self.state != LOSS or board.una not in board.again:
                self.ssthresh = self.after_loss()
            self.cwnd, self.state, self.recover = float(MSS), LOSS, board.nxt
            self.duplicates = 0
            board.lost, board.again = board.waiting, set()
            self.loss_of_alpha()
        elif self.state < RECOVERY:
            self.start_reduction(RECOVERY, self.after_loss(), MSS)
            board.lost |= {octet for octet in board.waiting if octet < seq + MSS}
            self.loss_of_alpha()
        board.again |= segment
        self.prr_out += MSS

    def loss_of_alpha(self) -> None:
        if self.how["alpha_on_loss"] == "reset":
            self.alpha.start()

    def ack(self, ack: int, *, ece: bool, news: set[int], repeats: bool) -> dctcp.Branch:
        """An ACK; `news` are the octets that its blocks are the first to acknowledge."""
        board = self.octets
        self.duplicates = self.duplicates + 1 if repeats else 0
        passed = set(range(board.una, ack)) - board.sacked
        delivered, units = len(news) + len(passed), segments(news) + segments(passed)
        board.advance(max(ack, board.una))
        if delivered == 0 and self.how["empty_ack"] == "ignored":
            return dctcp.Branch.NOTHING
        cut = False
        if self.how["reduces_by"] == "closed":
            cut = self.adjust(delivered, ece=ece, closes=False)
        opens, closes = self.count(delivered, units, ece=ece)
        if self.how["reduces_by"] == "closing":
            cut = self.adjust(delivered, ece=ece, closes=closes)
        branch = dctcp.Branch.COUNT
        if opens or closes:
            branch = dctcp.Branch.WINDOW_OPEN if opens else dctcp.Branch.WINDOW_END
        return dctcp.Branch(branch + cut)

    def count(self, delivered: int, units: int, *, ece: bool) -> tuple[bool, bool]:
        """Steps 2 to 8."""
        una, nxt = self.octets.una, self.octets.nxt
        opens = self.window_end is None
        past = 0 if self.how["window_ends"] == "at" else 1
        closes = self.window_end is not None and una >= self.window_end + past
        if closes and self.how["closing_ack"] == "next":
            self.close(nxt)
        self.acked += delivered
        self.units += units
        if ece:
            self.marked += delivered
            self.marked_units += units
        if closes and self.how["closing_ack"] == "own":
            self.close(nxt)
        if opens:
            self.window_end = nxt
        return opens, closes

    def close(self, nxt: int) -> None:
        by_octets = self.how["counts"] == "bytes"
        self.alpha.update(
            self.marked if by_octets else self.marked_units,
            self.acked if by_octets else self.units,
        )
        self.closed = (self.acked, self.marked)
        self.window_end = nxt
        self.acked = self.marked = self.units = self.marked_units = 0

    def adjust(self, delivered: int, *, ece: bool, closes: bool) -> bool:
        """Step 9, or what a conventional sender does."""
        if self.state >= CWR and self.octets.una >= self.recover:
            self.cwnd = self.cwnd if self.state == LOSS else self.ssthresh
            self.state = OPEN
        mending = self.state in (RECOVERY, LOSS)
        if self.how["reduces"] == "window_end":
            if closes and self.closed[1] > 0 and not mending:
                self.cwnd = self.ssthresh = self.reduced()
                return True
            if mending or not ece:
                self.follow(delivered)
            return False
        enters = ece and self.state in (OPEN, DISORDER)
        if enters:
            self.start_reduction(CWR, self.reduced(), 0)
        self.follow(delivered)
        return enters

    def follow(self, delivered: int) -> None:
        """RFC 6937 section 3.1 in a reduction, RFC 5681 section 3.1 otherwise."""
        if self.state not in (CWR, RECOVERY):
            if self.cwnd < self.ssthresh:
                self.cwnd = min(self.cwnd + delivered, self.ssthresh)
            else:
                self.cwnd += MSS * delivered / self.cwnd
            return
        self.prr_delivered += delivered
        pipe = self.octets.pipe()
        if pipe > self.ssthresh:
            sndcnt = ceil(self.prr_delivered * self.ssthresh / self.recover_fs) - self.prr_out
        else:
            limit = max(self.prr_delivered - self.prr_out, delivered) + MSS
            sndcnt = min(self.ssthresh - pipe, limit)
        self.cwnd = pipe + max(sndcnt, 0 if self.prr_out else MSS)


class Kernels:
    """The recurrences with a scoreboard, in one of their two forms."""

    def __init__(self, p: Any, *, is_plain: bool) -> None:
        self.p = p
        self.s, self.b = dctcp.state()[0], scoreboard.board()[0]
        self.ack = PLAIN.lossy_ack if is_plain else dctcp.lossy_ack
        self.again = PLAIN_RECOVERY.sent_again if is_plain else SENT_AGAIN
        self.board = vars(PLAIN_BOARD) if is_plain else BOARD
        dctcp.reset(self.s, p)
        dctcp.establish(self.s, p, START, MSS)
        self.board["clear"](self.b, START, START)

    def hear(self, ack: int, snd_nxt: int, *, ece: bool, block: Any, repeats: bool) -> int:
        sacked = units = 0
        if block:
            self.b.sack = 1
            sacked = block[1] - block[0] - self.board["sacked_between"](self.b, *block)
            units = self.board["segments_between"](self.b, *block, MSS)
            self.board["sack"](self.b, *block)
            if sacked:
                self.board["find_lost"](self.b, MSS)
        return int(self.ack(self.s, self.p, self.b, ack, snd_nxt, ece, sacked, units, repeats))


class Both:
    """A sender and its receiver: the literal one beside the compiled and the plain form."""

    def __init__(self, *, uses_sack: bool, **how: Any) -> None:
        self.uses_sack = uses_sack
        changes = {"mss": MSS, "dialect": "linux", **how}
        p = dctcp.record(changes)
        names = ("SCF", "SHF", "alpha_init")
        self.letter = Letter(how, Alpha(how["arithmetic"], *(how[name] for name in names)))
        self.letter.alpha.start()
        if how["first_window"] == "first_ack":
            self.letter.window_end = None
        self.forms = [Kernels(p, is_plain=is_plain) for is_plain in (False, True)]
        self.arrived: set[int] = set()

    def step(self, kind: str, which: int, *, ece: bool) -> None:
        board = self.letter.octets
        waiting = sorted(board.waiting - self.arrived)[::MSS]
        if kind == "n" and board.nxt - board.una < MOST:
            self.letter.send(MSS)
        elif kind in "dh" and waiting:
            seq = waiting[0 if kind == "h" else which % len(waiting)]
            self.arrived |= set(range(seq, seq + MSS))
            self.acknowledge(seq, ece=ece)
        elif kind == "e":
            self.acknowledge(None, ece=ece)
        elif kind == "r" and board.next_lost() >= 0:
            self.send_again(board.next_lost())
        elif kind == "t" and board.una < board.nxt:
            self.send_again(board.una)
        self.compare()

    def acknowledge(self, seq: int | None, *, ece: bool) -> None:
        board = self.letter.octets
        ack = board.una
        while ack in self.arrived:
            ack += 1
        block = None
        if self.uses_sack and seq is not None and seq >= ack:
            block = next(each for each in runs(self.arrived) if each[0] <= seq < each[1])
        news = (set(range(*block)) if block else set()) - board.sacked
        repeats = ack == board.una and board.nxt > ack
        if block:
            board.sack(*block)
            if news:
                board.find_lost()
        branches = {
            form.hear(ack, board.nxt, ece=ece, block=block, repeats=repeats) for form in self.forms
        }
        assert branches == {self.letter.ack(ack, ece=ece, news=news, repeats=repeats)}
        assert self.forms[0].s.branch in branches

    def send_again(self, seq: int) -> None:
        self.letter.send_again(seq)
        for form in self.forms:
            form.again(form.s, form.p, form.b, seq, seq + MSS, self.letter.octets.nxt)

    def compare(self) -> None:
        letter = self.letter
        assert self.forms[0].s.tobytes() == self.forms[1].s.tobytes()
        assert self.forms[0].b.tobytes() == self.forms[1].b.tobytes()
        s = self.forms[0].s
        assert (s.alpha, s.cwnd, s.ssthresh) == (letter.alpha.value, letter.cwnd, letter.ssthresh)
        assert (s.BytesAcked, s.BytesMarked) == (letter.acked, letter.marked)
        assert (s.closed_acked, s.closed_marked) == letter.closed
        assert (s.snd_una, s.ca_state, s.dup_acks) == (
            letter.octets.una, letter.state, letter.duplicates,
        )  # fmt: skip
        if letter.window_end is not None:
            assert s.WindowEnd == letter.window_end
        if letter.how["arithmetic"] != "real":
            assert s.scaled == letter.alpha.whole


CHOICES = st.fixed_dictionaries(
    {
        "arithmetic": st.sampled_from(("real", "1024", "scaled")),
        "SCF": st.sampled_from((1024, 65536, 1 << 20)),
        "SHF": st.integers(0, 10),
        "alpha_init": st.sampled_from((0.0, 0.3, 1.0)),
        "counts": st.sampled_from(("bytes", "segments")),
        "window_ends": st.sampled_from(("past", "at")),
        "first_window": st.sampled_from(("established", "first_ack")),
        "closing_ack": st.sampled_from(("own", "next")),
        "reduces": st.sampled_from(("window_end", "first_ece")),
        "reduces_by": st.sampled_from(("closing", "closed")),
        "loss_reduces": st.sampled_from(("half", "alpha")),
        "alpha_on_loss": st.sampled_from(("kept", "reset")),
        "empty_ack": st.sampled_from(("ignored", "closes")),
    }
)
STEPS = st.lists(
    st.tuples(st.sampled_from("nnnnnnhhhhdddderrt"), st.integers(0, 11), st.booleans()),
    max_size=50,
)
BEFORE = st.sampled_from(("", "nnnnnnnnnn", "nnnnnnnnnnnndddr", "nnnnnnnnnnnndddrndrndr"))
"""What has happened before: nothing, data is in flight, or three that overtook a lost one."""


@settings(max_examples=120, deadline=None)
@given(CHOICES, st.booleans(), BEFORE, STEPS)
def test_a_sender_that_loses_is_the_literal_one_to_the_bit(
    how: dict[str, Any], uses_sack: bool, before: str, steps: list[Any]
) -> None:
    both = Both(uses_sack=uses_sack, **how)
    for kind in before:
        both.step(kind, 2, ece=False)
    for kind, which, ece in steps:
        both.step(kind, which, ece=ece)


@dataclass
class Echo:
    """RFC 3168 section 6.1.3 at the sender: whether ECE ended with the segment that carried CWR."""

    cwr_end: int | None = None
    echoing: bool = False
    went_on: bool = False
    ends: list[str] = field(default_factory=list)

    def data(self, end: int) -> None:
        self.cwr_end = end if self.cwr_end is None else self.cwr_end

    def ack(self, ack: int, *, ece: bool) -> None:
        answered = self.cwr_end is not None and ack >= self.cwr_end
        if ece and not self.echoing:
            self.cwr_end, self.went_on = None, False
        elif ece:
            self.went_on = self.went_on or answered
        elif self.echoing:
            what = "latched" if answered else "early"
            self.ends.append("outlasted" if self.went_on else what)
        self.echoing = ece

    def count(self, what: str) -> int:
        return min(self.ends.count(what), 100)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=300), st.integers(1, 20))
def test_runs_of_ece_are_told_by_whether_cwr_ended_them(
    events: list[tuple[bool, bool]], ahead: int
) -> None:
    forms = (classic, plain(classic))
    states = dctcp.state(2)
    states["cwr_end"] = -1
    echo = Echo()
    for at, (ece, cwr) in enumerate(events):
        if cwr:
            echo.data(at + ahead)
        echo.ack(at, ece=ece)
        for form, s in zip(forms, states, strict=True):
            if cwr:
                form.answer(s, at + ahead)
            form.hear(s, at, ece)
        s = states[0]
        counts = [echo.count(name) for name in ("early", "latched", "outlasted")]
        assert [s.early, s.latched, s.outlasted] == counts
        early, latched, outlasted = counts
        expected = latched >= 6 and latched >= outlasted and early <= latched / 8
        assert {bool(form.is_classic(s)) for form in forms} == {expected}
        assert states[0].tobytes() == states[1].tobytes()


@pytest.mark.parametrize(
    ("dialect", "window_ends", "first_window", "closing_ack", "arithmetic", "reduces"),
    [
        ("rfc8257", "past", "established", "own", "real", "window_end"),
        ("ns3", "at", "first_ack", "own", "real", "first_ece"),
        ("linux", "at", "established", "own", "1024", "first_ece"),
        ("linux_before", "at", "established", "next", "1024", "first_ece"),
    ],
)
def test_the_table_of_dialects_is_that_of_the_semantics(
    dialect: str, window_ends: str, first_window: str, closing_ack: str, arithmetic: str,
    reduces: str,
) -> None:  # fmt: skip
    p = dctcp.record({"dialect": dialect})
    rows = {row.name: row for row in dctcp.TABLE}
    wanted = {"window_ends": window_ends, "first_window": first_window,
              "closing_ack": closing_ack, "arithmetic": arithmetic, "reduces": reduces}  # fmt: skip
    for name, value in wanted.items():
        assert p[name] == rows[name].number(value)
    duplicates = rows["duplicate_counts"].number("yes" if dialect == "ns3" else "no")
    assert (p.duplicate_counts, float(p.g), p.SCF, p.SHF) == (duplicates, 1 / 16, 65536, 4)


def test_what_is_chosen_goes_before_what_the_dialect_says() -> None:
    p = dctcp.record({"dialect": "rfc8257", "window_ends": "at"})
    assert (p.window_ends, p.arithmetic) == (1, 0)
