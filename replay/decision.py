"""The decision trace: what congestion control decided at each ACK, and in words why.

`STEPS` is the table: one line a branch, with the line or step of the document that decided and the
sentence that says it. `trace` joins decisions with the keys of their flows and adds both; `objects`
gives the machine's shape, one object a decision. Neither reads anything but its arguments.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipeline import FAULTS, companion_fields, fault_names

DIGITS = 5
"""Significant digits of a number in a sentence; objects carry all of them."""
MARK = re.compile(r"\{(\w+)\}")
KEY = ("src", "sport", "dst", "dport")


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
_HIGH = "U {U} >= eta {eta}, so "
_STAGE = "U {U} < eta {eta} but incStage has reached maxStage {maxStage}, so "
_LOW = "U {U} < eta {eta} and incStage is below maxStage {maxStage}, so "
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
    " alpha = (1-g)*alpha + g*M = {alpha}; the next one ends at {WindowEnd}"
)
_REDUCED = "; reduced: ssthresh = cwnd*(1 - alpha/2) = {ssthresh} bytes"

_BELOW = "delay {delay_ns} ns < target {target_ns} ns: "
_ABOVE = "delay {delay_ns} ns >= target {target_ns} ns: "
_OVER = "MPD {MPD} ns > MPT {MPT} ns: "
_WINDOW = " = {cwnd} packets"
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
    Step("hpcc", "no_telemetry", "4.2, open", "the ACK carries no telemetry: nothing changes"),
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
"""Every branch. Lines are those of draft-miao-ccwg-hpcc-03, steps those of RFC 8257."""

FIELDS = {
    "hpcc": (
        "U", "W", "Wc", "R", "incStage", "lastUpdateSeq", "u_max", "u_hop", "hop_count", "faults",
    ),
    "dctcp": (
        "alpha", "M", "BytesAcked", "BytesMarked", "WindowEnd", "cwnd", "ssthresh", "dialect",
        "basis",
    ),
}  # fmt: skip
"""The documents' variables in an object, by algorithm."""
COMMON = (
    "time_ns", *KEY, "algorithm", "branch", "ack", "acked_bytes", "marked_bytes", "inflight_bytes",
    "point", "frame", "quality", "why",
)  # fmt: skip
"""What every object starts with."""
LEAST = {"u_hop": 0, "rtt_ns": 1, "N": 1}
"""What is below is not known: null in an object."""


def trace(
    decisions: pl.DataFrame,
    keys: pl.DataFrame,
    eta: float,
    max_stage: int,
    upper: Collection[str] = (),
) -> pl.DataFrame:
    """Decisions of the tracker with the key of their flow, the document's line and a sentence.

    `keys` has one row a flow: flow (u64), src and dst (text), sport, dport. `eta` and `max_stage`
    are those the tracker was given, `upper` the algorithms whose parameter `acts_on` is upper. Rows
    keep their order; a flow without a key has nulls.
    """
    rows = decisions.join(keys.select("flow", *KEY), on="flow", how="left", maintain_order="left")
    words = for_sentences(rows, upper).with_columns(eta=pl.lit(eta), maxStage=pl.lit(max_stage))
    line, sentence = pl.lit(None, pl.String), pl.lit(None, pl.String)
    # The other forms of HPCC++ (hpcc_aecn, …) share its lines, but for those that go by time.
    name = pl.col("algorithm").cast(pl.String)
    own = name.is_in(list(dict.fromkeys(step.algorithm for step in STEPS)))
    family = pl.when(own).then(name).otherwise(name.str.replace("^hpcc_.*", "hpcc"))
    for step in STEPS:
        if not set(MARK.findall(step.sentence)) <= set(words.columns):
            continue  # of an algorithm that did not run
        here = (pl.col("branch").cast(pl.String) == step.branch) & (family == step.algorithm)
        line = pl.when(here).then(pl.lit(step.line)).otherwise(line)
        sentence = pl.when(here).then(worded(step.sentence, words.schema)).otherwise(sentence)
    told = words.with_columns(line.alias("line"), sentence.alias("sentence"))
    return rows.with_columns(told["line"], told["sentence"])


def for_sentences(rows: pl.DataFrame, upper: Collection[str]) -> pl.DataFrame:
    """The rows with the U that decided, and with faults by name."""
    algorithm = pl.col("algorithm").cast(pl.String)
    if upper and "U_upper" in rows.columns:
        decided = pl.when(algorithm.is_in(list(upper))).then("U_upper")
        rows = rows.with_columns(pl.coalesce(decided, "U").alias("U"))
    if "faults" not in rows.columns:
        return rows
    rows = rows.with_columns(algorithm)
    seen = rows.select("algorithm", "faults").unique()
    texts = [
        None if faults is None else ", ".join(fault_names(name, faults)) or "none"
        for name, faults in seen.iter_rows()
    ]
    named = seen.with_columns(pl.Series("names", texts, pl.String))
    on = ["algorithm", "faults"]
    joined = rows.join(named, on=on, how="left", maintain_order="left", nulls_equal=True)
    return joined.with_columns(faults="names").drop("names")


def worded(sentence: str, schema: pl.Schema) -> pl.Expr:
    """A sentence with its {names} replaced by what the row holds; a null reads "unknown"."""
    texts = []
    for name in MARK.findall(sentence):
        value = pl.col(name)
        if schema[name].is_float():
            value = value.round_sig_figs(DIGITS)
        texts.append(value.cast(pl.String).str.strip_suffix(".0").fill_null("unknown"))
    return pl.format(MARK.sub("{}", sentence), *texts)


def objects(traced: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """One JSON-ready object a decision, in order: `COMMON`, then the variables of its algorithm."""
    finite = traced.with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name)
        for name, dtype in traced.schema.items()
        if dtype.is_float()
    )
    for row in finite.iter_rows(named=True):
        algorithm = row["algorithm"]
        own = FIELDS.get(algorithm) or companion_fields(algorithm)
        told = {name: row[name] for name in (*COMMON, *own)}
        if algorithm in FAULTS:
            told["fault_names"] = list(fault_names(algorithm, row["faults"] or 0))
        told |= dict.fromkeys(not_known(told))
        yield {**told, "line": row["line"], "sentence": row["sentence"]}


def not_known(told: Mapping[str, Any]) -> Iterator[str]:
    """The fields of an object whose number stands for what is not known."""
    for name in LEAST.keys() & told.keys():
        if told[name] is not None and told[name] < LEAST[name]:
            yield name
    if told["branch"] == "unsighted":
        yield "expected_bytes"
    if told.get("verdict") == "unknown":
        yield "sure"
