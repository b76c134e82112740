"""Swift, the sender: SIGCOMM 2020, Algorithm 1 and the target delay of section 3.1, with CSIG.

The names are the paper's. cwnd is in packets and may be below 1, when packets leave pacing_delay
apart; a delay below its target adds ai a round trip, one above it multiplies by at least 1-max_mdf,
once a round trip. Fabric delay steers fcwnd, endpoint delay ecwnd (section 3.2); cwnd is the
smaller. Units: times and delays ns, available bandwidth bit/s; -1 and NaN stand for unknown.

draft-ravi-ippm-csig-00, section 8.1, names three uses of its signals and has no equations for them;
the mapping here is hopsight's. 8.1.1: the delay is CSIG's PD in the place of RTT less endpoint
delay (`delay_source`); PD is of one hop, so one hop scales its target unless `pd_target` says
otherwise. 8.1.2: below target, cwnd grows in proportion to ABW, the bandwidth that is left
(`ramp`): by ramp_gain*ABW*rtt a round trip. 8.1.3: each delay gives a window of its own, and the
smaller holds (`delay_source` least).
"""

from collections.abc import Mapping
from enum import IntEnum
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.cc import parameter
from pipeline.cc.parameter import Parameter, Record, Value


class Branch(IntEnum):
    """What one event did to fcwnd."""

    INCREASE = 1
    INCREASE_BELOW_ONE = 2
    RAMP = 3
    DECREASE = 4
    DECREASE_CAPPED = 5
    HOLD = 6
    NOTHING = 7
    TIMEOUT = 8
    TIMEOUT_HOLD = 9
    TIMEOUT_RESET = 10
    FAST_RECOVERY = 11
    FAST_RECOVERY_HOLD = 12


class Fault(IntEnum):
    """What was wrong with one event, as bits."""

    NO_RTT = 1
    ENDPOINT_UNKNOWN = 2
    PD_UNKNOWN = 4
    ABW_UNKNOWN = 8
    TIME_BACKWARDS = 16
    OUT_OF_RANGE = 32
    HOPS_UNKNOWN = 64
    FLOW_SCALING_EMPTY = 128


RTT, CSIG_PD, LEAST = 0, 1, 2
OFF, ABW, ABW_OR_AI = 0, 1, 2
NEVER = -1
MOST_NS, MOST_BPS, MOST_PACKETS = 10**12, 1e15, 1e9
TABLE = (
    Parameter("base_target_ns", 20_000, "ns", 0, MOST_NS, "Target delay before scaling.", "3.1"),
    Parameter("hop_scaling_ns", 3_000, "ns", 0, MOST_NS, "Added to the target a hop.", "3.1"),
    Parameter("fs_range_ns", 100_000, "ns", 0, MOST_NS, "Most that flow scaling adds.", "3.1"),
    Parameter("fs_min_cwnd", 0.1, "packets", 1e-6, MOST_PACKETS,
              "At this window and below, flow scaling adds all of fs_range.", "3.1"),
    Parameter("fs_max_cwnd", 100.0, "packets", 1e-6, MOST_PACKETS,
              "At this window and above, flow scaling adds nothing.", "3.1"),
    Parameter("ai", 1.0, "packets", 0.0, MOST_PACKETS, "Additive increment.", "Algorithm 1"),
    Parameter("beta", 0.8, "", 0.0, 1000.0, "Multiplicative decrease.", "Algorithm 1"),
    Parameter("max_mdf", 0.5, "", 0.0, 0.999, "Most that one decrease takes.", "Algorithm 1"),
    Parameter("min_cwnd", 0.001, "packets", 1e-6, MOST_PACKETS, "Smallest window.", "Algorithm 1"),
    Parameter("max_cwnd", 1000.0, "packets", 1e-6, MOST_PACKETS, "Largest window.", "Algorithm 1"),
    Parameter("initial_cwnd", 10.0, "packets", 1e-6, MOST_PACKETS, "Window at the start.", "open"),
    Parameter("RETX_RESET_THRESHOLD", 5, "timeouts", 1, 1000,
              "So many timeouts in a row make the window min_cwnd.", "Algorithm 1"),
    Parameter("endpoint_target_ns", 0, "ns", 0, MOST_NS,
              "Target of the endpoint delay; 0 leaves ecwnd out.", "3.2"),
    Parameter("marks_decrease", "smaller", "", 0, 1,
              "t_last_decrease is set when cwnd is smaller than before, or not larger.", "open",
              ("smaller", "not_larger")),
    Parameter("delay_source", "rtt", "", 0, 1,
              "Delay of the fabric: RTT less endpoint delay, CSIG's PD, or what holds the window "
              "smaller.", "CSIG 8.1.1, 8.1.3", ("rtt", "csig_pd", "least")),
    Parameter("pd_target", "one_hop", "", 0, 1,
              "Hops that scale the target of PD: one, or those of the path.", "open",
              ("one_hop", "path")),
    Parameter("without_pd", "rtt", "", 0, 1,
              "Where PD is wanted and not known, RTT stands for it or the window stays.", "open",
              ("rtt", "hold")),
    Parameter("ramp", "off", "", 0, 1,
              "Increase by ai, in proportion to ABW, or by the larger of both.", "CSIG 8.1.2",
              ("off", "abw", "abw_or_ai")),
    Parameter("ramp_gain", 0.5, "", 0.0, 1.0, "Share of ABW taken in a round trip.", "open"),
    Parameter("packet_bytes", 1500, "bytes", 1, 10**6, "A packet, where ABW is counted in them.",
              "open"),
)  # fmt: skip

STATE = parameter.state_dtype(
    ("f8", "cwnd", "fcwnd", "ecwnd", "target_ns", "delay_ns", "pacing_delay_ns"),
    ("i8", "t_last_decrease", "now_ns", "rtt_ns"),
    ("i4", "retransmit_cnt", "faults"),
    ("i1", "branch"),
)
"""One sender. target_ns and delay_ns are those that decided fcwnd at the last ACK (NaN: none),
rtt_ns the last RTT (0: none yet), t_last_decrease NEVER before the first, faults bits of
`Fault`."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)


def state(count: int = 1) -> NDArray[Any]:
    """`count` blank states; `reset` makes one ready."""
    return np.zeros(count, STATE)


@borrowing
def reset(s: Record, p: Record) -> None:
    """Start a sender at its first window."""
    s.fcwnd = min(max(p.initial_cwnd, p.min_cwnd), max(p.max_cwnd, p.min_cwnd))
    s.ecwnd = s.fcwnd
    s.cwnd = s.fcwnd
    s.target_ns = np.nan
    s.delay_ns = np.nan
    s.pacing_delay_ns = 0.0
    s.t_last_decrease = NEVER
    s.now_ns = 0
    s.rtt_ns = 0
    s.retransmit_cnt = 0
    s.faults = 0
    s.branch = 0


@borrowing
def target_delay(s: Record, p: Record, cwnd: float, hops: int) -> float:
    """Section 3.1: base target + hops*hop_scaling + max(0, min(alpha/sqrt(cwnd)+beta, fs_range)).

    alpha = fs_range/(1/sqrt(fs_min_cwnd) - 1/sqrt(fs_max_cwnd)), beta = -alpha/sqrt(fs_max_cwnd).
    """
    target = float(p.base_target_ns + float(hops) * p.hop_scaling_ns)
    if p.fs_min_cwnd >= p.fs_max_cwnd:
        s.faults |= Fault.FLOW_SCALING_EMPTY.value
        return target
    alpha = p.fs_range_ns / (1 / sqrt(p.fs_min_cwnd) - 1 / sqrt(p.fs_max_cwnd))
    beta = -alpha / sqrt(p.fs_max_cwnd)
    return float(target + max(0.0, min(alpha / sqrt(cwnd) + beta, float(p.fs_range_ns))))


@borrowing
def increment(s: Record, p: Record, rtt_ns: int, abw_bps: float) -> float:
    """What a round trip adds: ai, or with CSIG 8.1.2 what ABW has room for; below 0: not ramped."""
    if p.ramp == OFF:
        return -1.0
    if np.isnan(abw_bps):
        s.faults |= Fault.ABW_UNKNOWN.value
        return -1.0
    if not 0 <= abw_bps <= MOST_BPS:
        s.faults |= Fault.OUT_OF_RANGE.value
        return -1.0
    room = p.ramp_gain * abw_bps * (rtt_ns * 1e-9) / (8 * p.packet_bytes)
    return float(-1.0 if p.ramp == ABW_OR_AI and room < p.ai else room)


@borrowing
def adjust(
    p: Record, cwnd: float, delay_ns: float, target_ns: float, num_acked: int, can_decrease: bool,
    room: float,
) -> tuple[float, int]:  # fmt: skip
    """Lines of "On Receiving ACK" for one window and one delay: the new window, the `Branch`."""
    if delay_ns < target_ns:
        step = p.ai if room < 0 else room
        branch = Branch.INCREASE.value if room < 0 else Branch.RAMP.value
        if cwnd >= 1:
            return cwnd + step / cwnd * num_acked, branch
        below = Branch.INCREASE_BELOW_ONE.value if room < 0 else branch
        return cwnd + step * num_acked, below
    if not can_decrease:
        return cwnd, Branch.HOLD.value
    over = (delay_ns - target_ns) / delay_ns if delay_ns > 0 else 0.0
    factor = 1 - p.beta * over
    if factor < 1 - p.max_mdf:
        return (1 - p.max_mdf) * cwnd, Branch.DECREASE_CAPPED.value
    return factor * cwnd, Branch.DECREASE.value


@borrowing
def known_delay(s: Record, value: float, fault: int) -> bool:
    """Whether a delay is there and can be meant; else the fault is noted."""
    if np.isnan(value) or value == -1:
        s.faults |= fault
        return False
    if not 0 <= value <= MOST_NS:
        s.faults |= Fault.OUT_OF_RANGE.value
        return False
    return True


@borrowing
def begin(s: Record, now_ns: int) -> None:
    """An event begins: its time."""
    s.faults = Fault.TIME_BACKWARDS.value if now_ns < s.now_ns else 0
    s.now_ns = max(s.now_ns, now_ns)


@borrowing
def may_decrease(s: Record, rtt_ns: int) -> bool:
    """can_decrease: a round trip has passed since the last decrease."""
    return bool(s.t_last_decrease == NEVER or s.now_ns - s.t_last_decrease >= rtt_ns)


@borrowing
def settle(s: Record, p: Record, fcwnd: float, ecwnd: float, branch: int) -> int:
    """The last lines: both windows clamped, cwnd the smaller, t_last_decrease and pacing_delay."""
    cwnd_prev = s.cwnd
    most = max(p.max_cwnd, p.min_cwnd)
    s.fcwnd = min(max(fcwnd, p.min_cwnd), most)
    s.ecwnd = min(max(ecwnd, p.min_cwnd), most)
    s.cwnd = min(s.fcwnd, s.ecwnd) if p.endpoint_target_ns > 0 else s.fcwnd
    if s.cwnd < cwnd_prev or (p.marks_decrease == 1 and s.cwnd == cwnd_prev):
        s.t_last_decrease = s.now_ns
    s.pacing_delay_ns = s.rtt_ns / s.cwnd if s.cwnd < 1 else 0.0
    s.branch = branch
    return branch


@borrowing
def fabric_window(
    s: Record, p: Record, fabric_ns: float, hops: int, num_acked: int, can_decrease: bool,
    room: float, pd_ns: float,
) -> tuple[float, int]:  # fmt: skip
    """Fcwnd by the delays that `delay_source` names (CSIG 8.1.1), of two windows the smaller."""
    fcwnd, branch = float(s.fcwnd), Branch.NOTHING.value
    by_pd = p.delay_source != RTT and known_delay(s, pd_ns, Fault.PD_UNKNOWN.value)
    by_rtt = p.delay_source != CSIG_PD or (not by_pd and p.without_pd == 0)
    if by_rtt:
        s.delay_ns = fabric_ns
        s.target_ns = target_delay(s, p, s.fcwnd, hops)
        fcwnd, branch = adjust(p, s.fcwnd, fabric_ns, s.target_ns, num_acked, can_decrease, room)
    if by_pd:
        target = target_delay(s, p, s.fcwnd, 1 if p.pd_target == 0 else hops)
        held, how = adjust(p, s.fcwnd, pd_ns, target, num_acked, can_decrease, room)
        if held < fcwnd or not by_rtt:  # CSIG 8.1.3
            fcwnd, branch, s.delay_ns, s.target_ns = held, how, pd_ns, target
    return fcwnd, branch


@borrowing
def new_ack(
    s: Record, p: Record, now_ns: int, rtt_ns: int, endpoint_ns: int, hops: int, num_acked: int,
    pd_ns: float, abw_bps: float,
) -> int:  # fmt: skip
    """On Receiving ACK; returns the `Branch` of fcwnd, leaves the rest in `s`.

    `endpoint_ns` is the part of the RTT spent in the endpoints, `hops` the hops of the forward
    path; `pd_ns` and `abw_bps` are CSIG's, NaN where the ACK reflects none.
    """
    begin(s, now_ns)
    s.target_ns = np.nan
    s.delay_ns = np.nan
    s.retransmit_cnt = 0
    if not 0 < rtt_ns <= MOST_NS or num_acked < 0 or num_acked > MOST_PACKETS:
        s.faults |= Fault.NO_RTT.value if rtt_ns <= 0 else Fault.OUT_OF_RANGE.value
        s.branch = Branch.NOTHING.value
        return int(s.branch)
    can_decrease = may_decrease(s, rtt_ns)
    s.rtt_ns = rtt_ns
    s.faults |= Fault.HOPS_UNKNOWN.value if hops < 0 else 0
    fabric_ns, ecwnd = float(rtt_ns), float(s.ecwnd)
    if known_delay(s, float(endpoint_ns), Fault.ENDPOINT_UNKNOWN.value):
        fabric_ns = float(max(rtt_ns - endpoint_ns, 0))
        if p.endpoint_target_ns > 0:
            target = float(p.endpoint_target_ns)
            ecwnd, _ = adjust(p, ecwnd, float(endpoint_ns), target, num_acked, can_decrease, -1.0)
    room = increment(s, p, rtt_ns, abw_bps)
    fcwnd, branch = fabric_window(
        s, p, fabric_ns, max(hops, 0), num_acked, can_decrease, room, pd_ns
    )
    return int(settle(s, p, fcwnd, ecwnd, branch))


@borrowing
def lost(s: Record, p: Record, now_ns: int, timeout: bool) -> int:
    """On Retransmit Timeout (`timeout`), or On Fast Recovery; returns the `Branch`."""
    begin(s, now_ns)
    hold = Branch.TIMEOUT_HOLD.value if timeout else Branch.FAST_RECOVERY_HOLD.value
    cut = Branch.TIMEOUT.value if timeout else Branch.FAST_RECOVERY.value
    s.retransmit_cnt = min(s.retransmit_cnt + 1, 10**6) if timeout else 0
    if s.retransmit_cnt >= p.RETX_RESET_THRESHOLD:
        return int(settle(s, p, p.min_cwnd, p.min_cwnd, Branch.TIMEOUT_RESET.value))
    if not may_decrease(s, s.rtt_ns):
        return int(settle(s, p, s.fcwnd, s.ecwnd, hold))
    keep = 1 - p.max_mdf
    return int(settle(s, p, keep * s.fcwnd, keep * s.ecwnd, cut))
