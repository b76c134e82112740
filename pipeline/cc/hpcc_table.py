"""Parameters of HPCC++: what draft-miao-ccwg-hpcc-03 gives, and what it leaves open."""

from collections.abc import Mapping

from pipeline.cc import parameter
from pipeline.cc.parameter import Parameter, Record, Value

HIGHEST, EACH_HOP, RESET = 1, 1, 1
"""The second choices of `ties`, `average` and `path_change`."""
MOST_NS, MOST_BPS = 10**12, 10**15
TABLE = (
    Parameter("eta", 0.95, "", 0.01, 1.0, "Target utilisation of the busiest link.", "4.2"),
    Parameter("maxStage", 5, "", 0, 1000, "Additive steps before a multiplicative one.", "4.2"),
    Parameter("T_ns", 0, "ns", 0, MOST_NS,
              "Base round trip; 0: that of each path; where it is unknown U stays.", "4.2"),
    Parameter("B_nic_bps", 0, "bit/s", 0, MOST_BPS,
              "Rate of the sender's NIC; 0: that of each path; unknown: so are W, Wc, R.", "4.2"),
    Parameter("N", 100, "flows", 1, 10**9, "Flows expected: W_ai = W_init*(1-eta)/N.", "4.3"),
    Parameter("W_ai", 0.0, "bytes", 0.0, 1e12, "Additive step; 0 derives it from N.", "4.3"),
    Parameter("form", "window", "", 0, 1, "What is carried from ACK to ACK: W, or its rate R.",
              "4.2", ("window", "rate")),
    Parameter("R_ai_bps", 0, "bit/s", 0, MOST_BPS,
              "Additive step of the rate form; 0 derives it from W_ai.", "open"),
    Parameter("clamp", "on", "", 0, 1, "Keep every result within R_min and B_nic.", "open",
              ("off", "on")),
    Parameter("R_min_bps", 0, "bit/s", 0, MOST_BPS, "Lower clamp, as a rate.", "open"),
    Parameter("qlen_by", "T", "", 0, 1, "qlen is normalised by T, or by the window's duration.",
              "open", ("T", "window")),
    Parameter("window_bytes", 0, "bytes", 0, 10**12, "W_init; 0 is B_nic*T.", "4.2"),
    Parameter("U_init", 1.0, "", 0.0, 1000.0, "U before the first measurement.", "open"),
    Parameter("first_ack", "snd_nxt", "", 0, 1,
              "lastUpdateSeq after the first ACK, which only stores L: SND.NXT, or 0.", "open",
              ("snd_nxt", "zero")),
    Parameter("path_change", "keep", "", 0, 1,
              "Other hops than before, after which L is new: U, W and Wc stay, or begin again.",
              "open", ("keep", "reset")),
    Parameter("ties", "lowest", "", 0, 1, "Which of hops with the same u' is the bottleneck.",
              "line 6", ("lowest", "highest")),
    Parameter("ack_psn", "next", "", 0, 1,
              "ack.seq of RoCE: the PSN after the one that is acknowledged, or that one.", "open",
              ("next", "last")),
    Parameter("average", "maximum", "", 0, 1,
              "U averages the largest u', or is the largest of the hops' own averages; telemetry on"
              " data only knows the first.", "line 9", ("maximum", "hop")),
)  # fmt: skip


def record(values: Mapping[str, Value] | None = None) -> Record:
    """A parameter record; ValueError names an unknown parameter or a value out of range."""
    return parameter.record(TABLE, values)
