"""The branches of all algorithms: where the document says each, and the sentence that says it.

`STEPS` is the table, one line a branch. A sentence names columns of a decision in {}; of HPCC++ the
lines are those of draft-miao-ccwg-hpcc-03, of DCTCP the steps those of RFC 8257.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One branch: algorithm, name, where its document says it, a sentence with columns in {}."""

    algorithm: str
    branch: str
    line: str
    sentence: str


_MI = "W = Wc/(U/eta) + W_ai = {W}"
_AI = "W = Wc + W_ai = {W}"
_FULL = "full update (SEG.ACK {ack} > lastUpdateSeq): "
_FAST = "fast reaction (SEG.ACK {ack} <= lastUpdateSeq {lastUpdateSeq}): "
_HIGH = "U {U} (was {U_before}) >= eta {eta}, so "
_STAGE = "U {U} (was {U_before}) < eta {eta} but incStage has reached maxStage {maxStage}, so "
_LOW = "U {U} (was {U_before}) < eta {eta} and incStage is below maxStage {maxStage}, so "
_AGREED = "; Wc = W, incStage = {incStage}, lastUpdateSeq = {lastUpdateSeq}"
_KEPT = "; Wc stays {Wc}"
_SINCE = "more than T after the last update: "
_WITHIN = "within T of the last update at {lastUpdateSeq} ns: "
_SAID = "; W is sent; Wc = W, incStage = {incStage}, lastUpdateTime = {lastUpdateSeq} ns"
_LEFT = "news from after the last update: "
_EARLY = "news from before the last update at {lastUpdateSeq} ns: "
_UPDATED = "; Wc = W, incStage = {incStage}, the last update is at {lastUpdateSeq} ns"
_FIRST = "; the first window opens and ends at {WindowEnd}"
_COUNTED = "{acked_bytes} bytes acked, {marked_bytes} of them marked"
_ENDED = (
    "window ended with {BytesAcked} bytes acked, {BytesMarked} marked: M = {M},"
    " alpha = (1-g)*{alpha_before} + g*M = {alpha}; the next one ends at {WindowEnd}"
)
_REDUCED = (
    "; cut by cwnd*alpha/2, by whole segments where the dialect counts so and to no less than"
    " min_cwnd: ssthresh = {ssthresh} bytes"
)

_BELOW = "delay {delay_ns} ns < target {target_ns} ns: "
_ABOVE = "delay {delay_ns} ns >= target {target_ns} ns: "
_OVER = "MPD {MPD} ns > MPT {MPT} ns: "
_WINDOW = " = {cwnd} packets, {cwnd_before} before"
_STAYS = "; cwnd stays {cwnd} packets"
_TIMEOUT = "retransmission timeout {retransmit_cnt} in a row: "
_LOSS = "fast recovery: "
_CUT = "cwnd was cut within this round trip"
_RESET = "so many in a row make it min_cwnd"

_UNMEASURED = "no hop could be measured (faults {faults}): only L is stored"
_OTHER_HOPS = "the path has other hops than before: only L is stored, by path_change U = {U}"
_ONE = "an ACK "
_JUDGED = "; so far the receiver is {verdict} by {evidence}, sure to {sure}"

STEPS = (
    Step("hpcc", "first_ack", "4.2, open",
         "first ACK with telemetry: L is stored, by first_ack lastUpdateSeq = {lastUpdateSeq}"),
    Step("hpcc", "full_update_mi", "lines 12-15, 24", _FULL + _HIGH + _MI + _AGREED),
    Step("hpcc", "full_update_mi_stage", "lines 12-15, 24", _FULL + _STAGE + _MI + _AGREED),
    Step("hpcc", "full_update_ai", "lines 17-19, 24", _FULL + _LOW + _AI + _AGREED),
    Step("hpcc", "fast_react_mi", "lines 12-13, 26", _FAST + _HIGH + _MI + _KEPT),
    Step("hpcc", "fast_react_mi_stage", "lines 12-13, 26", _FAST + _STAGE + _MI + _KEPT),
    Step("hpcc", "fast_react_ai", "lines 17, 26", _FAST + _LOW + _AI + _KEPT),
    Step("hpcc", "no_telemetry", "4.2, open",
         "no telemetry is taken with the ACK: nothing changes"),
    Step("hpcc", "bad_telemetry", "4.2, open",
         _UNMEASURED),
    Step("hpcc", "path_change", "4.2, open",
         _OTHER_HOPS),
    Step("hpcc_receiver", "first_ack", "lines 28-34, open",
         "first packet with telemetry: L is stored, lastUpdateTime = {lastUpdateSeq} ns"),
    Step("hpcc_receiver", "full_update_mi", "lines 29-32", _SINCE + _HIGH + _MI + _SAID),
    Step("hpcc_receiver", "full_update_mi_stage", "lines 29-32", _SINCE + _STAGE + _MI + _SAID),
    Step("hpcc_receiver", "full_update_ai", "lines 29-32", _SINCE + _LOW + _AI + _SAID),
    Step("hpcc_receiver", "fast_react_mi", "lines 33-34", _WITHIN + _HIGH + _MI + _KEPT),
    Step("hpcc_receiver", "fast_react_mi_stage", "lines 33-34", _WITHIN + _STAGE + _MI + _KEPT),
    Step("hpcc_receiver", "fast_react_ai", "lines 33-34", _WITHIN + _LOW + _AI + _KEPT),
    Step("hpcc_receiver", "no_telemetry", "lines 28-34", "no telemetry: nothing changes"),
    Step("hpcc_receiver", "bad_telemetry", "4.2, open",
         _UNMEASURED),
    Step("hpcc_receiver", "path_change", "4.2, open",
         _OTHER_HOPS),
    Step("hpcc_probe", "first_response", "6.2, open",
         "first response: L is stored, the last update is at {lastUpdateSeq} ns"),
    Step("hpcc_probe", "full_update_mi", "6.2, lines 12-15", _LEFT + _HIGH + _MI + _UPDATED),
    Step("hpcc_probe", "full_update_mi_stage", "6.2, lines 12-15",
         _LEFT + _STAGE + _MI + _UPDATED),
    Step("hpcc_probe", "full_update_ai", "6.2, lines 17-19", _LEFT + _LOW + _AI + _UPDATED),
    Step("hpcc_probe", "fast_react_mi", "6.2, lines 12-13", _EARLY + _HIGH + _MI + _KEPT),
    Step("hpcc_probe", "fast_react_mi_stage", "6.2, lines 12-13", _EARLY + _STAGE + _MI + _KEPT),
    Step("hpcc_probe", "fast_react_ai", "6.2, line 17", _EARLY + _LOW + _AI + _KEPT),
    Step("hpcc_probe", "no_telemetry", "6.2", "the response carries no telemetry: nothing changes"),
    Step("hpcc_probe", "bad_telemetry", "4.2, open",
         _UNMEASURED),
    Step("hpcc_probe", "path_change", "7.1, open",
         "of other hops or another link than before: only L is stored, by path_change U = {U}"),
    Step("hpcc_probe", "within_rtt", "6.2, open", _EARLY + "nothing changes"),
    Step("hpcc_probe", "not_taken", "7.1, open",
         "its probe or its link is not known (faults {faults}): nothing changes"),
    Step("dctcp", "count", "3.3, steps 1-4", _COUNTED + "; the window goes on to {WindowEnd}"),
    Step("dctcp", "count_reduce", "3.3, steps 1-4, 9",
         _COUNTED + ", the first outside CWR" + _REDUCED),
    Step("dctcp", "window_end", "3.3, steps 5-8", _ENDED),
    Step("dctcp", "window_end_reduce", "3.3, steps 5-9", _ENDED + _REDUCED),
    Step("dctcp", "window_open", "3.3, open", _COUNTED + _FIRST),
    Step("dctcp", "window_open_reduce", "3.3, open", _COUNTED + _FIRST + _REDUCED),
    Step("dctcp", "nothing", "3.3, step 1", "the ACK delivers nothing: nothing changes"),
    Step("dctcp_receiver", "nothing", "3.2", "no acknowledgment of data"),
    Step("dctcp_receiver", "expected", "3.2", _ONE + "of one segment, as it must be" + _JUDGED),
    Step("dctcp_receiver", "delayed", "3.2", _ONE + "of several segments, as it must be" + _JUDGED),
    Step("dctcp_receiver", "stretched", "3.2", _ONE + "of more segments than m" + _JUDGED),
    Step("dctcp_receiver", "at_change_old", "3.2, rules 1-2",
         _ONE + "at once, for what came before a change of CE" + _JUDGED),
    Step("dctcp_receiver", "at_change_new", "3.2, rules 1-2",
         _ONE + "at once, for what changed CE" + _JUDGED),
    Step("dctcp_receiver", "late", "3.2", _ONE + "over a change of CE that none shows" + _JUDGED),
    Step("dctcp_receiver", "duplicate", "open", _ONE + "that repeats another" + _JUDGED),
    Step("dctcp_receiver", "old", "open", _ONE + "older than others" + _JUDGED),
    Step("dctcp_receiver", "unseen", "open", _ONE + "of data that was not seen" + _JUDGED),
    Step("dctcp_receiver", "unsighted", "open", _ONE + "whose marks are not in sight" + _JUDGED),
    Step("dctcp_receiver", "latched", "RFC 3168, 6.1.3",
         _ONE + "with ECE that only a classic receiver sets" + _JUDGED),
    Step("dctcp_receiver", "ece_unexpected", "3.2", _ONE + "with ECE, without CE" + _JUDGED),
    Step("dctcp_receiver", "ece_missing", "3.2", _ONE + "without ECE, after CE" + _JUDGED),
    Step("swift", "increase", "Algorithm 1, 3.1",
         _BELOW + "cwnd + ai/cwnd for each packet acked" + _WINDOW),
    Step("swift", "increase_below_one", "Algorithm 1, 3.1",
         _BELOW + "cwnd is below 1, so ai for each packet acked" + _WINDOW),
    Step("swift", "ramp", "CSIG 8.1.2", _BELOW + "cwnd grows by a share of ABW" + _WINDOW),
    Step("swift", "decrease", "Algorithm 1", _ABOVE + "cwnd*(1 - beta*(delay-target)/delay)"
         + _WINDOW),
    Step("swift", "decrease_capped", "Algorithm 1", _ABOVE + "cwnd*(1 - max_mdf)" + _WINDOW),
    Step("swift", "hold", "Algorithm 1", _ABOVE + "but cwnd was cut within this round trip"
         + _STAYS),
    Step("swift", "nothing", "Algorithm 1, open",
         "no round trip or delay is known (faults {faults})" + _STAYS),
    Step("swift", "timeout", "Algorithm 1", _TIMEOUT + "cwnd*(1 - max_mdf)" + _WINDOW),
    Step("swift", "timeout_hold", "Algorithm 1", _TIMEOUT + _CUT + _STAYS),
    Step("swift", "timeout_reset", "Algorithm 1", _TIMEOUT + _RESET + _WINDOW),
    Step("swift", "fast_recovery", "Algorithm 1", _LOSS + "cwnd*(1 - max_mdf)" + _WINDOW),
    Step("swift", "fast_recovery_hold", "Algorithm 1", _LOSS + _CUT + _STAYS),
    Step("poseidon", "increase", "Algorithm 1, eq. 3-4",
         "MPD {MPD} ns <= MPT {MPT} ns: cwnd + (U-1) for each packet acked, U = {U}" + _WINDOW),
    Step("poseidon", "decrease", "Algorithm 1, eq. 3-4", _OVER + "cwnd*U, U = {U}" + _WINDOW),
    Step("poseidon", "decrease_capped", "Algorithm 1, open", _OVER + "cwnd*min_md" + _WINDOW),
    Step("poseidon", "hold", "Algorithm 1", _OVER + "but cwnd was cut within this round trip"
         + _STAYS),
    Step("poseidon", "nothing", "Algorithm 1, open",
         "no MPD or no round trip is known (faults {faults})" + _STAYS),
    Step("poseidon", "timeout", "open", _TIMEOUT + "a loss cuts cwnd" + _WINDOW),
    Step("poseidon", "timeout_hold", "open", _TIMEOUT + _CUT + _STAYS),
    Step("poseidon", "timeout_reset", "open", _TIMEOUT + _RESET + _WINDOW),
    Step("poseidon", "fast_recovery", "open", _LOSS + "a loss cuts cwnd" + _WINDOW),
    Step("poseidon", "fast_recovery_hold", "open", _LOSS + _CUT + _STAYS),
)  # fmt: skip
"""Every branch."""

WHY = {
    "mid_flow": "the flow began before it was seen",
    "gap": "frames of the flow are missing",
    "after_queue": "the tap stands behind the queue that marks",
    "receiver_time": "telemetry was seen on data, before its sender knew of it",
    "far_from_sender": "the tap is too far from the sender to know what it had sent by then",
    "nic_unknown": "the line rate of the sender's NIC is not known",
    "t_unknown": "the base round trip T is not known",
    "t_from_handshake": "T is the round trip of the handshake",
    "classic_ecn": "the sender answers as classic ECN does",
    "queue_pair": "whose data this acknowledges is not certain",
    "anchored": "the window was taken anew from the bytes in flight",
    "bounds": "of the load only bounds are known",
    "accecn": "Accurate ECN counts marked bytes, and how the sender answers them is open",
    "ace": "marked bytes are estimated from Accurate ECN's count of packets modulo 8",
}
"""Why a state is not exact, in words, by the names of `pipeline`."""
