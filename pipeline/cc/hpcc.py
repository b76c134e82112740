"""HPCC++, sender side: draft-miao-ccwg-hpcc-03, section 4.2, lines 1-27 of its pseudo-code.

The names are the draft's. U is the normalised inflight of the path, u' that of one hop, tau the time
between two telemetry records of a hop, T the base round trip, B a link's rate, eta the target, W the
window, Wc the window that was agreed with the last full update. Units: times ns, rates bit/s, sizes
bytes, sequence numbers unwrapped to 64 bits; u' and U have no dimension.

`measure_inflight`, `compute_wind` and `new_ack` are the draft's three procedures, `hop_loads` is the
loop of the first. What the draft leaves open is a parameter, whose default is semantics.md section 3.
The state is one numpy record (`STATE`), the parameters another (`record()`), so that the stream, replay
and the senders of a simulated fabric run this one body; `new_ack.py_func` is its plain Python form.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import kernel
from pipeline.cc import parameter
from pipeline.cc.parameter import Parameter, Record, Value

Hops = NDArray[np.int64]
"""One value a hop, hop 0 nearest the sender; -1 where a record does not carry the value."""

MAX_HOPS = 12


class Branch(IntEnum):
    """The line that decided at one ACK."""

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


class Flag(IntEnum):
    """What was wrong with the telemetry of one ACK; the hop concerned is left out, nothing else is."""

    ZERO_B = 1
    ZERO_DT = 2
    COUNTER_BACKWARDS = 4
    MISSING_VALUE = 8
    ZERO_T = 16
    TOO_MANY_HOPS = 32
    ZERO_U = 64
    UNKNOWN_WINDOW = 128


TABLE = (
    Parameter("eta", 0.95, "", 0.01, 1.0, "Target utilisation of the busiest link.", "4.2"),
    Parameter("maxStage", 5, "", 0, 1000, "Additive steps before a multiplicative one.", "4.2"),
    Parameter(
        "T_ns", 0, "ns", 0, 10**12, "Base round trip T; 0 is unknown: then U stays as it is.", "4.2"
    ),
    Parameter(
        "B_nic_bps",
        0,
        "bit/s",
        0,
        10**15,
        "Rate of the sender's NIC; 0 is unknown: so are W, Wc, R.",
        "4.2",
    ),
    Parameter(
        "N", 100, "flows", 1, 10**9, "Flows expected on a link: W_ai = W_init*(1-eta)/N.", "4.3"
    ),
    Parameter("W_ai", 0.0, "bytes", 0.0, 1e12, "Additive step; 0 derives it from N.", "4.3"),
    Parameter(
        "form",
        "window",
        "",
        0,
        1,
        "What is carried from ACK to ACK: W, or the rate R.",
        "4.2",
        ("window", "rate"),
    ),
    Parameter(
        "R_ai_bps",
        0,
        "bit/s",
        0,
        10**15,
        "Additive step of the rate form; 0 derives it from W_ai.",
        "open",
    ),
    Parameter(
        "clamp",
        "on",
        "",
        0,
        1,
        "Keep the result in [R_min, B_nic] at every ACK.",
        "open",
        ("off", "on"),
    ),
    Parameter("R_min_bps", 0, "bit/s", 0, 10**15, "Lower clamp, as a rate.", "open"),
    Parameter(
        "qlen_by",
        "T",
        "",
        0,
        1,
        "qlen is normalised by T, or by the window's duration.",
        "open",
        ("T", "window"),
    ),
    Parameter("window_bytes", 0, "bytes", 0, 10**12, "W_init; 0 is B_nic*T.", "4.2"),
    Parameter("U_init", 1.0, "", 0.0, 1000.0, "U before the first measurement.", "open"),
)

STATE = np.dtype(
    (
        np.record,
        np.dtype(
            [
                *[(name, "f8") for name in ("U", "W", "Wc", "R", "Rc", "u_max", "tau_ns")],
                *[
                    (name, "f8")
                    for name in ("T_ns", "B_nic_bps", "W_init", "W_ai", "R_ai", "Tq_ns")
                ],
                ("lastUpdateSeq", "i8"),
                ("L_ts", "i8", (MAX_HOPS,)),
                ("L_tx", "i8", (MAX_HOPS,)),
                ("L_qlen", "i8", (MAX_HOPS,)),
                ("L_node", "i8", (MAX_HOPS,)),
                ("L_port", "i8", (MAX_HOPS,)),
                *[(name, "i4") for name in ("incStage", "u_hop", "nhop", "flags")],
                *[(name, "i1") for name in ("started", "branch")],
            ],
            align=True,
        ),
    )
)
"""State of one sender. After `new_ack`: u_max and u_hop are the largest u' and its hop (-1: none),
flags a set of `Flag`, branch a `Branch`; W, Wc, R, Rc are NaN where the NIC's rate is unknown."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank states; `reset` makes one ready."""
    return np.zeros(count, STATE)


@kernel
def reset(s: Record, p: Record) -> None:
    """Start a sender: W_init = B_nic*T (section 4.2), U = U_init, nothing known of the path."""
    s.U = p.U_init
    s.incStage = 0
    s.lastUpdateSeq = 0
    s.started = 0
    s.nhop = 0
    s.u_max = np.nan
    s.u_hop = -1
    s.tau_ns = 0.0
    s.flags = 0
    s.branch = 0
    set_path(s, p, p.T_ns, p.B_nic_bps)


@kernel
def set_path(s: Record, p: Record, t_ns: int, b_nic_bps: int) -> None:
    """Give a sender its own T and B_nic (per path, from the topology) and start W, Wc, R from them."""
    s.T_ns = t_ns
    s.B_nic_bps = b_nic_bps
    known = b_nic_bps > 0 and t_ns > 0
    s.W_init = np.nan
    if known:
        s.W_init = float(p.window_bytes) if p.window_bytes > 0 else b_nic_bps * (t_ns * 1e-9) / 8
    s.W_ai = p.W_ai if p.W_ai > 0 else s.W_init * (1 - p.eta) / p.N
    s.R_ai = float(p.R_ai_bps)
    if p.R_ai_bps == 0 and known:
        s.R_ai = np.floor(8 * s.W_ai / (t_ns * 1e-9))
    s.Tq_ns = s.T_ns
    if p.qlen_by == 1 and known:
        s.Tq_ns = s.W_init * 8 / b_nic_bps * 1e9
    s.W = s.W_init
    s.Wc = s.W_init
    s.R = float(b_nic_bps) if known else np.nan
    s.Rc = s.R


@kernel
def delta(now: int, before: int, modulus: int) -> int:
    """How far a counter went; modulus 0 is a 64-bit counter, for which a step back is negative."""
    if modulus > 0:
        return (now - before) % modulus
    return now - before


@kernel
def store(s: Record, nhop: int, ts_ns: Hops, tx_bytes: Hops, qlen_bytes: Hops) -> None:
    """Line 27, second half: L = ack.L."""
    s.nhop = nhop
    for i in range(nhop):
        s.L_ts[i] = ts_ns[i]
        s.L_tx[i] = tx_bytes[i]
        s.L_qlen[i] = qlen_bytes[i]


@kernel
def hop_loads(
    s: Record,
    nhop: int,
    ts_ns: Hops,
    tx_bytes: Hops,
    qlen_bytes: Hops,
    b_bps: Hops,
    ts_modulus: int,
    tx_modulus: int,
    u_out: NDArray[np.float64],
) -> bool:
    """Lines 2-7: u' of each hop into `u_out` (NaN: unknown), the largest into u_max, u_hop, tau_ns.

    False when no hop could be measured. A tie goes to the lowest hop: line 6 is strict.
    """
    s.u_max = 0.0
    s.u_hop = -1
    s.tau_ns = 0.0
    if s.T_ns <= 0:
        s.flags |= Flag.ZERO_T.value
        return False
    measured = False
    for i in range(nhop):
        u_out[i] = np.nan
        tau = delta(ts_ns[i], s.L_ts[i], ts_modulus)
        sent = delta(tx_bytes[i], s.L_tx[i], tx_modulus)
        qlen = min(qlen_bytes[i], s.L_qlen[i])
        if (
            min(ts_ns[i], s.L_ts[i]) == -1
            or min(tx_bytes[i], s.L_tx[i]) == -1
            or qlen < 0
            or b_bps[i] < 0
        ):
            s.flags |= Flag.MISSING_VALUE.value
        elif b_bps[i] == 0:
            s.flags |= Flag.ZERO_B.value
        elif tau == 0:
            s.flags |= Flag.ZERO_DT.value
        elif tau < 0 or sent < 0:
            s.flags |= Flag.COUNTER_BACKWARDS.value
        else:
            tx_rate = sent * 8 / (tau * 1e-9)  # line 4
            u = 8 * qlen / (b_bps[i] * (s.Tq_ns * 1e-9)) + tx_rate / b_bps[i]  # line 5
            u_out[i] = u
            measured = True
            if u > s.u_max:  # line 6
                s.u_max = u  # line 7
                s.u_hop = i
                s.tau_ns = tau
    return measured


@kernel
def measure_inflight(s: Record, u: float, tau_ns: float) -> float:
    """Lines 8-10: U is the moving average of u over T. Without tau (every u' is 0) U is left alone."""
    if tau_ns > 0:
        tau = min(tau_ns, s.T_ns)  # line 8
        s.U = (1 - tau / s.T_ns) * s.U + tau / s.T_ns * u  # line 9
    return float(s.U)  # line 10


@kernel
def bounded(value: float, low: float, high: float) -> float:
    """The clamp that the draft leaves open; NaN (unknown) stays NaN."""
    if value < low:
        return low
    if value > high:
        return high
    return value


@kernel
def compute_wind(s: Record, p: Record, U: float, update_wc: bool) -> int:  # noqa: N803, the draft's name
    """Lines 11-20, over W or over R as `form` says. Sets W and R (line 27, first half); returns a Branch.

    The rate form is that of deployed HPCC: rates are whole bit/s, and W = W_init*R/B_nic in whole bytes.
    """
    by_rate = p.form == 1
    c = s.Rc if by_rate else s.Wc
    step = s.R_ai if by_rate else s.W_ai
    branch = Branch.FULL_UPDATE_AI.value
    if U >= p.eta:  # line 12
        branch = Branch.FULL_UPDATE_MI.value
    elif s.incStage >= p.maxStage:
        branch = Branch.FULL_UPDATE_MI_STAGE.value
    if branch != Branch.FULL_UPDATE_AI.value and U > 0:
        base = c / (U / p.eta)
        new = (np.floor(base) if by_rate else base) + step  # line 13
        stage = 0  # line 15
    else:
        new = c + step  # line 17
        stage = 0 if branch != Branch.FULL_UPDATE_AI.value else s.incStage + 1  # line 19
    if U <= 0:
        s.flags |= Flag.ZERO_U.value
    if p.clamp == 1:
        unit = 1.0 if by_rate else s.T_ns * 1e-9 / 8
        new = bounded(new, p.R_min_bps * unit, s.B_nic_bps * unit if by_rate else s.W_init)
    if by_rate:
        s.R = new
        s.W = np.floor(s.W_init * new / s.B_nic_bps)
    else:
        s.W = new
        s.R = 8 * new / (s.T_ns * 1e-9)  # line 27
    if update_wc:  # lines 14, 18
        s.incStage = stage
        s.Wc = s.W
        s.Rc = s.R
        return branch
    return branch + 3


@kernel
def no_telemetry(s: Record) -> None:
    """An ACK without telemetry: U, L and lastUpdateSeq stay as they are."""
    s.flags = 0
    s.u_max = np.nan
    s.u_hop = -1
    s.branch = Branch.NO_TELEMETRY.value


@kernel
def new_ack(
    s: Record,
    p: Record,
    ack_seq: int,
    snd_nxt: int,
    nhop: int,
    ts_ns: Hops,
    tx_bytes: Hops,
    qlen_bytes: Hops,
    b_bps: Hops,
    ts_modulus: int,
    tx_modulus: int,
    u_out: NDArray[np.float64],
) -> int:
    """Lines 21-27: one ACK of a sender; returns the `Branch`, leaves the rest in `s`.

    `ack_seq` is the next byte expected (a RoCE PSN + 1), `snd_nxt` SND.NXT before what this ACK
    releases, `nhop` 0 when the ACK carries no telemetry: then nothing changes. The first ACK only
    stores L and sets lastUpdateSeq, and so does the first after a path change (`path_changed`).
    """
    no_telemetry(s)
    branch = int(s.branch)
    if nhop > MAX_HOPS:
        s.flags |= Flag.TOO_MANY_HOPS.value
        nhop = MAX_HOPS
    if nhop > 0:
        branch = decide(
            s,
            p,
            ack_seq,
            snd_nxt,
            nhop,
            ts_ns,
            tx_bytes,
            qlen_bytes,
            b_bps,
            ts_modulus,
            tx_modulus,
            u_out,
        )
        store(s, nhop, ts_ns, tx_bytes, qlen_bytes)
    s.branch = branch
    return branch


@kernel
def decide(
    s: Record,
    p: Record,
    ack_seq: int,
    snd_nxt: int,
    nhop: int,
    ts_ns: Hops,
    tx_bytes: Hops,
    qlen_bytes: Hops,
    b_bps: Hops,
    ts_modulus: int,
    tx_modulus: int,
    u_out: NDArray[np.float64],
) -> int:
    """Lines 22-26 for an ACK with telemetry; what cannot be measured changes nothing."""
    for i in range(nhop):
        u_out[i] = np.nan
    if s.started == 0:
        s.started = 1
        s.lastUpdateSeq = snd_nxt
        return Branch.FIRST_ACK.value
    if nhop != s.nhop:
        return Branch.PATH_CHANGE.value
    if not hop_loads(s, nhop, ts_ns, tx_bytes, qlen_bytes, b_bps, ts_modulus, tx_modulus, u_out):
        return Branch.BAD_TELEMETRY.value
    if np.isnan(s.W_init):
        s.flags |= Flag.UNKNOWN_WINDOW.value
    full = ack_seq > s.lastUpdateSeq  # line 22
    branch = compute_wind(s, p, measure_inflight(s, s.u_max, s.tau_ns), full)  # lines 23, 26
    if full and snd_nxt > s.lastUpdateSeq:  # a SND.NXT that went back (go-back-N) is not taken
        s.lastUpdateSeq = snd_nxt  # line 24
    return branch


@kernel
def path_changed(s: Record, nhop: int, node: Hops, port: Hops) -> bool:
    """Compare the hops of this ACK with those of L and keep them; call before `new_ack`.

    When they differ L is of other counters: it is dropped, so that the next `new_ack` only stores.
    """
    count = min(nhop, MAX_HOPS)
    changed = s.nhop != count
    for i in range(count):
        changed = changed or s.L_node[i] != node[i] or s.L_port[i] != port[i]
        s.L_node[i] = node[i]
        s.L_port[i] = port[i]
    known = s.nhop > 0
    if changed:
        s.nhop = 0
    return bool(changed and known)
