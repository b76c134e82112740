"""What can be found out about telemetry: one table, from which answers and the reference derive."""

from dataclasses import dataclass
from typing import Literal

TABLE = "telemetry_health"
"""Where findings are stored."""
Class = Literal["coverage", "device", "deployment", "clock"]
YES, CANNOT_TELL = "yes", "cannot_tell"
"""What is said of a finding: it is so, or what was seen does not decide."""
CSIG = "draft-ravi-ippm-csig-00"
DCTCP = "RFC 8257"
ECN = "RFC 3168"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that can be found; `tells` is what decides where this was not enough.

    `kind` says whom it concerns: the `coverage` of paths, a `device` that breaks the rules, the
    `deployment` of congestion control, or a `clock`.
    """

    name: str
    kind: Class
    meaning: str
    rule: str
    evidence: str
    tells: str


FINDINGS: tuple[Finding, ...] = (
    Finding(
        "not_captured",
        "coverage",
        "A live source was not captured for a time, or lost frames: verdicts of that time rest on "
        "what is left.",
        "none: whoever captures has to keep up, and to begin anew soon",
        "frames that were lost, of all that came by; neither where nobody captured",
        "nothing more is needed",
    ),
    Finding(
        "tagged",
        "coverage",
        "Data on this path arrives with a CSIG tag.",
        f"{CSIG} 4",
        "tagged and untagged data frames where the path ends",
        "nothing more is needed",
    ),
    Finding(
        "untagged_on_arrival",
        "coverage",
        "Data of a path that carries tags elsewhere arrives without one.",
        f"{CSIG} 6.1; stripped or never tagged",
        "untagged and tagged data frames at the point",
        "a tap at the sender's port: only what was tagged there was stripped",
    ),
    Finding(
        "never_tagged",
        "coverage",
        "Data enters the network without a tag, at the port of its sender.",
        f"{CSIG} 6.1",
        "untagged data frames at the sender's port",
        "nothing more is needed",
    ),
    Finding(
        "stripped",
        "coverage",
        "A tag is seen at one point and the same packet without it at a later one.",
        f"{CSIG} 4; the tag belongs to the whole path within its domain",
        "frames that lost their tag between the two points, of all that both saw",
        "taps between the two points",
    ),
    Finding(
        "leaking",
        "coverage",
        "Tags leave the domain, through a port behind which the topology has neither device nor "
        "host.",
        f"{CSIG} 7: a tag is removed where the domain ends",
        "tagged frames at that port",
        "the direction of the point in the topology, or a tap outside",
    ),
    Finding(
        "vanishing",
        "coverage",
        "Tagged frames to a host are lost where untagged ones pass: a device discards them.",
        f"{CSIG} 7: a device that does not know the tag's TPID",
        "tagged and untagged frames at both points",
        "a tap at the receiver's port, and taps between the two points",
    ),
    Finding(
        "unsupported_signal",
        "coverage",
        "No port of the device is ever named for a type of signal, though others name it often.",
        f"{CSIG} 5.1: signals that a hop lacks pass it unchanged",
        "tags that name the device, by type of signal",
        "the signals of the device in the topology, or INT of the same device",
    ),
    Finding(
        "other_buckets",
        "coverage",
        "Values from a device lie outside the table of buckets that it is said to use, or stand "
        "for other values than it says.",
        f"{CSIG} 5.2 and Appendix A",
        "tags that name the device whose value no bucket has; of each value what counters of the "
        "port show, beside the ends of its bucket",
        "the device's buckets in the topology; of edges inside the range also INT with byte "
        "counters of the port, at several loads: one value alone may be measured otherwise",
    ),
    Finding(
        "unknown_locator",
        "device",
        "A replaced signal names a locator that no port of the topology has.",
        f"{CSIG} 5.5.2: a device writes its own LM",
        "tags with that locator, and the devices that all of their flows may cross",
        "taps on both sides of each device",
    ),
    Finding(
        "impossible_value",
        "device",
        "A value that the named port cannot have: more bandwidth than its capacity.",
        f"{CSIG} 5.1: available bandwidth is at most C",
        "tags that name the port with a value above its capacity",
        "the capacity of the port, by INT of the same link",
    ),
    Finding(
        "constant_minimum",
        "device",
        "A port always reports that nothing is available, while packets of several senders cross "
        "it and find no queue.",
        f"{CSIG} 5.1: the signal is measured",
        "tags that name the port, all with the smallest value; senders; tags of max(PD) on the "
        "same flows, and how many of them exclude a queue",
        "a second sender through the port, max(PD) on the same flows, INT or a tap at the port",
    ),
    Finding(
        "foreign_locator",
        "device",
        "Between two points S was replaced, with a locator of a port that does not lie between.",
        f"{CSIG} 5.5.2: a device writes its own LM",
        "frames whose locator was replaced so, of all that both points saw",
        "taps on both sides of each device between the two points",
    ),
    Finding(
        "locator_without_signal",
        "device",
        "Between two points LM changed while T and S did not.",
        f"{CSIG} 5.5: LM is unchanged when S is not replaced",
        "frames whose LM alone changed, of all that both points saw",
        "taps on both sides of each device between the two points",
    ),
    Finding(
        "against_aggregation",
        "device",
        "Between two points S of a minimum rose or S of a maximum fell.",
        f"{CSIG} 5.4.2: compare and replace",
        "frames whose S moved so, of all that both points saw",
        "taps on both sides of each device between the two points",
    ),
    Finding(
        "type_changed",
        "device",
        "Between two points the type of the signal, or the variant of the tag, changed.",
        f"{CSIG} 5.1: the sender chooses T",
        "frames whose T or variant changed, of all that both points saw",
        "taps on both sides of each device between the two points",
    ),
    Finding(
        "tag_inserted",
        "device",
        "A packet has a tag at the later of two points and had none at the earlier one.",
        f"{CSIG} 6: senders tag, transit devices must not",
        "frames that gained a tag, of all that both points saw",
        "taps on both sides of each device between the two points",
    ),
    Finding(
        "mark_cleared",
        "device",
        "A packet carries CE at the earlier of two points and at the later one is ECN-capable "
        "without it: senders behind do not hear of congestion before.",
        f"{ECN} 5: CE is left unchanged",
        "frames that lost the mark, of those that carried it where both points saw them",
        "taps on both sides of each device between the two points",
    ),
    Finding(
        "ecn_erased",
        "device",
        "A packet is ECN-capable, or marked, at the earlier of two points and not ECN-capable at "
        "the later one: queues behind it drop what they would mark.",
        f"{ECN} 18.1.2: the field is for the ends to set",
        "frames that lost it, of those that were ECN-capable where both points saw them",
        "taps on both sides of each device between the two points",
    ),
    Finding(
        "unauthorised_host",
        "device",
        "A host tags that is not among those that may.",
        f"{CSIG} 7.2, by the setting pipeline.csig_hosts",
        "tagged frames that enter at the host's port",
        "a tap at the host's port",
    ),
    Finding(
        "under_reporting",
        "device",
        "Tags that crossed a port promise more bandwidth than INT, reports or marks of the same "
        "port leave, and the device does name itself at other times.",
        f"{CSIG} 5.1: the smallest value of the path is kept",
        "stretches of 250 us in which even the smallest value is too large, of all that INT or "
        "marks decide",
        "INT, IOAM or reports of the same link with byte counters, utilisation, queue or delay, or "
        "taps on both sides that see marks; of links between switches also a tap at the port above "
        "the sender's, which tells the way",
    ),
    Finding(
        "pass_through",
        "device",
        "As under_reporting, and the device never names itself: it forwards tags as they come.",
        f"{CSIG} 5.3: a forwarding unit may pass tags through, and is then blind",
        "stretches of 250 us in which even the smallest value is too large, of all that INT or "
        "marks decide",
        "INT or reports of the same link, or taps on both sides that see marks; of links between "
        "switches also a tap at the port above the sender's, which tells the way",
    ),
    Finding(
        "dctcp_beside_classic",
        "deployment",
        "Flows that run DCTCP and flows of classic TCP share one queue.",
        f"{DCTCP} 5: classic TCP is starved or DCTCP is",
        "data frames of flows recognised as DCTCP, recognised as classic ECN, not recognised and "
        "not ECN-capable, to one port in one class",
        "acknowledgments of the ECN-capable flows, in which ECE follows the marks or lasts until "
        "CWR: a tap that sees both directions",
    ),
    Finding(
        "ect_without_marks",
        "deployment",
        "ECN-capable packets cross a port with a long queue and none of them is marked.",
        f"{DCTCP} 3.1 and 5: switches on the path mark",
        "ECN-capable tags of max(PD) that name the port with a long queue, marked and not",
        "the marking threshold of the port in the topology",
    ),
    Finding(
        "control_dropped",
        "deployment",
        "Handshakes that are not ECN-capable are repeated towards a port where ECN-capable data is "
        "marked: the queue drops what it cannot mark.",
        f"{DCTCP} 5.1: packets that are not ECT",
        "repeated SYN without ECT, and marked data, to the same port",
        "reports of dropped packets of the port",
    ),
    Finding(
        "ends_differ",
        "deployment",
        "Senders that answer like DCTCP and senders of classic ECN send to one host.",
        f"{DCTCP} 5 and 3.2: both ends must use DCTCP",
        "conversations by the dialect that was recognised",
        "the companion dctcp_receiver with a tap near the receiver",
    ),
    Finding(
        "clock_offset",
        "clock",
        "The clocks of two observation points differ: packets would arrive before they left.",
        "the smallest transit of either direction bounds the offset",
        "smallest transit in both directions, estimate and bound",
        "packets of the other direction at both points",
    ),
)
"""All findings, in the order in which they are shown."""
BY_NAME = {finding.name: finding for finding in FINDINGS}
