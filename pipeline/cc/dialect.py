"""How DCTCP senders differ: every open choice of RFC 8257 as a parameter, and who chooses what."""

from collections.abc import Mapping

from pipeline.cc import parameter
from pipeline.cc.parameter import Parameter, Record, Value

TABLE = (
    Parameter("dialect", "auto", "", 0, 1,
              "Whose reading of the RFC; auto is ns3 by the handshake, else classic where ECE"
              " lasts until CWR, or linux. classic is no DCTCP: its alpha is not claimed.", "4",
              ("auto", "linux", "linux_before", "ns3", "rfc8257", "classic")),
    Parameter("g", 0.0625, "", 1e-3, 1.0,
              "Gain of the moving average; 1/1024 arithmetic takes it as one over a whole.", "4.2"),
    Parameter("alpha_init", 1.0, "", 0.0, 1.0, "alpha before the first window ends.", "3.3"),
    Parameter("mss", 1448, "bytes", 1, 65535,
              "Payload of a full segment where the trace does not tell.", "open"),
    Parameter("initial_window", 10, "segments", 1, 1000, "cwnd at the start.", "open"),
    Parameter("min_cwnd", 2, "segments", 0, 1000, "cwnd is never reduced below it.", "open"),
    Parameter("window_ends", "at", "", 0, 1, "SEG.ACK past WindowEnd, or at it.", "3.3 step 4",
              ("past", "at")),
    Parameter("first_window", "established", "", 0, 1, "When the first window opens.", "3.3",
              ("established", "first_ack")),
    Parameter("closing_ack", "own", "", 0, 1, "Window in which the closing ACK counts.", "3.3",
              ("own", "next")),
    Parameter("counts", "segments", "", 0, 1, "What M is a share of.", "3.3",
              ("bytes", "segments", "whole_segments")),
    Parameter("arithmetic", "1024", "", 0, 1,
              "Real numbers, whole 1/1024, or the whole numbers of SCF and SHF.", "4.2",
              ("real", "1024", "scaled")),
    Parameter("SCF", 65536, "", 16, 1 << 20, "What alpha is scaled by, scaled.", "4.2"),
    Parameter("SHF", 4, "", 0, 10, "Shift that stands for g, scaled.", "4.2"),
    Parameter("reduces", "first_ece", "", 0, 1,
              "cwnd falls at the window's end, or at the first ECE outside CWR.", "3.3 step 9",
              ("window_end", "first_ece")),
    Parameter("reduces_by", "closing", "", 0, 1,
              "An ACK that closes a window and reduces does so by the alpha after or before it.",
              "3.3 step 9", ("closing", "closed")),
    Parameter("recovery", "conventional", "", 0, 1,
              "What duplicate and partial ACKs count and when cwnd falls after loss.", "3.5",
              ("conventional", "ns3")),
    Parameter("loss_reduces", "half", "", 0, 1, "ssthresh after loss: cwnd/2, or as after ECE.",
              "3.5", ("half", "alpha")),
    Parameter("alpha_on_loss", "kept", "", 0, 1, "Whether loss sets alpha to alpha_init.", "3.5",
              ("kept", "reset")),
    Parameter("empty_ack", "closes", "", 0, 1,
              "Whether an ACK that delivers nothing may end a window.", "open",
              ("ignored", "closes")),
    Parameter("predicted_ns", 20_000, "ns", 0, 10**9,
              "Data without ECE that repeats an ACK and follows the last data sooner takes the"
              " sender's fast path, which does not read the ACK.", "open"),
    Parameter("duplicate_counts", "no", "", 0, 1, "Whether a duplicate ACK counts one MSS.",
              "open", ("no", "yes")),
)  # fmt: skip

DIALECTS: dict[str, dict[str, Value]] = {
    "linux": {},
    "linux_before": {"closing_ack": "next"},
    "ns3": {"first_window": "first_ack", "counts": "whole_segments", "arithmetic": "real",
            "empty_ack": "ignored", "duplicate_counts": "yes", "predicted_ns": 0, "min_cwnd": 0,
            "reduces_by": "closed", "recovery": "ns3", "loss_reduces": "alpha"},
    "rfc8257": {"window_ends": "past", "counts": "bytes", "arithmetic": "real",
                "empty_ack": "ignored", "reduces": "window_end", "predicted_ns": 0},
    "classic": {},
}  # fmt: skip
"""How each dialect differs from the defaults above."""


def record(values: Mapping[str, Value] | None = None) -> Record:
    """The defaults, the dialect's differences, then `values`, as one record.

    ValueError names an unknown parameter or a value that is not accepted.
    """
    chosen = dict(parameter.known(TABLE, values or {}))
    return parameter.record(TABLE, DIALECTS.get(str(chosen.get("dialect")), {}) | chosen)
