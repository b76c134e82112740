"""Poseidon, the sender: NSDI 2023, Algorithm 1 with its equations 3 and 4.

The names are the paper's. A packet brings MPD, the largest delay at one hop of its path; the sender
compares it with MPT, its target for that delay, which is the lower the faster it sends, so that
flows of one bottleneck agree on a rate. Units: times and delays ns, rates bit/s, cwnd packets.

    T(rate) = p*(ln max_rate - ln rate)/(ln max_rate - ln min_rate) + k                        (3)
    U(rate, MPD) = exp((T(rate) - MPD)/p * alpha * m)                                          (4)

alpha is the ln max_rate - ln min_rate of (3): with m = 1 a rate times U is the one whose target MPD
is. At or below target an ACK adds (U-1)*num_acked to cwnd, above it cwnd is multiplied by U, once a
round trip. The text of the paper was not at hand: this is what two public implementations by
different authors agree on. Where they differ there is a parameter (section "open"): for alpha, for
which rate is meant, for the bounds of U and for what a loss does.
"""

from collections.abc import Mapping
from enum import IntEnum
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import parameter
from pipeline.cc.parameter import Parameter, Record, Value


class Branch(IntEnum):
    """What one event did to cwnd."""

    INCREASE = 1
    DECREASE = 2
    DECREASE_CAPPED = 3
    HOLD = 4
    NOTHING = 5
    TIMEOUT = 6
    TIMEOUT_HOLD = 7
    TIMEOUT_RESET = 8
    FAST_RECOVERY = 9
    FAST_RECOVERY_HOLD = 10


class Fault(IntEnum):
    """What was wrong with one event, as bits."""

    NO_RTT = 1
    MPD_UNKNOWN = 2
    RATES_UNORDERED = 4
    TIME_BACKWARDS = 8
    OUT_OF_RANGE = 16
    NO_BASE_RTT = 32


NEVER = -1
BY_BASE_RTT, BY_RANGE, BY_MIN_MD = 1, 0, 0
MOST_EXPONENT = 600.0
"""exp of no more than this is finite, and so is what it is multiplied by."""

MOST_NS, MOST_BPS, MOST_PACKETS = 10**12, 10**15, 1e9
TABLE = (
    Parameter("p_ns", 40_000, "ns", 1, MOST_NS, "Span of targets, of min_rate over max_rate's.",
              "eq. 3"),
    Parameter("k_ns", 2_000, "ns", 0, MOST_NS, "Target at max_rate.", "eq. 3"),
    Parameter("m", 0.25, "", 1e-6, 1.0, "Step: 1 goes to the rate of the target at once.", "eq. 4"),
    Parameter("min_rate_bps", 100_000_000, "bit/s", 1, MOST_BPS, "Rate of target p + k.", "eq. 3"),
    Parameter("max_rate_bps", 100_000_000_000, "bit/s", 1, MOST_BPS, "Rate of target k.", "eq. 3"),
    Parameter("min_md", 0.4, "", 1e-3, 1.0, "Least that U is where it decreases.", "open"),
    Parameter("max_mi", 2.5, "", 0.0, 1e6, "Most that U is where it increases; 0 is no bound.",
              "open"),
    Parameter("alpha", "range", "", 0, 1,
              "ln max_rate - ln min_rate, or ln max_rate - ln rate.", "open", ("range", "rate")),
    Parameter("rate_by", "rtt", "", 0, 1, "rate is cwnd by the last RTT, or by T.", "open",
              ("rtt", "base_rtt")),
    Parameter("T_ns", 0, "ns", 0, MOST_NS, "Base round trip; 0 is unknown.", "open"),
    Parameter("on_loss", "min_md", "", 0, 1, "A loss keeps min_md of cwnd, or 1 - min_md.", "open",
              ("min_md", "one_less_min_md")),
    Parameter("RETX_RESET_THRESHOLD", 5, "timeouts", 1, 1000,
              "So many timeouts in a row make the window min_cwnd.", "open"),
    Parameter("min_cwnd", 0.001, "packets", 1e-6, MOST_PACKETS, "Smallest window.", "open"),
    Parameter("max_cwnd", 1000.0, "packets", 1e-6, MOST_PACKETS, "Largest window.", "open"),
    Parameter("initial_cwnd", 10.0, "packets", 1e-6, MOST_PACKETS, "Window at the start.", "open"),
    Parameter("packet_bytes", 1500, "bytes", 1, 10**6, "A packet, where a rate is counted in them.",
              "open"),
)  # fmt: skip

STATE = parameter.state_dtype(
    ("f8", "cwnd", "rate_bps", "MPT", "U", "pacing_delay_ns"),
    ("i8", "t_last_decrease", "now_ns", "rtt_ns"),
    ("i4", "retransmit_cnt", "faults"),
    ("i1", "branch"),
)
"""One sender. rate_bps, MPT and U are those that decided at the last ACK (NaN: none), U within its
bounds; t_last_decrease is NEVER before the first, `faults` bits of `Fault`."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank states; `reset` makes one ready."""
    return np.zeros(count, STATE)


@borrowing
def reset(s: Record, p: Record) -> None:
    """Start a sender at its first window."""
    s.cwnd = min(max(p.initial_cwnd, p.min_cwnd), max(p.max_cwnd, p.min_cwnd))
    s.pacing_delay_ns = 0.0
    s.t_last_decrease = NEVER
    s.now_ns = 0
    s.rtt_ns = 0
    s.retransmit_cnt = 0
    s.branch = 0
    begin(s, 0)


@borrowing
def begin(s: Record, now_ns: int) -> None:
    """An event begins: its time, and nothing decided yet."""
    s.faults = Fault.TIME_BACKWARDS.value if now_ns < s.now_ns else 0
    s.now_ns = max(s.now_ns, now_ns)
    s.rate_bps = np.nan
    s.MPT = np.nan
    s.U = np.nan


@borrowing
def may_decrease(s: Record, rtt_ns: int) -> bool:
    """can_decrease: a round trip has passed since the last decrease."""
    return bool(s.t_last_decrease == NEVER or s.now_ns - s.t_last_decrease >= rtt_ns)


@borrowing
def measure_rate(s: Record, p: Record, rtt_ns: int) -> float:
    """The rate in equations 3 and 4, kept between min_rate and max_rate, where T is defined."""
    over_ns = rtt_ns
    if p.rate_by == BY_BASE_RTT:
        s.faults |= Fault.NO_BASE_RTT.value if p.T_ns == 0 else 0
        over_ns = p.T_ns if p.T_ns > 0 else rtt_ns
    rate = s.cwnd * p.packet_bytes * 8 / (over_ns * 1e-9)
    return float(min(max(rate, float(p.min_rate_bps)), float(p.max_rate_bps)))


@borrowing
def update_ratio(s: Record, p: Record, mpd_ns: float) -> float:
    """Equations 3 and 4 at `rate_bps`: MPT and U, U without bounds but finite."""
    most, least, rate = log(float(p.max_rate_bps)), log(float(p.min_rate_bps)), log(s.rate_bps)
    s.MPT = p.p_ns * (most - rate) / (most - least) + p.k_ns  # (3)
    alpha = most - least if p.alpha == BY_RANGE else most - rate
    exponent = (s.MPT - mpd_ns) / p.p_ns * alpha * p.m
    return exp(min(max(exponent, -MOST_EXPONENT), MOST_EXPONENT))  # (4)


@borrowing
def settle(s: Record, p: Record, cwnd: float, branch: int) -> int:
    """Clamp cwnd, remember a decrease, pace below one packet a round trip."""
    cwnd_prev = s.cwnd
    s.cwnd = min(max(cwnd, p.min_cwnd), max(p.max_cwnd, p.min_cwnd))
    if s.cwnd < cwnd_prev:
        s.t_last_decrease = s.now_ns
    s.pacing_delay_ns = s.rtt_ns / s.cwnd if s.cwnd < 1 else 0.0
    s.branch = branch
    return branch


@borrowing
def usable(s: Record, p: Record, rtt_ns: int, mpd_ns: float, num_acked: int) -> bool:
    """Whether an ACK says what the equations need; else the fault is noted."""
    if log(float(p.min_rate_bps)) >= log(float(p.max_rate_bps)):
        s.faults |= Fault.RATES_UNORDERED.value
    if rtt_ns <= 0:
        s.faults |= Fault.NO_RTT.value
    elif rtt_ns > MOST_NS or num_acked < 0 or num_acked > MOST_PACKETS:
        s.faults |= Fault.OUT_OF_RANGE.value
    if np.isnan(mpd_ns) or mpd_ns == -1:
        s.faults |= Fault.MPD_UNKNOWN.value
    elif not 0 <= mpd_ns <= MOST_NS:
        s.faults |= Fault.OUT_OF_RANGE.value
    return bool(s.faults & ~Fault.TIME_BACKWARDS.value == 0)


@borrowing
def new_ack(
    s: Record, p: Record, now_ns: int, rtt_ns: int, num_acked: int, mpd_ns: float
) -> int:  # fmt: skip
    """On receiving an ACK (Algorithm 1); returns the `Branch`, leaves the rest in `s`.

    `mpd_ns` is the largest delay at a hop, NaN where the ACK brings none: then nothing changes.
    """
    begin(s, now_ns)
    s.retransmit_cnt = 0
    if not usable(s, p, rtt_ns, mpd_ns, num_acked):
        s.branch = Branch.NOTHING.value
        return int(s.branch)
    can_decrease = may_decrease(s, rtt_ns)
    s.rtt_ns = rtt_ns
    s.rate_bps = measure_rate(s, p, rtt_ns)
    ratio = update_ratio(s, p, mpd_ns)
    if mpd_ns <= s.MPT:
        s.U = min(ratio, p.max_mi) if p.max_mi >= 1 else ratio
        cwnd = s.cwnd * (1 + (s.U - 1) * num_acked / s.cwnd)
        return int(settle(s, p, cwnd, Branch.INCREASE.value))
    s.U = max(ratio, p.min_md)
    if not can_decrease:
        return int(settle(s, p, s.cwnd, Branch.HOLD.value))
    capped = ratio < p.min_md
    branch = Branch.DECREASE_CAPPED.value if capped else Branch.DECREASE.value
    return int(settle(s, p, s.cwnd * s.U, branch))


@borrowing
def lost(s: Record, p: Record, now_ns: int, timeout: bool) -> int:
    """A retransmission timeout (`timeout`), or fast recovery; returns the `Branch`."""
    begin(s, now_ns)
    s.retransmit_cnt = min(s.retransmit_cnt + 1, 10**6) if timeout else 0
    if s.retransmit_cnt >= p.RETX_RESET_THRESHOLD:
        return int(settle(s, p, p.min_cwnd, Branch.TIMEOUT_RESET.value))
    if not may_decrease(s, s.rtt_ns):
        hold = Branch.TIMEOUT_HOLD.value if timeout else Branch.FAST_RECOVERY_HOLD.value
        return int(settle(s, p, s.cwnd, hold))
    kept = p.min_md if p.on_loss == BY_MIN_MD else 1 - p.min_md
    cut = Branch.TIMEOUT.value if timeout else Branch.FAST_RECOVERY.value
    return int(settle(s, p, kept * s.cwnd, cut))
