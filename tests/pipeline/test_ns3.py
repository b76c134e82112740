"""DCTCP of ns-3 under loss against its ReceivedAck, DupAck and ProcessAck, segment by segment."""

from dataclasses import dataclass, field
from math import ceil, floor, inf
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from collector import borrowing
from pipeline.cc import dctcp, recovery, scoreboard
from tests.pipeline.plain_form import plain

MSS = 1000
MOST = 12
"""Segments in flight, so that the board's intervals suffice."""
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
SENT_AGAIN = borrowing(recovery.sent_again.py_func)  # type: ignore[attr-defined]
BOARD = {
    name: borrowing(getattr(scoreboard, name).py_func)
    for name in ("clear", "sacked_between", "segments_between", "sack", "find_lost")
}


@dataclass
class TxBuffer:
    """TcpTxBuffer: what is known of each segment that was sent, by its number."""

    una: int = 0
    high: int = 0
    sacked: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    again: set[int] = field(default_factory=set)

    @property
    def open(self) -> set[int]:
        return set(range(self.una, self.high)) - self.sacked

    def in_flight(self) -> int:
        return MSS * len(self.open - (self.lost - self.again))

    def add_reno_sack(self) -> None:
        """One more has arrived: the first that is not SACKed past the head."""
        rest = self.open - {self.una}
        if rest:
            self.sacked.add(min(rest))

    def mark_head_lost(self) -> None:
        self.lost.add(self.una)

    def discard(self, una: int) -> None:
        self.una = una
        self.sacked = {k for k in self.sacked if k >= una}
        if una in self.sacked:
            self.sacked.remove(una)
            self.add_reno_sack()
            self.mark_head_lost()

    def update(self) -> None:
        """UpdateLostCount: lost is what three segments above were SACKed."""
        self.lost |= {k for k in self.open if sum(j > k for j in self.sacked) >= 3}

    def next_lost(self) -> int | None:
        return min(self.open & self.lost - self.again, default=None)


@dataclass
class Socket:
    """TcpSocketBase with TcpDctcp and TcpPrrRecovery; sizes in octets, numbers in segments."""

    uses_sack: bool
    tx: TxBuffer = field(default_factory=TxBuffer)
    state: int = OPEN
    cwnd: float = 10.0 * MSS
    ssthresh: float = inf
    alpha: float = 1.0
    recover: int = 0
    recovering: bool = False
    duplicates: int = 0
    nxt: int = 0
    echoed: bool = False
    cwnd_count: int = 0
    prr: list[float] = field(default_factory=lambda: [0, 0, 1.0])
    """prr_delivered, what was sent again, RecoverFS."""
    expected: int | None = None
    window_end: int | None = None
    acked: int = 0
    marked: int = 0

    def new_data(self) -> None:
        self.tx.high += 1
        self.nxt = self.tx.high

    def retransmit(self, k: int) -> None:
        """What the wire shows: the segment that an ACK asked for, the next lost one, or a timer."""
        if k == self.expected:
            self.expected, self.nxt = None, k
        else:
            asked = k in self.tx.lost and k not in self.tx.again
            if self.state == LOSS:
                asked = k not in self.tx.again
            if not asked:
                self.timeout()
            self.nxt = k + 1
        self.prr[1] += MSS
        self.tx.again.add(k)

    def timeout(self) -> None:
        """ReTxTimeout."""
        if self.state != LOSS or self.tx.una not in self.tx.again:
            self.ssthresh = floor(self.cwnd * (1 - self.alpha / 2))
        self.cwnd, self.state, self.recover, self.recovering = MSS, LOSS, self.tx.high, True
        self.duplicates, self.expected = 0, None
        if not self.uses_sack:
            self.tx.sacked = set()
        self.tx.lost, self.tx.again = set(self.tx.open), set()

    def enter(self, state: int, delivered: int) -> None:
        """EnterCwr and EnterRecovery."""
        pipe = self.tx.in_flight()
        self.ssthresh = floor(self.cwnd * (1 - self.alpha / 2))
        self.recover, self.state = self.tx.high, state
        self.prr = [0, 0, max((self.tx.high - self.tx.una) * MSS, 1)]
        self.do_recovery(pipe, delivered)

    def do_recovery(self, pipe: int, delivered: int) -> None:
        self.prr[0] += delivered
        out = (self.tx.high - self.recover) * MSS + self.prr[1]
        if pipe > self.ssthresh:
            count = ceil(self.prr[0] * self.ssthresh / self.prr[2]) - out
        else:
            count = min(self.ssthresh - pipe, delivered)
        self.cwnd = pipe + max(count, 0 if out > 0 else MSS)

    def do_retransmit(self) -> None:
        lost = self.tx.next_lost()
        self.expected = self.nxt = self.tx.una if lost is None else lost

    def ack(self, ack: int, *, ece: bool, news: set[int], repeats: bool) -> int | None:
        """ReceivedAck; the segments that count, None for no ACK at all."""
        tx, before = self.tx, self.tx.una
        delivered = MSS * len((set(range(before, ack)) - tx.sacked) | (news - tx.sacked))
        if not self.uses_sack:
            delivered = MSS * (ack - before)
        tx.sacked |= news
        if news:
            tx.update()
        tx.discard(ack)
        pipe = tx.in_flight()
        if self.state == CWR and ack > self.recover:
            self.state, self.cwnd = OPEN, self.ssthresh
        if ack > before and ece:
            self.echoed = True
            if self.state != CWR:
                self.enter(CWR, delivered)
        elif not ece:
            self.echoed = False
        duplicate = bool(news) if self.uses_sack else repeats
        count = self.duplicates
        if duplicate:
            self.dup_ack(pipe, delivered)
        if ack == before:
            return 1 if ack != tx.high else None
        if not duplicate:
            self.duplicates = 0
        return self.process(ack - before, pipe, delivered, duplicate=duplicate, duplicates=count)

    def dup_ack(self, pipe: int, delivered: int) -> None:
        if self.state == LOSS:
            return
        if self.state != RECOVERY:
            self.duplicates += 1
        if self.state == OPEN:
            self.state = DISORDER
        if self.state == RECOVERY:
            if not self.uses_sack:
                self.tx.add_reno_sack()
            self.do_recovery(pipe, delivered)
        elif self.state == DISORDER:
            past = self.tx.una >= self.recover or not self.recovering
            if (self.duplicates == 3 and past) or self.is_lost(self.tx.una + 1):
                self.start_recovery(delivered)
            elif not self.uses_sack:
                self.tx.add_reno_sack()

    def is_lost(self, k: int) -> bool:
        """IsLost by number: something from here on is."""
        return any(j >= k for j in self.tx.lost)

    def start_recovery(self, delivered: int) -> None:
        if not self.uses_sack:
            self.tx.add_reno_sack()
        self.tx.mark_head_lost()
        if not self.uses_sack:
            self.tx.again -= {self.tx.una}
        self.recovering = True
        self.enter(RECOVERY, delivered)
        self.do_retransmit()

    def process(
        self, segments: int, pipe: int, delivered: int, *, duplicate: bool, duplicates: int
    ) -> int | None:
        ack = self.tx.una
        if self.state == RECOVERY and ack < self.recover:  # a partial ACK
            if not self.uses_sack:
                self.tx.mark_head_lost()
                self.tx.again -= {ack}
            self.do_recovery(pipe, delivered)
            if ack not in self.tx.again:
                self.do_retransmit()
            return 1
        if self.state == LOSS and ack < self.recover:
            self.increase(segments)
            return segments
        if self.state == CWR:
            self.do_recovery(pipe, delivered)
            return segments
        return self.leave(segments, duplicate=duplicate, duplicates=duplicates)

    def leave(self, segments: int, *, duplicate: bool, duplicates: int) -> int | None:
        """Order returns, or was never lost."""
        ack = self.tx.una
        counted: int | None = segments
        if self.state == DISORDER:
            counted = segments - duplicates if segments >= duplicates else None
            self.state = DISORDER if duplicate else OPEN
        elif self.state == RECOVERY:
            self.cwnd, self.state, self.duplicates = self.ssthresh, OPEN, 0
        elif self.state == LOSS:
            segments = counted = ack - self.recover
            self.state = OPEN
        if ack >= self.recover:
            self.recovering = False
        if self.state == OPEN:
            self.increase(segments)
        return counted

    def increase(self, segments: int) -> None:
        """TcpLinuxReno."""
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + segments * MSS, self.ssthresh)
            return
        w = max(int(self.cwnd) // MSS, 1)
        if self.cwnd_count >= w:
            self.cwnd_count = 0
            self.cwnd += MSS
        self.cwnd_count += segments
        self.cwnd += self.cwnd_count // w * MSS
        self.cwnd_count %= w

    def pkts_acked(self, segments: int | None) -> None:
        """TcpDctcp::PktsAcked, and what closes its window."""
        if segments is None:
            return
        opens = self.window_end is None
        closes = self.window_end is not None and self.tx.una >= self.window_end
        self.acked += segments
        self.marked += segments if self.echoed else 0
        if closes:
            m = self.marked / self.acked if self.acked > 0 else 0.0
            self.alpha = self.alpha * (1 - 1 / 16) + 1 / 16 * m
            self.acked = self.marked = 0
        if closes or opens:
            self.window_end = self.nxt
        self.nxt = max(self.nxt, self.tx.una)


class Kernels:
    """The recurrences, in one of their two forms."""

    def __init__(self, *, is_plain: bool) -> None:
        self.p = dctcp.record({"dialect": "ns3", "mss": MSS})
        self.s, self.b = dctcp.state()[0], scoreboard.board()[0]
        self.ack = plain(dctcp).lossy_ack if is_plain else dctcp.lossy_ack
        self.again = plain(recovery).sent_again if is_plain else SENT_AGAIN
        self.board = vars(plain(scoreboard)) if is_plain else BOARD
        dctcp.reset(self.s, self.p)
        dctcp.establish(self.s, self.p, 0, MSS)
        self.board["clear"](self.b, 0, 0)

    def hear(self, ack: int, high: int, *, ece: bool, block: Any, repeats: bool) -> None:
        sacked = units = 0
        if block:
            self.b.sack = 1
            low, end = block[0] * MSS, block[1] * MSS
            sacked = end - low - self.board["sacked_between"](self.b, low, end)
            units = self.board["segments_between"](self.b, low, end, MSS)
            self.board["sack"](self.b, low, end)
            if sacked:
                self.board["find_lost"](self.b, MSS)
        arguments = (ack * MSS, high * MSS, ece, sacked, units, repeats)
        self.ack(self.s, self.p, self.b, *arguments)


class Both:
    """The socket and its receiver beside the compiled and the plain form."""

    def __init__(self, *, uses_sack: bool) -> None:
        self.socket = Socket(uses_sack)
        self.forms = [Kernels(is_plain=is_plain) for is_plain in (False, True)]
        for form in self.forms:
            form.b.sack = uses_sack
        self.arrived: set[int] = set()

    def step(self, kind: str, which: int, *, ece: bool) -> None:
        tx = self.socket.tx
        waiting = sorted(set(range(tx.una, tx.high)) - self.arrived)
        if kind == "n" and tx.high - tx.una < MOST:
            self.socket.new_data()
            for form in self.forms:
                form.b.nxt = tx.high * MSS
        elif kind in "dh" and waiting:
            k = waiting[0 if kind == "h" else which % len(waiting)]
            self.arrived.add(k)
            self.acknowledge(k, ece=ece)
        elif kind == "r":
            k = self.socket.expected if self.socket.expected is not None else tx.next_lost()
            if k is not None and k >= tx.una:
                self.send_again(k)
        elif kind == "t" and tx.una < tx.high and self.socket.expected is None:
            self.send_again(tx.una)
        self.compare()

    def acknowledge(self, k: int, *, ece: bool) -> None:
        socket, tx = self.socket, self.socket.tx
        ack = tx.una
        while ack in self.arrived:
            ack += 1
        block = None
        if socket.uses_sack and k >= ack:
            low = high = k
            while low - 1 in self.arrived and low > ack:
                low -= 1
            while high in self.arrived:
                high += 1
            block = (low, high)
        news = (set(range(*block)) if block else set()) - tx.sacked
        repeats = ack == tx.una and tx.high > ack
        socket.pkts_acked(socket.ack(ack, ece=ece, news=news, repeats=repeats))
        for form in self.forms:
            form.hear(ack, tx.high, ece=ece, block=block, repeats=repeats)

    def send_again(self, k: int) -> None:
        self.socket.retransmit(k)
        high = self.socket.tx.high * MSS
        for form in self.forms:
            form.again(form.s, form.p, form.b, k * MSS, (k + 1) * MSS, high)

    def compare(self) -> None:
        socket = self.socket
        assert self.forms[0].s.tobytes() == self.forms[1].s.tobytes()
        assert self.forms[0].b.tobytes() == self.forms[1].b.tobytes()
        s, b = self.forms[0].s, self.forms[0].b
        assert (s.ca_state, s.dup_acks, s.snd_una) == (
            socket.state, socket.duplicates, socket.tx.una * MSS,
        )  # fmt: skip
        assert (s.acked, s.marked, b.nxt) == (socket.acked, socket.marked, socket.nxt * MSS)
        assert (s.alpha, s.ssthresh, s.cwnd) == (socket.alpha, socket.ssthresh, socket.cwnd)
        if socket.window_end is not None:
            assert s.WindowEnd == socket.window_end * MSS


STEPS = st.lists(
    st.tuples(st.sampled_from("nnnnnnhhhhddddrrt"), st.integers(0, 11), st.booleans()),
    max_size=50,
)
BEFORE = st.sampled_from(("", "nnnnnnnnnn", "nnnnnnnnnnndddr", "nnnnnnnnnnndddrndrndr"))


@settings(max_examples=150, deadline=None)
@given(st.booleans(), BEFORE, STEPS)
def test_a_socket_that_loses_is_the_literal_one_to_the_bit(
    uses_sack: bool, before: str, steps: list[Any]
) -> None:
    both = Both(uses_sack=uses_sack)
    for kind in before:
        both.step(kind, 2, ece=False)
    for kind, which, ece in steps:
        both.step(kind, which, ece=ece)
