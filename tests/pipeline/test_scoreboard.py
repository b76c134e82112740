"""The scoreboard against sets of octets: what RFC 6675 section 3 says of each octet by itself."""

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from collector import borrowing
from pipeline.cc import scoreboard
from tests.pipeline.plain_form import plain

MSS, START, LENGTH = 4, 1000, 120
KERNELS = (
    "clear", "sacked_between", "segments_between", "sack", "advance", "guess", "find_lost",
    "in_flight", "next_lost",
)  # fmt: skip
COMPILED = {name: borrowing(getattr(scoreboard, name).py_func) for name in KERNELS}
PLAIN = plain(scoreboard)


def runs(octets: set[int]) -> list[tuple[int, int]]:
    """Stretches of adjoining octets, as [low, high)."""
    pieces = groupby(enumerate(sorted(octets)), key=lambda pair: pair[1] - pair[0])
    stretches = [[octet for _, octet in piece] for _, piece in pieces]
    return [(each[0], each[-1] + 1) for each in stretches]


def segments(octets: set[int]) -> int:
    """Segments of the stretches: each has its own."""
    return sum(-(-(high - low) // MSS) for low, high in runs(octets))


@dataclass
class Octets:
    """RFC 6675 section 3, octet by octet."""

    una: int = START
    nxt: int = START
    sacked: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    again: set[int] = field(default_factory=set)
    overflowed: bool = False

    @property
    def waiting(self) -> set[int]:
        return set(range(self.una, self.nxt)) - self.sacked

    def sack(self, low: int, high: int) -> None:
        self.sacked |= set(range(low, high))
        for first, last in runs(self.sacked)[scoreboard.INTERVALS :]:
            self.sacked -= set(range(first, last))
            self.overflowed = True

    def find_lost(self) -> None:
        """IsLost: DupThresh segments above have arrived."""
        for octet in self.waiting:
            above = {other for other in self.sacked if other > octet}
            if segments(above) >= scoreboard.DUP_THRESH:
                self.lost.add(octet)

    def advance(self, ack: int) -> None:
        self.una = ack
        self.sacked = {octet for octet in self.sacked if octet >= ack}

    def pipe(self) -> int:
        """SetPipe: an octet counts when it is not lost, or when it was sent again."""
        return sum(octet not in self.lost or octet in self.again for octet in self.waiting)

    def next_lost(self) -> int:
        """NextSeg, rule 1."""
        return min(self.waiting & self.lost - self.again, default=-1)


class Board:
    """A board, compiled and plain, that must agree to the bit."""

    def __init__(self) -> None:
        self.b, self.twin = scoreboard.board(2)
        self.call("clear", START, START)

    def call(self, name: str, *arguments: int) -> Any:
        value = COMPILED[name](self.b, *arguments)
        assert getattr(PLAIN, name)(self.twin, *arguments) == value
        assert self.b.tobytes() == self.twin.tobytes()
        return value

    def send_again(self, end: int) -> None:
        """What `recovery.sent_again` writes down."""
        for b in (self.b, self.twin):
            b.again_to = max(b.again_to, end)


STEP = st.tuples(st.sampled_from("sssssaflr"), st.integers(0, LENGTH), st.integers(1, 20))


def check(board: Board, octets: Octets, low: int, high: int) -> None:
    b = board.b
    kept = [(int(b.low[i]), int(b.high[i])) for i in range(b.count)]
    assert kept == runs(octets.sacked)
    assert bool(b.overflowed) == octets.overflowed
    window = set(range(low, high))
    assert board.call("sacked_between", low, high) == len(window & octets.sacked)
    assert board.call("segments_between", low, high, MSS) == segments(window - octets.sacked)
    assert board.call("in_flight", octets.una, octets.nxt) == octets.pipe()
    assert board.call("next_lost", octets.una) == octets.next_lost()


@settings(max_examples=200, deadline=None)
@given(st.lists(STEP, max_size=40))
def test_the_board_is_what_rfc_6675_says_of_each_octet(steps: list[Any]) -> None:
    """SACK of any octets, SND.UNA moving, data sent, found lost, and sent again from below."""
    board, octets = Board(), Octets(nxt=START + LENGTH)
    for b in (board.b, board.twin):
        b.sack = 1
    for kind, at, length in steps:
        low, high = START + at, min(START + at + length, octets.nxt)
        if kind == "s" and octets.una < low < high:
            board.call("sack", low, high)
            octets.sack(low, high)
        elif kind == "a" and octets.una < high and not octets.sacked & {low, high - 1, high}:
            board.call("advance", high, octets.nxt, MSS)
            octets.advance(high)
        elif kind == "l":
            octets.nxt += length
        elif kind == "f" and not octets.overflowed:
            board.call("find_lost", MSS)
            octets.find_lost()
        elif kind == "r" and octets.next_lost() >= 0:
            first = octets.next_lost()
            last = min(first + MSS, max(octets.lost) + 1)
            octets.again |= set(range(first, last))
            board.send_again(last)
        check(board, octets, min(low, high), max(low, high))


def test_a_duplicate_without_sack_stands_for_one_more_segment_past_the_first() -> None:
    board = Board()
    end = START + 4 * MSS
    for arrived in (1, 2, 3, 3, 3):
        board.call("guess", START, end, MSS)
        assert board.call("in_flight", START, end) == (4 - arrived) * MSS
    assert (board.b.low[0], board.b.high[0]) == (START + MSS, end)


def test_a_guess_moves_up_with_what_is_acknowledged_and_ends_at_what_was_sent() -> None:
    board = Board()
    end = START + 9 * MSS
    for _ in range(2):
        board.call("guess", START, end, MSS)
    board.call("advance", START + 2 * MSS, end, MSS)
    assert (board.b.low[0], board.b.high[0]) == (START + 3 * MSS, START + 4 * MSS)
    assert board.b.lost_to == START + 3 * MSS
    board.call("advance", START + 6 * MSS, end, MSS)
    assert board.b.count == 0


def test_a_guess_that_has_nowhere_to_move_is_given_up_at_the_head() -> None:
    board = Board()
    end = START + 3 * MSS
    for _ in range(2):
        board.call("guess", START, end, MSS)
    board.call("advance", START + MSS, end, MSS)
    assert (board.b.low[0], board.b.high[0]) == (START + 2 * MSS, end)
    board.call("advance", START + 2 * MSS, end, MSS)
    assert (board.b.count, board.call("next_lost", START + 2 * MSS)) == (0, START + 2 * MSS)


def test_the_highest_interval_is_forgotten_when_there_are_too_many() -> None:
    board = Board()
    for k in range(scoreboard.INTERVALS + 1):
        board.call("sack", START + 20 * k, START + 20 * k + MSS)
    assert (board.b.count, board.b.overflowed) == (scoreboard.INTERVALS, 1)
    board.call("sack", START + 10, START + 10 + MSS)
    lows = [START, START + 10, *(START + 20 * k for k in range(1, scoreboard.INTERVALS - 1))]
    assert board.b.low.tolist() == lows


def test_a_lost_segment_that_ends_behind_what_was_sent_leaves_nothing_less_than_nothing() -> None:
    """SND.NXT is known by what was captured, a segment by its size: the last one may be shorter."""
    board, sent = Board(), START + MSS // 2
    for b in (board.b, board.twin):
        b.lost_to = START + MSS
    assert board.call("in_flight", START, sent) == 0
    board.call("sack", START, START + MSS)
    assert board.call("in_flight", START, sent) == 0
