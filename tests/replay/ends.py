"""Two ends of one flow that keep to DCTCP or break it in a way that is asked for, packet by packet.

A sender, a queue that marks four segments in five above a threshold, a receiver that acknowledges
each segment, and a tap at either end: what both taps see are observations. It is small and plain on
purpose: it shares no code with what it tests.
"""

import heapq
from dataclasses import dataclass, field
from typing import Any

SEGMENT = 1000
SERVICE_NS, WAY_NS = 8_000, 40_000
THRESHOLD, WINDOW, MOST = 10, 10.0, 60
FIN, SYN, ACK, ECE, CWR = 1, 2, 16, 64, 128
SENDER, RECEIVER = ("10.1.0.1", 1000), ("10.2.0.1", 2000)


@dataclass
class Ends:
    """A flow of so many segments, by how its `sender` and its `receiver` behave.

    sender: conforms, letter (reduces where its window ends), ignores, silent (cuts without CWR),
    twice, late, flag (CWR without a cut). receiver: conforms, never, always, classic. Of the data
    each `lose_data`-th segment is lost the first time; it is mended as RFC 6582 has it.
    """

    sender: str = "conforms"
    receiver: str = "conforms"
    segments: int = 1600
    lose_acks: int = 0
    lose_data: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    events: list[tuple[int, int, str, Any]] = field(default_factory=list)
    cwnd: float = WINDOW
    ssthresh: float = float("inf")
    alpha: float = 1.0
    una: int = 1
    nxt: int = 1
    window_end: int = 1
    acked: int = 0
    marked: int = 0
    cut_end: int = 0
    cut_ns: int = -(10**9)
    echoes: list[int] = field(default_factory=list)
    flag: bool = False
    rcv_nxt: int = 1
    latched: bool = False
    free_ns: int = 0
    identification: int = 0
    lost: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    duplicates: int = 0
    recover: int = 0

    def run(self) -> list[dict[str, Any]]:
        """Both taps' rows."""
        self.handshake()
        self.fill(300_000)
        while self.events:
            now, _, kind, told = heapq.heappop(self.events)
            getattr(self, kind)(now, *told)
        return sorted(self.rows, key=lambda row: (row["time_ns"], row["payload_bytes"] > 0))

    def at(self, now: int, kind: str, *told: Any) -> None:
        """Let something happen."""
        heapq.heappush(self.events, (now, len(self.rows) * 4 + len(self.events), kind, told))

    def see(self, now: int, where: str, back: bool, **told: Any) -> None:
        """A tap sees a packet."""
        ends = (RECEIVER, SENDER) if back else (SENDER, RECEIVER)
        (src, sport), (dst, dport) = ends
        self.rows.append(
            {"time_ns": now, "point": where, "src": src, "sport": sport, "dst": dst, "dport": dport}
            | {"payload_bytes": 0, "seq": 1, "ecn": 0} | told
        )  # fmt: skip

    def handshake(self) -> None:
        """SYN, SYN-ACK, ACK; ECN is agreed on."""
        segments = ((False, SYN | ECE | CWR, 0, 0), (True, SYN | ACK | ECE, 0, 1),
                    (False, ACK, 1, 1))  # fmt: skip
        at = 0
        for back, flags, seq, ack in segments:
            for where in ("receiver", "sender") if back else ("sender", "receiver"):
                mss = SEGMENT if flags & SYN else None
                self.see(at, where, back, flags=flags, seq=seq, ack=ack, mss=mss, ip_id=0)
                at += WAY_NS if where == ("receiver" if back else "sender") else 1_000

    def fill(self, now: int) -> None:
        """Send what the window lets go."""
        last = 1 + self.segments * SEGMENT
        arrived = self.duplicates * SEGMENT
        while (
            self.nxt < last
            and self.nxt - self.una - arrived + SEGMENT <= max(self.cwnd, 1) * SEGMENT
        ):
            flags = ACK | (CWR if self.flag else 0)
            self.flag = False
            self.send(now, self.nxt, flags, self.nxt // SEGMENT)
            self.nxt += SEGMENT

    def send(self, now: int, seq: int, flags: int, identification: int) -> None:
        """Put a segment into the queue, unless it is one of those that are lost."""
        self.see(now, "sender", False, seq=seq, ack=1, flags=flags, ecn=2,
                 payload_bytes=SEGMENT, ip_id=identification & 0xFFFF)  # fmt: skip
        number = seq // SEGMENT
        if self.lose_data and number % self.lose_data == 0 and number not in self.lost:
            self.lost.add(number)
            return
        begins = max(self.free_ns, now + WAY_NS // 2)
        marks = begins - now - WAY_NS // 2 > THRESHOLD * SERVICE_NS
        marks = marks and number % 5 != 0
        self.free_ns = begins + SERVICE_NS
        self.at(self.free_ns + WAY_NS // 2, "arrive", seq, flags, marks)

    def arrive(self, now: int, seq: int, flags: int, marks: bool) -> None:
        """Data reaches the receiver."""
        self.see(now, "receiver", False, seq=seq, ack=1, flags=flags, ecn=3 if marks else 2,
                 payload_bytes=SEGMENT, ip_id=seq // SEGMENT & 0xFFFF)  # fmt: skip
        self.kept.add(seq)
        while self.rcv_nxt in self.kept:
            self.rcv_nxt += SEGMENT
        self.latched = marks or (self.latched and not flags & CWR)
        echo = {"conforms": marks, "never": False, "always": True, "classic": self.latched}
        self.identification += 1
        told = ACK | (ECE if echo[self.receiver] else 0)
        self.see(now + 1_000, "receiver", True, ack=self.rcv_nxt, flags=told,
                 ip_id=self.identification & 0xFFFF)  # fmt: skip
        if not self.lose_acks or self.identification % self.lose_acks:
            arguments = (self.rcv_nxt, told, self.identification & 0xFFFF)
            self.at(now + 1_000 + WAY_NS, "hear", *arguments)

    def hear(self, now: int, ack: int, flags: int, identification: int) -> None:
        """An ACK reaches the sender."""
        self.see(now, "sender", True, ack=ack, flags=flags, ip_id=identification)
        newly, self.una = ack - self.una, ack
        echo = bool(flags & ECE)
        self.acked += newly
        self.marked += newly if echo else 0
        self.mend(now, newly)
        closes = ack >= self.window_end and self.acked > 0
        if closes:
            self.alpha += (self.marked / self.acked - self.alpha) / 16
            due = self.marked > 0
            self.acked = self.marked = 0
            self.window_end = self.nxt
            if self.sender == "letter" and due:
                self.cut()
        if echo:
            self.react(now)
        while self.echoes and self.echoes[0] <= now:
            self.echoes.pop(0)
            self.cut()
        if not echo or self.sender == "ignores":
            grows = newly / SEGMENT if self.cwnd < self.ssthresh else newly / SEGMENT / self.cwnd
            self.cwnd = min(self.cwnd + grows, MOST)
        self.fill(now)

    def mend(self, now: int, newly: int) -> None:
        """Three duplicate ACKs say that a segment was lost; a partial ACK, that another was."""
        self.duplicates = 0 if newly else self.duplicates + 1
        first = self.duplicates == 3 and self.una >= self.recover
        if first:
            self.recover = self.cut_end = self.nxt
            self.cwnd = self.ssthresh = max(self.cwnd / 2, 2)
        if first or (newly and self.una < self.recover):
            self.send(now, self.una, ACK, self.una // SEGMENT + 0x8000)

    def react(self, now: int) -> None:
        """ECE reaches the sender."""
        outside = self.una > self.cut_end
        if self.sender == "twice" and now - self.cut_ns > WAY_NS:
            self.cut_ns = now
            self.cut()
        elif self.sender in ("conforms", "silent", "flag") and outside:
            self.cut()
        elif self.sender == "late" and outside and not self.echoes:
            self.echoes.append(now + 2 * WAY_NS + (self.nxt - self.una) // SEGMENT * SERVICE_NS)

    def cut(self) -> None:
        """One reduction, as far as this sender makes it."""
        self.cut_end = self.nxt
        if self.sender != "flag":
            self.cwnd = max(self.cwnd * (1 - self.alpha / 2), 2)
            self.ssthresh = self.cwnd
        self.flag = self.sender != "silent"
