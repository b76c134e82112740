"""HPCC++, sender side: draft-miao-ccwg-hpcc-03, section 4.2, lines 1-27 of its pseudo-code.

The names are the draft's. U is the normalised inflight of the path, u' that of one hop, tau the
time between two telemetry records of a hop, T the base round trip, B a link's rate, eta the target,
W the window, Wc the window that the last full update agreed. Units: times ns, rates bit/s, sizes
bytes, sequence numbers unwrapped to 64 bits; u' and U have no dimension.

`measure_inflight`, `compute_wind` and `new_ack` are the draft's three procedures, `hop_loads` is
the loop of the first. What the draft leaves open is a parameter, its default that of semantics.md
section 3. State and parameters are numpy records (`STATE`, `record()`), so that the stream, replay
and the senders of a simulated fabric run this one body; `.py_func` is its plain Python form.

Telemetry and L, what the record before said, are arrays that `hop_record` describes.
"""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, merged
from pipeline.cc import parameter
from pipeline.cc.hop_average import begin_averages, largest_average, own_average
from pipeline.cc.hop_record import (
    MAX_HOPS,
    MOST_PLACES,
    MOST_QLEN,
    QLEN,
    TS,
    TX,
    B,
    Ints,
    Links,
    keep,
)
from pipeline.cc.hpcc_table import EACH_HOP, HIGHEST, RESET, TABLE, record
from pipeline.cc.parameter import Record

__all__ = ["TABLE", "record"]


class Branch(IntEnum):
    """The line that decided at one ACK; a fast reaction is its full update plus `FAST`."""

    FIRST_ACK = 1
    FULL_UPDATE_MI = 2
    FULL_UPDATE_MI_STAGE = 3
    FULL_UPDATE_AI = 4
    FAST_REACT_MI = 5
    FAST_REACT_MI_STAGE = 6
    FAST_REACT_AI = 7
    NO_TELEMETRY = 8
    BAD_TELEMETRY = 9
    PATH_CHANGE = 10


FAST = Branch.FAST_REACT_MI - Branch.FULL_UPDATE_MI


class Fault(IntEnum):
    """What was wrong with the telemetry of one ACK, as bits; only the hop concerned is left out."""

    ZERO_B = 1
    ZERO_DT = 2
    COUNTER_BACKWARDS = 4
    MISSING_VALUE = 8
    ZERO_T = 16
    TOO_MANY_HOPS = 32
    ZERO_U = 64
    UNKNOWN_WINDOW = 128


STATE = parameter.state_dtype(
    ("f8", "U", "W", "Wc", "R", "Rc", "u_max", "tau_ns"),
    ("f8", "T_ns", "B_nic_bps", "W_init", "W_ai", "R_ai", "Tq_ns"),
    ("i8", "lastUpdateSeq"),
    ("u8", "path"),
    ("i4", "link", "faults"),
    ("i2", "incStage"),
    ("i1", "nhop", "room", "u_hop", "started", "branch"),
)
"""State of one sender. After `new_ack`: u_max and u_hop are the largest u' and its hop (-1: none),
faults bits of `Fault`, branch a `Branch`; W, Wc, R, Rc are NaN where the NIC's rate is unknown.
`path` stands for the identities of the hops; L has `room` hops from place `link` on."""


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank states, each with `MOST_PLACES` places of `links`; `reset` makes one ready."""
    made = np.zeros(count, STATE)
    made["link"] = np.arange(count) * MOST_PLACES
    made["room"] = MOST_PLACES
    return made


@borrowing
def reset(s: Record, p: Record) -> None:
    """Start a sender: W = W_init (section 4.2), U = U_init, nothing known of the path."""
    s.lastUpdateSeq = 0
    s.started = 0
    s.nhop = 0
    no_telemetry(s)
    set_path(s, p, p.T_ns, p.B_nic_bps, p.window_bytes)


@borrowing
def set_path(s: Record, p: Record, t_ns: int, b_nic_bps: int, window_bytes: int) -> None:
    """Give a sender its own T, B_nic and W_init (0: B_nic*T), and start W, Wc, R from them."""
    known = b_nic_bps > 0 and t_ns > 0
    s.T_ns = t_ns
    s.B_nic_bps = b_nic_bps
    s.W_init = np.nan
    if known:
        s.W_init = window_bytes if window_bytes > 0 else float(b_nic_bps) * t_ns / 8e9
    s.W_ai = p.W_ai if p.W_ai > 0 else s.W_init * (1 - p.eta) / p.N
    s.R_ai = p.R_ai_bps
    if known and p.R_ai_bps == 0:
        s.R_ai = np.floor(8 * s.W_ai / (t_ns * 1e-9))
    s.Tq_ns = s.W_init * 8 / b_nic_bps * 1e9 if known and p.qlen_by == 1 else s.T_ns
    begin_window(s, p)


@borrowing
def begin_window(s: Record, p: Record) -> None:
    """U = U_init, W = W_init and what follows from it."""
    s.U = p.U_init
    s.incStage = 0
    s.W = s.W_init
    s.Wc = s.W_init
    s.R = np.nan if np.isnan(s.W_init) else s.B_nic_bps
    s.Rc = s.R


@merged
def hop_loads(
    s: Record, p: Record, links: Links, nhop: int, told: Ints, at: int, ts_mask: int, tx_mask: int,
    u_out: NDArray[np.float64],
) -> bool:  # fmt: skip
    """Lines 2-7: u' of each hop into column `at` of `u_out` (NaN: unknown), the largest to u_max.

    L becomes this record (line 27). False when no hop could be measured. A tie goes to the lowest
    hop, as line 6 is strict, or where `ties` says. A mask is the largest value of a counter,
    `WIDEST` that of 64 bits.
    """
    timed, row = s.T_ns > 0, np.uint64(at)  # an index without a sign is a plain load
    by_queue, first = s.Tq_ns * 1e-9, np.uint64(s.link)
    each_hop = p.average == EACH_HOP and s.room >= 2 * nhop
    highest = p.ties == HIGHEST
    u_max, u_hop, u_tau, measured, faults = 0.0, -1, 0, False, 0
    for hop in range(nhop):
        i = np.uint64(hop)
        link = links[first + i]
        ts, tx, b, held = told[TS, i, row], told[TX, i, row], told[B, i, row], told[QLEN, i, row]
        was_ts, was_tx, qlen = link.ts_ns, link.tx_bytes, min(held, link.qlen_bytes)
        link.ts_ns, link.tx_bytes, link.qlen_bytes = ts, tx, min(held, MOST_QLEN)  # line 27
        tau, sent = (ts - was_ts) & ts_mask, (tx - was_tx) & tx_mask
        absent = (ts == -1) | (was_ts == -1) | (tx == -1) | (was_tx == -1) | (qlen < 0) | (b < 0)
        if absent | (b == 0) | (tau <= 0) | (sent < 0) | (not timed):
            u_out[i, row] = np.nan
            faults |= fault_of(absent, b, tau) if timed else Fault.ZERO_T.value
            continue
        tx_rate = sent * 8 / (tau * 1e-9)  # line 4
        u = 8 * qlen / (b * by_queue) + tx_rate / b  # line 5
        u_out[i, row] = u
        measured = True
        larger = (u > u_max) | (highest & (u == u_max))  # line 6
        u_hop = hop if larger else u_hop
        u_tau = tau if larger else u_tau  # line 7
        u_max = max(u_max, u)
        if each_hop:
            own_average(s, links, nhop + hop, u, tau)
    s.u_max, s.u_hop, s.tau_ns = u_max, u_hop, u_tau
    s.faults |= faults
    s.nhop = nhop
    return measured


@merged
def fault_of(absent: bool, b: int, tau: int) -> int:
    """Why a hop cannot be measured."""
    if absent:
        return Fault.MISSING_VALUE.value
    if b == 0:
        return Fault.ZERO_B.value
    return Fault.ZERO_DT.value if tau == 0 else Fault.COUNTER_BACKWARDS.value


@merged
def measure_inflight(s: Record, u: float, tau_ns: float) -> float:
    """Lines 8-10: U, the moving average of u over T. No tau (every u' is 0): U is left alone."""
    if tau_ns > 0:
        tau = min(tau_ns, s.T_ns)  # line 8
        s.U = (1 - tau / s.T_ns) * s.U + tau / s.T_ns * u  # line 9
    return float(s.U)  # line 10


@merged
def compute_wind(s: Record, p: Record, U: float, updateWc: bool) -> int:
    """Lines 11-20, over W or over R as `form` says, and R = W/T of line 27; returns a `Branch`.

    The rate form is that of deployed HPCC: whole bit/s, and W = W_init*R/B_nic in whole bytes.
    """
    by_rate = p.form == 1
    c, step = (s.Rc, s.R_ai) if by_rate else (s.Wc, s.W_ai)
    branch = Branch.FULL_UPDATE_AI.value
    if U >= p.eta:  # noqa: SIM300, line 12
        branch = Branch.FULL_UPDATE_MI.value
    elif s.incStage >= p.maxStage:
        branch = Branch.FULL_UPDATE_MI_STAGE.value
    adds = branch == Branch.FULL_UPDATE_AI.value
    stage = s.incStage + 1 if adds else 0  # lines 19, 15
    s.faults |= Fault.ZERO_U.value if U <= 0 else 0
    if adds or U <= 0:  # line 13 divides by U
        new = c + step  # line 17
    else:
        base = c / (U / p.eta)
        new = (np.floor(base) if by_rate else base) + step  # line 13
    if p.clamp == 1:  # NaN, unknown, stays NaN
        unit = 1.0 if by_rate else s.T_ns * 1e-9 / 8
        most = s.B_nic_bps if by_rate else s.W_init
        new = new if np.isnan(new) else min(max(new, p.R_min_bps * unit), most)
    s.W = np.floor(s.W_init * new / s.B_nic_bps) if by_rate else new
    s.R = new if by_rate else 8 * new / (s.T_ns * 1e-9)  # line 27
    if not updateWc:
        return branch + FAST
    s.incStage = stage
    s.Wc = s.W  # lines 15, 19
    s.Rc = s.R
    return branch


@merged
def respond(s: Record, p: Record, ack_seq: int, snd_nxt: int) -> None:
    """Lines 22-26 with U as it has just been measured."""
    s.faults |= Fault.UNKNOWN_WINDOW.value if np.isnan(s.W_init) else 0
    full = ack_seq > s.lastUpdateSeq  # line 22
    s.branch = compute_wind(s, p, s.U, full)  # lines 23, 26
    if full and snd_nxt > s.lastUpdateSeq:  # a SND.NXT gone back (go-back-N) is not taken
        s.lastUpdateSeq = snd_nxt  # line 24


@borrowing
def no_telemetry(s: Record) -> None:
    """An ACK without telemetry: U, L and lastUpdateSeq stay as they are."""
    s.faults = 0
    s.u_max = np.nan
    s.u_hop = -1
    s.branch = Branch.NO_TELEMETRY.value


@merged
def new_ack(
    s: Record, p: Record, links: Links, ack_seq: int, snd_nxt: int, nhop: int, told: Ints, at: int,
    ts_mask: int, tx_mask: int, u_out: NDArray[np.float64],
) -> int:  # fmt: skip
    """Lines 21-27: one ACK of a sender; returns the `Branch`, leaves the rest in `s`.

    `ack_seq` is the next byte expected (a RoCE PSN + 1), `snd_nxt` SND.NXT before what this ACK
    releases, `nhop` 0 when the ACK has no telemetry: then nothing changes. The first ACK only
    stores L and sets lastUpdateSeq; the first after a path change (`path_changed`) stores L, and
    begins anew where `path_change` says so.
    """
    no_telemetry(s)
    if nhop == 0:
        return int(s.branch)
    if nhop > MAX_HOPS:
        s.faults |= Fault.TOO_MANY_HOPS.value
        nhop = MAX_HOPS
    if s.started == 0 or nhop != s.nhop:
        s.branch = Branch.PATH_CHANGE.value
        if s.started == 0:
            s.started = 1
            s.lastUpdateSeq = snd_nxt if p.first_ack == 0 else 0
            s.branch = Branch.FIRST_ACK.value
        elif p.path_change == RESET:
            begin_window(s, p)
        keep(s, links, nhop, told, at)
        if p.average == EACH_HOP and s.room >= 2 * nhop:
            begin_averages(s, links, nhop)
        for i in range(nhop):
            u_out[i, at] = np.nan
    elif not hop_loads(s, p, links, nhop, told, at, ts_mask, tx_mask, u_out):
        s.branch = Branch.BAD_TELEMETRY.value
    else:
        if p.average == EACH_HOP and s.room >= 2 * nhop:
            s.U = largest_average(s, links, nhop)
        else:
            measure_inflight(s, s.u_max, s.tau_ns)
        respond(s, p, ack_seq, snd_nxt)
    return int(s.branch)
