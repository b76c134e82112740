"""HPCC++ in plain Python, for bench_cc.py to compare with: lines 1-27 as they are written."""

import math
from dataclasses import dataclass

from pipeline import hpcc


@dataclass
class Link:
    """What a record says of one hop, in the draft's names."""

    ts: int
    txBytes: int
    qlen: int
    B: int
    node: int
    port: int


class PlainSender:
    """Lines 1-27 as they are written, procedure by procedure, in plain Python.

    It does the same work: it looks for the same faults and tells u' of every hop.
    """

    def __init__(self, T: int, B_nic: int, eta: float, maxStage: int) -> None:
        """Start with the whole window; T in ns, B_nic in bit/s."""
        self.U, self.T, self.eta, self.maxStage = 1.0, T, eta, maxStage
        self.incStage, self.lastUpdateSeq = 0, 0
        self.L: list[Link] = []
        self.u: list[float] = []
        self.faults = 0
        self.path: list[tuple[int, int]] = []
        self.W = self.Wc = self.W_init = B_nic * T / 8e9
        self.W_ai = self.W_init * (1 - eta) / 100

    def measure_inflight(self, L: list[Link]) -> float:
        """Lines 1-10."""
        u, tau, self.u, self.faults = 0.0, 0, [], 0
        for i in range(len(L)):
            self.u.append(self.hop_load(L[i], self.L[i]))
            if self.u[i] > u:
                u = self.u[i]
                tau = L[i].ts - self.L[i].ts
        tau = min(tau, self.T)
        self.U = (1 - tau / self.T) * self.U + tau / self.T * u
        return self.U

    def hop_load(self, link: Link, before: Link) -> float:
        """Lines 4-5."""
        tau, sent = link.ts - before.ts, link.txBytes - before.txBytes
        if -1 in (link.ts, before.ts, link.txBytes, before.txBytes, link.qlen, link.B):
            self.faults |= hpcc.Fault.MISSING_VALUE
        elif link.B == 0:
            self.faults |= hpcc.Fault.ZERO_B
        elif tau == 0:
            self.faults |= hpcc.Fault.ZERO_DT
        elif tau < 0 or sent < 0:
            self.faults |= hpcc.Fault.COUNTER_BACKWARDS
        else:
            txRate = sent * 8 / (tau * 1e-9)
            qlen = min(link.qlen, before.qlen)
            return 8 * qlen / (link.B * (self.T * 1e-9)) + txRate / link.B
        return math.nan

    def compute_wind(self, U: float, *, updateWc: bool) -> float:
        """Lines 11-20."""
        if U >= self.eta or self.incStage >= self.maxStage:  # noqa: SIM300 - as line 12 has it
            W = min(self.Wc / (U / self.eta) + self.W_ai, self.W_init)
            if updateWc:
                self.incStage = 0
                self.Wc = W
        else:
            W = min(self.Wc + self.W_ai, self.W_init)
            if updateWc:
                self.incStage += 1
                self.Wc = W
        return W

    def new_ack(self, seq: int, snd_nxt: int, L: list[Link]) -> None:
        """Lines 21-27, after a look at whether the path is the one of before."""
        path = [(link.node, link.port) for link in L]
        if path != self.path:
            self.path = path
            self.lastUpdateSeq = snd_nxt
        elif seq > self.lastUpdateSeq:
            self.W = self.compute_wind(self.measure_inflight(L), updateWc=True)
            self.lastUpdateSeq = snd_nxt
        else:
            self.W = self.compute_wind(self.measure_inflight(L), updateWc=False)
        self.L = L
