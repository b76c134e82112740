"""State of a simulated fabric: records for ports, hosts, flows and packets, in one named tuple.

Units: times ns of virtual time, rates bit/s, sizes bytes, sequence numbers bytes of the flow's
stream (0 is its first byte). A row number of -1 is none.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

HOPS = 5
"""Most egress ports on a path: leaf, spine, core, spine, leaf."""
TELEMETRIES = 18
(
    INT, CSIG_COMPACT, CSIG_EXPANDED, AECN, ECN, NONE, IFA, IOAM, SINK, POSTCARDS,
    INT_1, MX, POSTCARDS_1, POSTCARDS_05, TCP_INT, ROCE, HPCC_INT, ACCECN,
) = range(TELEMETRIES)  # fmt: skip
"""Telemetry that a flow's data carries; ECN: marks alone, NONE: not even these; SINK: INT between
the leaves, of which the last one reports; POSTCARDS: nothing, but every switch reports. INT flows
run HPCC++, the others DCTCP. From INT_1 on they are other forms on the wire of what the first ones
do (`carriage`): switches and senders know the first ten only."""
STACKED = (INT, IFA, IOAM, SINK, POSTCARDS)
"""Telemetry to which every hop adds what it sees."""
FIRST, LAST, ABOVE, REPORTED = range(4)
"""Edges at which a packet is seen: its sender's and its receiver's, and above its first leaf, at
the port to a spine, after that port's update; from `REPORTED` on, by a report of the first switch,
of the second, and so on."""
EDGES = REPORTED + HOPS
DATA, ACK, SYN, SYN_ACK, HANDSHAKE_ACK = range(5)
"""Kinds of packets."""
SIGNALS = 3
"""CSIG signal types in rotation: min(ABW), min(ABW/C), max(PD)."""
INFOS = 5
"""AECN informations: inflight ratio, DRE, queue utilisation, queue delay, congested hops."""
RATIO_SCALE = 0.01
"""AECN inflight ratio, DRE and queue utilisation per unit of their octet."""
DELAY_UNIT_NS = 1000
"""AECN queue delay per unit of its octet."""
BUCKETS = 32
"""Values of a compact tag's S."""
KINDS = 5
"""Kinds of packets."""
CLASSES = 2
"""Queues of a port; the second is of urgent data."""
ONE, STRICT, DWRR = range(3)
"""How a port serves its classes."""
BIN_NS = 1_000_000
"""Width of the bins of the exact counters."""
COUNTERS = 4
AREA, STANDING, SENT, DROPPED = range(COUNTERS)
"""Exact counters: queue integral in bytes*ns, ns with a queue above K, bytes sent, packets lost."""
CSIG_WINDOW_NS = 256_000
"""Window over which a port measures its available bandwidth (CSIG 5.3.2)."""
SWITCH_NS = 500
"""From the last bit of a packet to its place in the egress queue: the base of the per-hop delay."""
RECEIVER_NS = 1_000
"""From the last bit of a packet to the answer that its receiver hands to its NIC."""


def _record(*fields: Any) -> np.dtype[Any]:
    """Records with attribute access, in kernels and in plain Python."""
    return np.dtype((np.record, np.dtype(list(fields), align=True)))


PORT = _record(
    ("node_id", "u4"), ("port_id", "u2"), ("lm", "u2"), ("lm_compact", "u1"),
    ("edge", "u1"), ("busy", "u1"), ("rogue", "u1"), ("bps", "i8"), ("prop_ns", "i8"),
    ("head", "i8", (CLASSES,)), ("tail", "i8", (CLASSES,)), ("class_bytes", "i8", (CLASSES,)),
    ("deficit", "i8", (CLASSES,)), ("turn", "i8"),
    ("queue_bytes", "i8"), ("tx_bytes", "i8"), ("since_ns", "i8"),
    ("window", "i8"), ("window_tx", "i8"), ("abw_bps", "i8"), ("dre_bytes", "f8"), ("dre_ns", "i8"),
    ("down_ns", "i8"), ("mark_bytes", "i8"), ("room_bytes", "i8"), ("told_bps", "i8"),
)  # fmt: skip
"""An egress port of a switch: who it is, its queues by class and together, its counters, its CSIG
window and its DRE; `rogue` is its place in `rogue.ROGUES`; from `down_ns` on it loses all; its own
K, what its buffer holds, the B that its telemetry tells."""
HOST = _record(
    ("bps", "i8"), ("cpu_bps", "i8"), ("free_ns", "i8"), ("wake_ns", "i8"),
    ("head", "i8"), ("tail", "i8"), ("first", "i8"), ("count", "i8"), ("turn", "i8"),
)  # fmt: skip
"""A host: its NIC, how fast it hands data to that (0: as fast as it sends), the answers that wait
in it, the flows that it sends and whose turn it is."""
PHASE = _record(("at_ns", "i8"), ("rate_bps", "i8"), ("path", "i8"), ("limit", "i8"))
"""From a time on a flow offers a rate (0: all it may, -1: nothing) on a path, up to the byte
`limit` of its stream."""
PATH = _record(("hops", "i8"), ("port", "i8", (2, HOPS)))
"""Egress ports of a flow's data (0) and of its acknowledgments (1), nearest their sender first."""
FLOW = _record(
    ("kind", "u1"), ("form", "u1"), ("established", "u1"), ("draining", "u1"), ("cwr", "u1"),
    ("ecn", "u1"), ("swift", "u1"), ("urgent", "u1"),
    ("src", "i8"), ("dst", "i8"), ("start_ns", "i8"),
    ("phase", "i8"), ("phases", "i8"), ("phases_end", "i8"), ("path", "i8"), ("rotation", "i8"),
    ("snd_una", "i8"), ("snd_nxt", "i8"), ("rcv_nxt", "i8"),
    ("pace_ns", "i8"), ("app_ns", "i8"), ("random", "u8"),
    ("duplicates", "i8"), ("recover", "i8"), ("heard_ns", "i8"),
    ("payload", "i8"), ("octets", "i8", (KINDS,)), ("window", "i8"), ("t_ns", "i8"),
    ("nic_bps", "i8"),
    ("out_ns", "i8"), ("back_ns", "i8"), ("answer_ns", "i8"),
    ("each", "i8"), ("patience_ns", "i8"), ("waiting", "i8"), ("held", "i8"), ("last_ce", "u1"),
    ("repaced", "u1"), ("late", "u1"), ("tunnel", "u1"), ("around", "i8"),
    ("drain_bps", "i8"), ("socket_bytes", "i8"), ("empty_ns", "i8"), ("edge", "i8"),
    ("updating", "u1"),
)  # fmt: skip
"""A flow's two ends; `ecn`: its data is ECN capable. Of what it lost: duplicate ACKs in a row, the
end of what was in flight when it went back, when its sender last heard of progress. `payload` is
of a full segment, `octets` of frames by kind (0: as rules say), `window` what its receiver
advertises, `t_ns` and `nic_bps` its T and B_nic; `out_ns` and `back_ns` are what the way from its
host and back to it takes beside what ports and links add, `answer_ns` what its receiver takes.
`each` segments (0: one) are acknowledged together, or after `patience_ns`; `waiting` are not yet,
`held` is the ACK that would say so, `last_ce` the mark of the newest. `repaced`: a new R moves what
already waits for its turn; `late`: its handshake is yet to be scheduled. `form` is what its frames
look like, `around` the octets of the `tunnel` around each. A receiver whose application reads at
`drain_bps` (0: at once) keeps what is unread in `socket_bytes`, and will have read it all at
`empty_ns`; `edge` is the end of what it has room for, `updating`: it will say when that moves."""
PACKET = _record(
    ("flow", "i8"), ("path", "i8"), ("next", "i8"), ("echo", "i8"), ("size", "i8"),
    ("kind", "u1"), ("hop", "u1"), ("ce", "u1"), ("ece", "u1"), ("cwr", "u1"), ("csig_t", "u1"),
    ("inserted", "u1"), ("csig_lm", "u2"), ("csig_s", "u4"), ("aecn", "u1", (INFOS,)),
    ("up_ce", "u1"), ("up_inserted", "u1"), ("up_lm", "u2"), ("up_s", "u4"),
    ("up_aecn", "u1", (INFOS,)), ("ce_hop", "u1"), ("up_ns", "i8"),
    ("payload", "i8"), ("seq", "i8"), ("first_ns", "i8"), ("last_ns", "i8"), ("queued_ns", "i8"),
    ("qlen", "i8", (HOPS,)), ("ts_ns", "i8", (HOPS,)), ("tx_bytes", "i8", (HOPS,)),
    ("wait_ns", "i4", (HOPS,)), ("used_ppm", "u4", (HOPS,)), ("depth", "i8", (HOPS,)),
    ("window", "i8"), ("bare", "u1"),
)  # fmt: skip
"""One packet: first_ns its first bit at the sender's edge, last_ns its last bit at the receiver's
(0: under way); seq its first byte, of acknowledgments the next byte expected; echo the data;
inserted: a switch put the tag on. `up_ns` (0: never) is when it left its first leaf for a spine,
with the other `up` columns; `ce_hop` is where it was marked, `used_ppm` each hop's DRE. Data of
every telemetry has `ts_ns`, when it left a hop, and `depth`, what of all classes waited then. An
acknowledgment of a slow receiver says its `window`; `bare`: it says nothing else."""
DECISION = _record(
    ("time_ns", "i8"), ("flow", "i8"), ("packet", "i8"), ("branch", "i8"), ("u_hop", "i8"),
    ("incStage", "i8"), ("ack", "i8"), ("snd_nxt", "i8"), ("lastUpdateSeq", "i8"),
    ("WindowEnd", "i8"), ("BytesAcked", "i8"), ("BytesMarked", "i8"),
    ("U", "f8"), ("W", "f8"), ("Wc", "f8"), ("R", "f8"), ("u_max", "f8"),
    ("alpha", "f8"), ("cwnd", "f8"), ("ssthresh", "f8"),
)  # fmt: skip
"""What a sender held after one acknowledgment, in the documents' names; BytesAcked and BytesMarked
are those of the window that it ended, else of the open one."""


RULES = _record(
    ("base_rtt_ns", "i8"), ("buffer_bytes", "i8"), ("payload_bytes", "i8"), ("switch_ns", "i8"),
    ("qlen_unit", "i8"), ("tx_unit", "i8"),
    ("hop_octets", "i8", (TELEMETRIES,)), ("sink_octets", "i8"),
    ("octets", "i8", (HOPS + 1, KINDS, TELEMETRIES)),
    ("buckets", "f8", (SIGNALS, BUCKETS)), ("quanta", "f8", (SIGNALS,)),
    ("initial", "i8", (2, SIGNALS)), ("packets", "i8"), ("decisions", "i8"), ("queues", "i8"),
    ("lossy", "i8"),
)  # fmt: skip
"""What holds for the whole fabric: T, sizes, what a switch takes, the units of qlen and txBytes;
octets that a hop adds, and those that the first leaf adds and the last one takes away where it is a
sink; octets of a frame at its first edge by hops of the path, packet kind and telemetry; lower
edges of compact CSIG buckets (padded with infinity), quanta of expanded signals, S as senders write
it by variant; numbers of packets and decisions so far; `lossy`: whether ports drop what their
buffer does not hold, or fail."""


class State(NamedTuple):
    """All that the compiled loop reads and writes."""

    heap: Any
    rules: Any
    ports: NDArray[Any]
    hosts: NDArray[Any]
    flows: NDArray[Any]
    phases: NDArray[Any]
    paths: NDArray[Any]
    packets: NDArray[Any]
    decisions: NDArray[Any]
    hpcc: NDArray[Any]
    links: NDArray[np.int64]
    dctcp: NDArray[Any]
    swift: NDArray[Any]
    hpcc_parameters: Any
    dctcp_parameters: Any
    swift_parameters: Any
    counters: NDArray[np.int64]
    """Counter by bin of `BIN_NS` by port."""
