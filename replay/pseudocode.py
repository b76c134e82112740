"""The pseudo-code of each algorithm as lines, and which of them a decision went through.

Line numbers are those of the document where it has them (HPCC++: draft-miao-ccwg-hpcc-03, 4.2;
DCTCP: the steps of RFC 8257, 3.3), else just numbers. A line is lit by the branches that it names;
without any it is lit by every decision that measured something.
"""

from dataclasses import dataclass

from replay.step import STEPS

_MI = ("full_update_mi", "full_update_mi_stage", "fast_react_mi", "fast_react_mi_stage")
_AI = ("full_update_ai", "fast_react_ai")
_FULL_MI = ("full_update_mi", "full_update_mi_stage")
_FULL = (*_FULL_MI, "full_update_ai")
_FAST = ("fast_react_mi", "fast_react_mi_stage", "fast_react_ai")
_MEASURED = (*_FULL, *_FAST)
_HELD = ("no_telemetry",)
_STORED = (*_MEASURED, "first_ack", "first_response", "bad_telemetry", "path_change")
_END = ("window_end", "window_end_reduce")
_REDUCE = ("count_reduce", "window_end_reduce", "window_open_reduce")
_COUNT = ("count", "count_reduce", *_END, "window_open", "window_open_reduce")
_UP = ("increase", "increase_below_one", "ramp")
_DOWN = ("decrease", "decrease_capped", "hold")
_OUT = ("timeout", "timeout_hold", "timeout_reset")
_LOSS = ("fast_recovery", "fast_recovery_hold")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number, how far it is indented, its text, the branches that go through it."""

    number: int
    indent: int
    text: str
    branches: tuple[str, ...] = ()


HPCC = (
    Line(1, 0, "procedure MeasureInflight(ack)", _MEASURED),
    Line(2, 1, "u = 0", _MEASURED),
    Line(3, 1, "for each link i on the path", _MEASURED),
    Line(4, 2, "txRate = Δ txBytes / Δ ts", _MEASURED),
    Line(5, 2, "u' = min(qlen now, qlen before) / (B·T) + txRate / B", _MEASURED),
    Line(6, 2, "if u' > u", _MEASURED),
    Line(7, 3, "u = u';  tau = Δ ts", _MEASURED),
    Line(8, 1, "tau = min(tau, T)", _MEASURED),
    Line(9, 1, "U = (1 − tau/T)·U + tau/T·u", _MEASURED),
    Line(10, 1, "return U", _MEASURED),
    Line(11, 0, "procedure ComputeWind(U, updateWc)", _MEASURED),
    Line(12, 1, "if U ≥ eta or incStage ≥ maxStage", _MEASURED),
    Line(13, 2, "W = Wc / (U/eta) + W_ai", _MI),
    Line(14, 2, "if updateWc", _MI),
    Line(15, 3, "incStage = 0;  Wc = W", _FULL_MI),
    Line(16, 1, "else", _AI),
    Line(17, 2, "W = Wc + W_ai", _AI),
    Line(18, 2, "if updateWc", _AI),
    Line(19, 3, "incStage++;  Wc = W", ("full_update_ai",)),
    Line(20, 1, "return W", _MEASURED),
    Line(21, 0, "procedure NewAck(ack)", (*_STORED, *_HELD)),
    Line(22, 1, "if ack.seq > lastUpdateSeq", _MEASURED),
    Line(23, 2, "W = ComputeWind(MeasureInflight(ack), True)", _FULL),
    Line(24, 2, "lastUpdateSeq = snd_nxt", (*_FULL, "first_ack")),
    Line(25, 1, "else", _FAST),
    Line(26, 2, "W = ComputeWind(MeasureInflight(ack), False)", _FAST),
    Line(27, 1, "R = W / T;  L = ack.L", _STORED),
)
DCTCP = (
    Line(1, 0, "BytesAcked_i = SEG.ACK − SND.UNA", (*_COUNT, "nothing")),
    Line(2, 0, "BytesAcked += BytesAcked_i", _COUNT),
    Line(3, 0, "if ECE: BytesMarked += BytesAcked_i", _COUNT),
    Line(4, 0, "if SEG.ACK ≤ WindowEnd: stop", _COUNT),
    Line(5, 0, "M = BytesMarked / BytesAcked", _END),
    Line(6, 0, "alpha = alpha·(1 − g) + g·M", _END),
    Line(7, 0, "WindowEnd = SND.NXT", (*_END, "window_open", "window_open_reduce")),
    Line(8, 0, "BytesAcked = BytesMarked = 0", _END),
    Line(9, 0, "at most once a window: cwnd = cwnd·(1 − alpha/2)", _REDUCE),
)
SWIFT = (
    Line(1, 0, "on ACK: delay = fabric delay of this ACK", (*_UP, *_DOWN, "nothing")),
    Line(2, 1, "target = base + hops·scaling + flow scaling", (*_UP, *_DOWN)),
    Line(3, 1, "if delay < target", (*_UP, *_DOWN)),
    Line(4, 2, "if cwnd ≥ 1: cwnd += ai/cwnd · num_acked", ("increase",)),
    Line(5, 2, "else: cwnd += ai · num_acked", ("increase_below_one",)),
    Line(6, 2, "with CSIG's ABW: cwnd grows by a share of it", ("ramp",)),
    Line(7, 1, "else if not cut within this round trip", _DOWN),
    Line(8, 2, "cwnd ·= 1 − beta·(delay − target)/delay", ("decrease",)),
    Line(9, 2, "at most by max_mdf: cwnd ·= 1 − max_mdf", ("decrease_capped",)),
    Line(10, 0, "on timeout", _OUT),
    Line(11, 1, "retransmit_cnt ≥ RETX_RESET_THRESHOLD: cwnd = min_cwnd", ("timeout_reset",)),
    Line(12, 1, "else, once a round trip: cwnd ·= 1 − max_mdf", ("timeout",)),
    Line(13, 0, "on fast recovery", _LOSS),
    Line(14, 1, "once a round trip: cwnd ·= 1 − max_mdf", ("fast_recovery",)),
)
POSEIDON = (
    Line(1, 0, "on ACK: MPD = largest delay at one hop", (*_UP, *_DOWN, "nothing")),
    Line(2, 1, "MPT = p·(ln max − ln rate)/(ln max − ln min) + k", (*_UP, *_DOWN)),
    Line(3, 1, "U = exp((MPT − MPD)/p · alpha · m)", (*_UP, *_DOWN)),
    Line(4, 1, "if MPD ≤ MPT", (*_UP, *_DOWN)),
    Line(5, 2, "cwnd += (U − 1) · num_acked", ("increase",)),
    Line(6, 1, "else if not cut within this round trip", _DOWN),
    Line(7, 2, "cwnd ·= U", ("decrease",)),
    Line(8, 2, "no further than min_md: cwnd ·= min_md", ("decrease_capped",)),
    Line(9, 0, "on timeout", _OUT),
    Line(10, 1, "retransmit_cnt ≥ RETX_RESET_THRESHOLD: cwnd = min_cwnd", ("timeout_reset",)),
    Line(11, 1, "else, once a round trip: a loss cuts cwnd", ("timeout",)),
    Line(12, 0, "on fast recovery", _LOSS),
    Line(13, 1, "once a round trip: a loss cuts cwnd", ("fast_recovery",)),
)
PSEUDOCODE = {"hpcc": HPCC, "dctcp": DCTCP, "swift": SWIFT, "poseidon": POSEIDON}
"""Lines by algorithm; the other forms of HPCC++ (hpcc_aecn, …) share its."""


def pseudocode(algorithm: str) -> tuple[Line, ...]:
    """The lines of an algorithm; without any of its own, what each of its branches means."""
    own = PSEUDOCODE.get("hpcc" if algorithm.startswith("hpcc") else algorithm)
    if own is not None:
        return own
    steps = [step for step in STEPS if step.algorithm == algorithm]
    return tuple(
        Line(number, 0, f"{step.branch.replace('_', ' ')} ({step.line})", (step.branch,))
        for number, step in enumerate(steps, 1)
    )
