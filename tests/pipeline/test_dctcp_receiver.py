"""The receiver's DCTCP.CE against RFC 8257 section 3.2 and RFC 3168 taken literally."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cc import dctcp_receiver
from pipeline.cc.dctcp_receiver import Branch, Evidence, Verdict
from tests.pipeline.plain_form import plain

MSS, START = 1000, 5000
FIN, SYN, RST, ACK, ECE, CWR = 1, 2, 4, 16, 64, 128
NOT_ECT, ECT, CE = 0, 2, 3
WRONG = {Branch.LATCHED, Branch.ECE_UNEXPECTED, Branch.ECE_MISSING}
PLAIN = plain(dctcp_receiver)
Segment = tuple[int, int, int, int]
"""seq, octets, ECN codepoint, flags."""


@dataclass
class Receiver:
    """What both kinds of receiver do: order, and an ACK for every m segments."""

    m: int = 2
    variant: str = "one"
    repeated: bool = False
    rcv_nxt: int = START
    ce: bool = False
    pending: int = 0
    above: set[tuple[int, int]] = field(default_factory=set)

    def take(self, seq: int, end: int) -> bool:
        """Whether the segment is next in order, and no hole is left by it."""
        in_order = seq <= self.rcv_nxt < end and not self.above
        self.above.add((seq, end))
        for low, high in sorted(self.above):
            if low <= self.rcv_nxt:
                self.rcv_nxt = max(self.rcv_nxt, high)
        self.above = {(low, high) for low, high in self.above if high > self.rcv_nxt}
        return in_order

    def is_known(self, seq: int, end: int) -> bool:
        return end <= self.rcv_nxt or (seq, end) in self.above

    def acknowledge(self, *, at_once: bool) -> list[tuple[int, bool]]:
        self.pending += 1
        if not at_once and self.pending < self.m:
            return []
        self.pending = 0
        return [(self.rcv_nxt, self.ce)]


@dataclass
class Rfc8257(Receiver):
    """Section 3.2: rules 1 to 3, with one immediate ACK or two; `old` is the two's first alone."""

    def receive(self, segment: Segment) -> list[tuple[int, bool]]:
        seq, octets, ecn, flags = segment
        end = seq + octets + (flags & FIN)
        known = self.is_known(seq, end)
        marked = ecn == CE
        acks: list[tuple[int, bool]] = []
        changes = (marked != self.ce) and octets > 0 and (self.repeated or not known)
        if changes and self.variant != "one" and self.pending:
            acks.append((self.rcv_nxt, self.ce))
            self.pending = 0
        if changes:
            self.ce = marked
        in_order = self.take(seq, end)
        at_once = not in_order or (changes and self.variant != "old")
        return acks + self.acknowledge(at_once=at_once)


@dataclass
class Rfc3168(Receiver):
    """Section 6.1.3: CE sets ECE on every ACK until CWR, which is processed before CE."""

    def receive(self, segment: Segment) -> list[tuple[int, bool]]:
        seq, octets, ecn, flags = segment
        end = seq + octets + (flags & FIN)
        if not self.is_known(seq, end) or self.repeated:
            if flags & CWR:
                self.ce = False
            self.ce = self.ce or ecn == CE
        return self.acknowledge(at_once=not self.take(seq, end))


class Tap:
    """The checker, compiled and plain, that must agree to the bit after every segment."""

    def __init__(self, *, middle: bool = False, **changes: Any) -> None:
        self.p = dctcp_receiver.record(changes)
        self.s, self.twin = dctcp_receiver.state(2)
        if not middle:
            dctcp_receiver.establish(self.s, START)
            PLAIN.establish(self.twin, START)

    def data(self, *segment: int) -> None:
        dctcp_receiver.data(self.s, self.p, *segment)
        PLAIN.data(self.twin, self.p, *segment)
        assert self.s.tobytes() == self.twin.tobytes()

    def send(self, *, packets: int = 1, ecn: int = ECT, flags: int = ACK) -> None:
        """Segments in order."""
        for _ in range(packets):
            self.data(int(self.s.rcv_nxt), MSS, ecn, flags)

    def ack(self, number: int | None = None, *, ece: bool = False, flags: int = ACK) -> Branch:
        number = int(self.s.rcv_nxt) if number is None else number
        flags |= ECE if ece else 0
        branch = dctcp_receiver.ack(self.s, self.p, number, flags)
        assert PLAIN.ack(self.twin, self.p, number, flags) == branch
        assert self.s.tobytes() == self.twin.tobytes()
        return Branch(branch)

    @property
    def verdict(self) -> Verdict:
        return Verdict(int(self.s.verdict))


STEP = st.tuples(
    st.booleans(),
    st.sampled_from("nnnnnnnnnnrdcszl"),
    st.integers(1, 6),
)
"""Marked; next, reordered, doubled, CWR, short, not ECT, lost behind the tap; how much later."""
PATH = st.lists(STEP, min_size=1, max_size=70)


def arrivals(steps: list[tuple[bool, str, int]], kinds: str) -> Iterator[tuple[Segment, bool]]:
    """Segments as they pass the tap, and whether they reach the receiver; all do in the end."""
    seq = START
    due: list[tuple[int, Segment]] = []
    for at, (marked, wanted, later) in enumerate(steps):
        kind = wanted if wanted in kinds else "n"
        octets = MSS // 3 if kind == "s" else MSS
        ecn = NOT_ECT if kind == "z" else CE if marked else ECT
        segment = (seq, octets, ecn, ACK | CWR if kind == "c" else ACK)
        seq += octets
        if kind != "r":
            yield segment, kind != "l"
        if kind in "rdl":
            again = ECT if marked and later % 2 else ecn
            due.append((at + later, (segment[0], octets, again, ACK)))
        for when, late in [each for each in due if each[0] <= at]:
            due.remove((when, late))
            yield late, True
    yield from ((late, True) for _, late in due)


def watch(
    tap: Tap, receiver: Any, path: Iterator[tuple[Segment, bool]], lost: list[bool], lag: int = 0
) -> list[Branch]:
    """Let a receiver answer; its ACKs pass the tap `lag` segments later, or are lost."""
    on_the_way: list[list[tuple[int, bool]]] = []
    branches: list[Branch] = []
    count = 0

    def heard(acks: list[tuple[int, bool]]) -> None:
        nonlocal count
        for number, ece in acks:
            count += 1
            if not (lost and lost[count % len(lost)]):
                branches.append(tap.ack(number, ece=ece))

    for segment, arrives in path:
        tap.data(*segment)
        on_the_way.append(receiver.receive(segment) if arrives else [])
        if len(on_the_way) > lag:
            heard(on_the_way.pop(0))
    for acks in on_the_way:
        heard(acks)
    return branches


RECEIVER = st.fixed_dictionaries(
    {
        "m": st.integers(1, 9),
        "variant": st.sampled_from(("one", "two", "old")),
        "repeated": st.booleans(),
    }
)
LOST = st.lists(st.booleans(), max_size=5)


@settings(max_examples=150, deadline=None)
@given(RECEIVER, PATH, LOST, st.integers(0, 12))
def test_the_receiver_of_the_rfc_is_always_accepted(
    how: dict[str, Any], steps: list[Any], lost: list[bool], lag: int
) -> None:
    tap = Tap(sees_ce="all")
    branches = watch(tap, Rfc8257(**how), arrivals(steps, "rdcsz"), lost, lag)
    assert not set(branches) & WRONG
    assert tap.verdict in (Verdict.UNKNOWN, Verdict.DCTCP, Verdict.NOT_ECN)


@settings(max_examples=150, deadline=None)
@given(RECEIVER, PATH, LOST, st.integers(0, 12))
def test_data_lost_behind_the_tap_is_forgiven_when_it_is_sent_again(
    how: dict[str, Any], steps: list[Any], lost: list[bool], lag: int
) -> None:
    tap = Tap(sees_ce="all")
    watch(tap, Rfc8257(**how), arrivals(steps, "rdcszl"), lost, lag)
    assert tap.s.wrong[0] == 0


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 9), st.booleans(), PATH, LOST, st.integers(0, 12))
def test_the_classic_receiver_is_never_a_contradiction_of_itself(
    m: int, repeated: bool, steps: list[Any], lost: list[bool], lag: int
) -> None:
    tap = Tap(sees_ce="all")
    watch(tap, Rfc3168(m=m, repeated=repeated), arrivals(steps, "rdcsz"), lost, lag)
    assert tap.s.wrong[1] == 0
    assert tap.verdict is not Verdict.CONTRADICTS


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-(10**6), 10**6)] * 4, st.booleans()), max_size=40))
def test_no_input_raises_and_both_forms_agree(events: list[Any]) -> None:
    tap = Tap(middle=True)
    for seq, octets, ecn, flags, sends in events:
        if sends:
            tap.data(seq, octets % 100_000, ecn & 3, flags & 255)
        else:
            tap.ack(seq, flags=flags & 255)
        assert 0 <= tap.s.sure < 1


def marks(pattern: str, times: int = 1) -> list[tuple[bool, str, int]]:
    """Steps in order: M is marked, C carries CWR, X both, anything else nothing."""
    return [(each in "MX", "c" if each in "CX" else "n", 1) for each in pattern * times]


@settings(max_examples=100, deadline=None)
@given(
    RECEIVER, st.lists(st.booleans(), min_size=30, max_size=60), st.integers(0, 20),
    st.integers(4, 10),
)  # fmt: skip
def test_every_ack_whose_ece_is_flipped_is_named(
    how: dict[str, Any], pattern: list[bool], first: int, length: int
) -> None:
    tap, receiver = Tap(sees_ce="all"), Rfc8257(**how)
    steps = [(marked, "c", 1) for marked in pattern]
    acks = 0
    for segment, _ in arrivals(steps, "c"):
        tap.data(*segment)
        for number, ece in receiver.receive(segment):
            flips = first <= acks < first + length
            branch = tap.ack(number, ece=ece != flips)
            assert (branch in WRONG) == flips
            acks += 1
    flipped = min(max(acks - first, 0), length)
    assert tap.s.wrong[0] == flipped
    if flipped >= 4:
        assert tap.verdict in (Verdict.CONTRADICTS, Verdict.CLASSIC)


@pytest.mark.parametrize("variant", ["one", "two", "old"])
@pytest.mark.parametrize("m", [1, 2, 7])
def test_a_dctcp_receiver_is_recognised_whatever_m_and_the_acks_at_a_change(
    variant: str, m: int
) -> None:
    tap = Tap()
    watch(tap, Rfc8257(m=m, variant=variant), arrivals(marks("MMM......MM.C....", 20), "c"), [])
    assert (tap.verdict, tap.s.evidence) == (Verdict.DCTCP, Evidence.MARKS)
    assert tap.s.sure > 0.95
    assert tap.s.wrong.tolist()[0] == tap.s.late == 0
    assert tap.s.m == min(m, 5 if variant == "two" else 6)
    if m == 1 or variant != "one":
        assert tap.s.reported_bytes == tap.s.expected_bytes == 100 * MSS
    else:
        assert tap.s.reported_bytes != tap.s.expected_bytes


@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_classic_receiver_is_recognised(m: int) -> None:
    tap = Tap()
    watch(tap, Rfc3168(m=m), arrivals(marks("M........C.......", 20), "c"), [])
    assert (tap.verdict, tap.s.evidence) == (Verdict.CLASSIC, Evidence.MARKS)
    assert tap.s.sure > 0.95


def test_without_sight_of_ce_the_two_are_told_by_how_long_ece_lasts() -> None:
    for receiver, verdict in ((Rfc8257(), Verdict.DCTCP), (Rfc3168(), Verdict.CLASSIC)):
        tap = Tap()
        for segment, _ in arrivals(marks("M........C.......", 20), "c"):
            tap.data(*segment[:2], ECT, segment[3])
            for number, ece in receiver.receive(segment):
                assert tap.ack(number, ece=ece) is Branch.UNSIGHTED
        assert (tap.verdict, tap.s.evidence) == (verdict, Evidence.LATCH)
        assert tap.s.sure > 0.9


def test_cwr_alone_says_nothing() -> None:
    tap = Tap()
    watch(tap, Rfc8257(), arrivals(marks("X", 50), "c"), [])
    assert tap.verdict is Verdict.UNKNOWN
    assert tap.s.judged.tolist() == [tap.s.echoes] * 2


def test_cwr_is_processed_before_ce_or_by_a_parameter_after_it() -> None:
    tap, after = Tap(sees_ce="all"), Tap(sees_ce="all", cwr="after_ce")
    for each in (tap, after):
        each.send(ecn=CE, flags=ACK | CWR)
        each.ack(ece=True)
    assert tap.s.wrong.tolist() == [0, 0]
    assert after.s.wrong.tolist() == [0, 1]


def test_marks_that_are_never_echoed_are_not_ecn() -> None:
    tap = Tap()
    for _ in range(6):
        tap.send(ecn=CE)
        assert tap.ack() is Branch.ECE_MISSING
    assert (tap.verdict, tap.s.evidence) == (Verdict.NOT_ECN, Evidence.MARKS)
    assert float(tap.s.sure) == 7 / 8


def test_data_that_is_never_ect_is_not_ecn() -> None:
    tap = Tap()
    tap.send(packets=6, ecn=NOT_ECT)
    tap.ack()
    assert (tap.verdict, tap.s.evidence) == (Verdict.NOT_ECN, Evidence.NO_ECT)


def test_ece_that_answers_nothing_contradicts() -> None:
    tap = Tap(sees_ce="all")
    for _ in range(3):
        tap.send(packets=2)
        assert tap.ack(ece=True) is Branch.ECE_UNEXPECTED
    assert (tap.verdict, tap.s.evidence) == (Verdict.CONTRADICTS, Evidence.MARKS)


def test_each_branch_by_name() -> None:
    tap = Tap(sees_ce="all", m=4)
    assert tap.ack(flags=SYN | ACK | ECE) is Branch.NOTHING
    assert tap.ack(flags=RST | ACK | ECE) is Branch.NOTHING
    assert tap.ack(flags=ECE) is Branch.NOTHING
    tap.send()
    assert tap.ack() is Branch.EXPECTED
    tap.send(packets=4)
    assert tap.ack() is Branch.DELAYED
    tap.send(packets=5)
    assert tap.ack() is Branch.STRETCHED
    assert tap.ack() is Branch.DUPLICATE
    assert tap.ack(START) is Branch.OLD
    tap.send()
    before = int(tap.s.rcv_nxt)
    tap.send(ecn=CE)
    assert tap.ack(before) is Branch.AT_CHANGE_OLD
    assert tap.ack(ece=True) is Branch.AT_CHANGE_NEW
    assert tap.ack() is Branch.ECE_MISSING
    tap.send(packets=2)
    assert tap.ack(ece=True) is Branch.LATCHED
    tap.send(ecn=CE)
    tap.send(packets=2, flags=ACK | CWR)
    assert tap.ack() is Branch.LATE
    assert tap.s.late == 1
    assert tap.ack(ece=True) is Branch.ECE_UNEXPECTED
    assert tap.ack(int(tap.s.rcv_nxt) + 9 * MSS, ece=True) is Branch.UNSEEN
    assert Tap().ack() is Branch.UNSIGHTED


def test_a_change_that_no_ack_shows_contradicts_by_a_parameter_only() -> None:
    for late, wrong in (("tolerated", 0), ("contradicts", 1)):
        tap = Tap(late=late)
        tap.send(packets=2, ecn=CE)
        tap.send(packets=2)
        assert tap.ack() is Branch.LATE
        assert tap.s.wrong[0] == wrong


def test_ce_of_a_handshake_a_reset_and_empty_segments_is_ignored() -> None:
    tap = Tap(sees_ce="all")
    for flags in (SYN, SYN | ACK, RST):
        tap.data(START, MSS, CE, flags)
    tap.data(START, 0, CE, ACK)
    tap.data(START, -1, CE, ACK)
    assert (tap.s.rcv_nxt, tap.s.segments, tap.s.changes) == (START, 0, 0)
    tap.data(START, 0, CE, ACK | FIN)  # whether an empty FIN changes DCTCP.CE is open
    for ece in (False, True):
        assert tap.ack(START + 1, ece=ece) not in WRONG


def test_what_is_open_may_be_settled_by_parameters() -> None:
    for changes, branch in (({}, Branch.UNSEEN), ({"not_ect": "clears"}, Branch.ECE_UNEXPECTED)):
        tap = Tap(**changes)
        tap.send(ecn=CE)
        tap.ack(ece=True)
        tap.send(ecn=NOT_ECT, flags=ACK | CWR)
        assert tap.ack(ece=True) is branch
    for repeated, branch in (("either", Branch.DUPLICATE), ("ignored", Branch.ECE_MISSING)):
        tap = Tap(repeated=repeated)
        tap.send(ecn=CE)
        tap.ack(ece=True)
        tap.data(START, MSS, ECT, ACK)
        assert tap.ack() is branch


def test_in_mid_flow_the_state_is_known_from_the_first_data_on() -> None:
    tap = Tap(middle=True, sees_ce="all")
    assert tap.ack(START, ece=True) is Branch.DUPLICATE
    tap.send()
    assert tap.ack(ece=True) is Branch.ECE_UNEXPECTED


def test_more_changes_on_the_way_than_are_kept_are_not_judged() -> None:
    tap = Tap(sees_ce="all")
    for k in range(40):
        tap.send(ecn=CE if k % 2 else ECT)
    for k in range(40):
        assert tap.ack(START + (k + 1) * MSS, ece=k % 2 == 1) not in WRONG
    assert 0 < tap.s.judged[0] < 20


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"m": -1}, "m takes a whole number from 0 to 10000 segments, not -1"),
        ({"cwr": "never"}, "cwr takes before_ce or after_ce, not 'never'"),
        ({"n": 1}, "no parameter is called 'n'; accepted are sees_ce, m, late, "),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_accepted(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"takes|called") as caught:
        dctcp_receiver.record(values)
    assert str(caught.value).startswith(sentence)
