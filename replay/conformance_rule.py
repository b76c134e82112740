"""What can be held against an end of a flow or its path: one table, from which answers derive."""

from dataclasses import dataclass
from typing import Literal

About = Literal["sender", "receiver", "path"]
DCTCP, ECN, HPCC = "RFC 8257", "RFC 3168", "draft-miao-ccwg-hpcc-03"


@dataclass(frozen=True, slots=True)
class Rule:
    """One finding: whom it is about, what it means, and the document that says otherwise.

    `error` is the share of cases in which an end that conforms may look as if it did not, by what a
    capture misses or the document leaves open; `least` is how many cases are needed; `unit` is what
    a case is, several of them.
    """

    name: str
    about: About
    meaning: str
    document: str
    error: float
    least: int
    unit: str


RULES = (
    Rule("ece_ignored", "sender",
         "ECE was not answered: no CWR came within two round trips, and as much stayed in flight as"
         " before.",
         f"{DCTCP} 3.3 step 9, {ECN} 6.1.2", 0.02, 3, "windows"),
    Rule("cwr_missing", "sender",
         "ECE was not answered by CWR within two round trips; whether the window fell all the same"
         " is not shown by the bytes in flight.",
         f"{DCTCP} 3.3, {ECN} 6.1.2", 0.02, 3, "windows"),
    Rule("reaction_late", "sender",
         "CWR answered ECE only when all that was in flight had been acknowledged: a round trip"
         " late, again and again.",
         f"{DCTCP} 3.3, {ECN} 6.1.2", 0.25, 5, "reactions"),
    Rule("cut_twice", "sender",
         "CWR came again before the window of the last reduction was acknowledged, without a loss:"
         " more than one cut a window.",
         f"{DCTCP} 3.3 step 9", 0.02, 3, "cuts"),
    Rule("cut_missing", "sender",
         "CWR says that the window was reduced, but two round trips later as much is in flight as"
         " before, although alpha asked for less.",
         f"{DCTCP} 3.3 step 9", 0.1, 5, "cuts"),
    Rule("window_exceeded", "sender",
         "The sender sent although more than W was in flight.",
         f"{HPCC} 4.2", 0.02, 5, "sends"),
    Rule("window_late", "sender",
         "The sender kept to the W of a round trip ago: it reacts late.",
         f"{HPCC} 4.2", 0.02, 5, "sends"),
    Rule("rate_exceeded", "sender",
         "The sender was faster than R.",
         f"{HPCC} 4.2", 0.05, 5, "round trips"),
    Rule("never_echoes", "receiver",
         "Data arrived with CE, and no acknowledgment has ECE.",
         f"{DCTCP} 3.2, {ECN} 6.1.3", 0.02, 6, "acknowledgments"),
    Rule("echoes_unmarked", "receiver",
         "Acknowledgments have ECE although no data arrived with CE since ECE was last clear, and"
         " came too soon for a queue behind the tap to have marked it: neither receivers of DCTCP"
         " nor classic ones do so.",
         f"{DCTCP} 3.2, {ECN} 6.1.3", 0.5, 20, "acknowledgments"),
    Rule("contradicts", "receiver",
         "ECE follows neither the rule of DCTCP's receivers nor that of classic ECN.",
         f"{DCTCP} 3.2, {ECN} 6.1.3", 0.02, 6, "acknowledgments"),
    Rule("ends_differ", "receiver",
         "ECE lasts until CWR, as classic ECN has it, and the sender is said to run DCTCP.",
         f"{DCTCP} 5", 0.02, 6, "acknowledgments"),
    Rule("acks_missing", "path",
         "Packets that the receiver sent are missing, by their IP identification: lost on their"
         " way to this point, or not captured.",
         "RFC 6864 4.1; of stacks that are seen to count their packets", 1e-4, 1, "packets"),
)  # fmt: skip
"""All rules."""
BY_NAME = {rule.name: rule for rule in RULES}

UNDECIDED = {
    "no_acks": "its acknowledgments were not seen here",
    "no_data": "its data was not seen here, only the acknowledgments",
    "no_handshake": (
        "the handshake was not seen, so how far the tap is from the sender is not known;"
        " pipeline.near names senders that it stands beside"
    ),
    "not_agreed": "the handshake did not agree on ECN, so ECE asks for nothing",
    "after_queue": "the tap is behind the queue that marks, so what the sender knew is not seen",
    "far": "the tap is farther from the sender than from the receiver",
    "holes": "frames of the data are missing: reactions beside a hole are not judged",
    "resent": (
        "while a loss is mended cwnd is not known well enough: bytes in flight are judged again"
        " where all that was sent before is acknowledged"
    ),
    "mid_flow": "its beginning was not seen, so cwnd is not known: bytes in flight are not judged",
    "mended_larger": (
        "after a loss more was in flight than cwnd as it is known: bytes in flight are not judged"
        " until another one is mended"
    ),
    "began_larger": (
        "more was in flight than cwnd before anything asked for less: dctcp.initial_window is"
        " larger, or cwnd was not limited as is thought"
    ),
    "all_echoed": (
        "nearly every acknowledgment has ECE: all is marked, or the receiver sets it without marks;"
        " a tap beside the receiver tells"
    ),
    "hpcc_step": (
        "the step W_ai of its window is not known, so W is not: tell hpcc.N, or hpcc.W_ai, as the"
        " sender has it"
    ),
    "hpcc_base": (
        "even the fastest acknowledgment took more than twice the base round trip T, so T is not"
        " the path's: W is not judged"
    ),
    "hpcc_line": (
        "it was faster than the line rate of its NIC as it is told, so W is not its: the topology"
        " or pipeline.nic_gbps tells another"
    ),
    "marks_behind": "a queue behind the tap may have set the CE that was echoed",
}
"""Why something is not decided, in words; of HPCC++ the words are those of `step.WHY`."""
