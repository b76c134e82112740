"""What is kept of a sender's conduct at one point: what it was told, and what it then did.

The sender is one directed flow seen at one point. Counts are of the whole run; the rest is what the
next row needs. Sizes are bytes, sequence numbers unwrapped to 64 bits.
"""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Act(IntEnum):
    """What a sender did, or a path, that is written down with its frames."""

    UNANSWERED = 1
    LATE = 2
    TWICE = 3
    OVER_WINDOW = 4
    OVER_RATE = 5
    ACK_MISSING = 6
    CUT_KEPT = 7
    ECHO_UNMARKED = 8


BINS = 41
"""Bins of in-flight bytes over W; of the last one the upper end is open."""
TIMED = 16
"""Data of which it is kept when it passed: what an ACK may be for."""
PER_WINDOW = 16
"""Bins from 0 to W."""

MENDING, BEGAN_LARGER, MID_FLOW, MENDED_LARGER = 1, 2, 3, 4
"""Why a window is not what is known of it: a loss is mended, until all that was sent before it is
acknowledged; it was larger from the beginning; nobody saw its beginning; it was larger after a
loss, until the next one is mended."""

_NUMBERS = (
    "nxt", "una", "heard", "iss", "syn_ns", "lag_ns", "rtt_ns",
    "due_una", "due_nxt", "due_frame", "due_source", "later_nxt", "later_sent",
    "quiet_nxt", "cut_end", "mended",
    "round_nxt", "flight", "ack_ns", "data_ns", "sent", "due_mended", "clear_end", "data_count",
    "base_ns", "since_ns", "total", "fastest_ns",
)  # fmt: skip
_COUNTS = (
    "segments", "acks", "ect", "ce", "echoes", "due", "answered", "unanswered", "prompt", "late",
    "twice", "unjudged", "rounds", "rounds_over", "mendings", "sends", "sends_over", "sends_late",
    "sends_less",
    "quick",
    "quick_echoes", "clear_acks", "clear_echoes", "clear_onsets", "faster", "paced",
    "paced_over", "cuts", "cuts_kept", "id_next", "id_missing", "id_odd", "resent", "holes",
)  # fmt: skip
_FRAMES = ("first", "echo", "hole", "resending", "beyond", "inexact")
_TIMED = ("ends", "times", "frames", "sources")
_FLAGS = (
    "numbered", "told", "answers", "shaken", "asked", "agreed", "refused", "owes", "stage",
    "fresh", "packets", "near", "untrue", "exact", "why", "hpcc",
    "stated", "classic", "tcp", "clear", "clear_shown",
)  # fmt: skip

SENDER = np.dtype(
    [(name, np.int64) for name in (*_NUMBERS, *_COUNTS)]
    + [(f"{name}_{what}", np.int64) for name in _FRAMES for what in ("frame", "source")]
    + [
        (name, np.float64)
        for name in (
            "window",
            "window_before",
            "peak",
            "peak_before",
            "peak_then",
            "cut",
            "cut_before",
            "cut_then",
            "fall",
            "fall_before",
            "fall_then",
            "threshold",
            "W",
            "R",
            "allowed",
            "line_bps",
        )
    ]
    + [(f"data_{name}", np.int64, (TIMED,)) for name in _TIMED]
    + [("largest", np.int32), ("id", np.int32), ("histogram", np.int32, (BINS,))]
    + [(name, np.int8) for name in _FLAGS]
)
"""One sender at one point.

nxt and una are SND.NXT and SND.UNA as the tap sees them, heard is SND.UNA as the sender knows it;
lag_ns is the time from the tap to the sender and back. Where it owes a reaction, due_una and
due_nxt were SND.UNA and SND.NXT when it heard ECE, due_frame that ACK; one round trip later (stage
1) later_nxt is SND.NXT and later_sent what it has sent since. cut_end: until that is acknowledged,
one reduction is all that is due; mended: until then a loss or a hole is. A round lasts until
round_nxt is acknowledged. Of the round window is the largest W or cwnd, peak the most bytes in
flight, cut what ssthresh (threshold) was cut to (0: it was not) and fall by which part; names in
_before are of the round before, those in _then of the one before that. flight, W, R, ack_ns are
those of the last ACK, sent and allowed what was sent in the round and what R let go. Of the frames
each is the first: of the flow, with ECE, with a hole before it, sent again, beyond a window that
nothing had cut yet, with a state that is not exact (why). untrue: why the window as it is known is
not the sender's (0: it is); due_mended are the reactions that were due when it last became so;
mendings counts losses, or several at once, that were mended; hpcc: it runs HPCC++, so ECE asks
nothing of it; stated: settings say its dialect of DCTCP; classic: it was recognised as no DCTCP.
sends_less are sends after W had fallen within two round trips. data_ns is when its last data
passed, 0 if that had CE; quick are acknowledgments of it that came too soon for a queue behind the
tap, quick_echoes those with ECE. Of HPCC++ base_ns is the T
of W/T = R, line_bps the largest R, total what was sent since since_ns, faster how many rounds ended
with more than that allows. Of `echo`: clear says that no ECE is due once clear_end is
acknowledged, clear_shown that one came all the same; clear_acks are ACKs of which none should have
ECE, clear_echoes those that do, clear_onsets how often that began anew. data_count counts data, of
which the last `TIMED` have their ends, times and frames in data_ends to data_sources; fastest_ns
is the least time from data to its ACK.
"""

EVENT = np.dtype(
    [(name, np.int64) for name in ("time_ns", "frame", "cause_frame")]
    + [(name, np.int32) for name in ("sender", "source", "cause_source", "act")]
)
"""One act: the frame that shows it, and the frame that asked for another (-1: none)."""


def senders(count: int) -> NDArray[Any]:
    """So many senders of whom nothing is known."""
    made = np.zeros(count, SENDER)
    for name in _FRAMES:
        made[f"{name}_frame"] = -1
    for name in ("id", "lag_ns", "cut_end", "quiet_nxt", "flight"):
        made[name] = -1
    return made


def grown(known: NDArray[Any], count: int) -> NDArray[Any]:
    """The senders that are known, with room for so many."""
    if count <= len(known):
        return known
    return np.concatenate([known, senders(max(count, 2 * len(known)) - len(known))])
