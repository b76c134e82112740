"""Rows that go into the loop and decisions that come out of it, column by column.

Columns are read and written where they lie; inside the loop one row and one decision are records.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import LAYERS, TCP, Arena, arrow, inlined, nothing
from pipeline.accecn import ACE_FLAGS, ECHO, MARKED
from pipeline.cc.hop_record import KINDS
from pipeline.cc.parameter import Record, state_dtype
from pipeline.memory import Count, Echo, Ints
from pipeline.sack_blocks import numbered, sacks_of
from pipeline.sender import ACK
from pipeline.stacks import Lying, paths_of, stacks_of

ROW = state_dtype(
    ("i8", "at", "time_ns", "seq", "ack", "payload", "telemetry", "stack", "direction"),
    ("i8", "tcp_flags"),
    ("i4", "sacked", "hints", "marked"),
    ("i1", "kind", "ecn", "echo"),
)
"""One row of a batch, the one at `at`, what is null as 0; `telemetry` is its row among the stacks,
`stack` that among those brought near, and `sacked` that among the SACK blocks, or -1."""


class Kind(IntEnum):
    """What a row is to the senders of its conversation; none up to PROBE moves anything of them."""

    OTHER = 0
    PROBE = 1
    TCP = 2
    DATA = 3
    ACK = 4
    NACK = 5
    ROCE_REQUEST = 6
    ROCE_READ = 7
    ROCE_CNP = 8
    ROCE_ACK = 9
    ROCE_NAK = 10
    ROCE_RNR = 11
    ROCE_RESPONSE = 12


ANSWERS = np.zeros(len(Kind) + 1, np.bool_)
"""Whether a row of each kind acknowledges something; of TCP its flags tell."""
ANSWERS[[kind for kind in Kind if kind in (Kind.ACK, Kind.NACK) or kind >= Kind.ROCE_ACK]] = True
PSNS = 1 << 24
"""RoCE's packet sequence numbers are modulo this."""
RENEWED, BEGINNING, UNPAIRED = 1, 2, 4
"""What `tcp_flags` of a RoCE row say: a new connection on the queue pair; a connection seen
from its beginning; an ACK of which it is not known whose data it acknowledges."""
COLUMNS = {
    "conversation": ("conversation", np.uint64),
    "time_ns": ("time_ns", np.int64),
    "seq": ("seq", np.uint32),
    "ack": ("ack", np.uint32),
    "payload": ("payload_bytes", np.uint32),
    "tcp_flags": ("flags", np.uint16),
    "mss": ("mss", np.uint16),
    "direction": ("direction", np.uint8),
    "ecn": ("ecn", np.uint8),
    "src_nic_bps": ("src_nic_bps", np.int64),
    "dst_nic_bps": ("dst_nic_bps", np.int64),
    "base_rtt_ns": ("base_rtt_ns", np.int64),
    "window_bytes": ("window_bytes", np.int64),
    "hints": ("hints", np.uint8),
    "echo": (ECHO, np.uint8),
    "marked": (MARKED, np.int32),
}
"""Fields of `Rows`, the columns of observations that they are read from, and their types."""


class Rows(NamedTuple):
    """The rows of a batch, one array a field; the last three are numbers given here."""

    conversation: NDArray[np.uint64]
    time_ns: NDArray[np.int64]
    seq: NDArray[np.uint32]
    ack: NDArray[np.uint32]
    payload: NDArray[np.uint32]
    tcp_flags: NDArray[np.uint16]
    mss: NDArray[np.uint16]
    direction: NDArray[np.uint8]
    ecn: NDArray[np.uint8]
    src_nic_bps: NDArray[np.int64]
    dst_nic_bps: NDArray[np.int64]
    base_rtt_ns: NDArray[np.int64]
    window_bytes: NDArray[np.int64]
    hints: NDArray[np.uint8]
    echo: NDArray[np.uint8]
    marked: NDArray[np.int32]
    kind: NDArray[np.uint8]
    timestamps: NDArray[np.bool_]
    telemetry: NDArray[np.int32]
    sacked: NDArray[np.int32]
    point: NDArray[np.int32]


class Opening(NamedTuple):
    """Columns of `Rows` that are read when something of a flow begins, and only then."""

    mss: NDArray[np.uint16]
    timestamps: NDArray[np.bool_]
    src_nic_bps: NDArray[np.int64]
    dst_nic_bps: NDArray[np.int64]
    base_rtt_ns: NDArray[np.int64]
    window_bytes: NDArray[np.int64]


LOAD = state_dtype(("i4", "nhop", "faults"), ("i2", "fell", "anew"), ("i1", "reflected", "width"))
"""What is known of one row with telemetry beside its stack; the faults are given back, and the hops
whose bytes sent `fell`, or began `anew` (`hop_record.fallen`). `width` says which of the widths of
`Rules` its counters have."""
IFA_WIDTH = 2
OF_IFA = 1 << LAYERS.index("ifa")

DECISION_FIELDS = {
    "i8": ("row", "inflight_bytes", "acked_bytes", "marked_bytes", "BytesAcked", "BytesMarked"),
    "f8": ("before", "U", "W", "Wc", "R", "u_max", "alpha", "M", "cwnd", "ssthresh"),
    "u4": ("ack", "lastUpdateSeq", "WindowEnd"),
    "i4": ("incStage", "hop_count", "faults"),
    "i1": (
        "u_hop", "algorithm", "branch", "direction", "quality", "why", "dialect", "basis", "echo",
        "again",
    ),
}  # fmt: skip
AHEAD = 64
"""Rows that are brought near at a time (`near`)."""
BLOCK = 104
"""Room for decisions before they go to columns: few, so that all stay near, and an odd number of
cache lines of any field, so that fields do not take each other's places there."""
TOGETHER = 32
"""So many decisions go to columns together, or some more: registers are filled whole."""
DECISION = state_dtype(*(((kind, BLOCK), *names) for kind, names in DECISION_FIELDS.items()))
"""A block of decisions, field by field; `row` is the row of the batch that drove one.

`before` is U, or of DCTCP alpha, before the decision."""


class Batch(NamedTuple):
    """What the loop's parts read and write beside the state.

    Of rows with telemetry: where their values lie and up to which row (`stacks.Lying`), the words
    of their paths, and u' (hop, row) out. `told` (kind, hop, row) and `u_near` (hop, row) are those
    of the rows that have been brought near, which begin at row span[0] and are span[1]. `stacks`
    (kind, hop, row) are all of them, where companions ask for them, else none. `sacks` are the SACK
    blocks of rows that have some, as (row, left, right, left, …), -1 is none. `block` takes
    decisions, `made` counts those in it and those laid out already, and has the bits of the
    algorithms of those in it; `trail` has a place a row, or none (`trail`).
    """

    opening: Opening
    places: Ints
    ends: Ints
    told: Ints
    u_near: NDArray[np.float64]
    span: Ints
    stacks: Ints
    path: NDArray[np.uint64]
    sacks: Ints
    loads: NDArray[Any]
    u: NDArray[np.float64]
    block: NDArray[Any]
    made: Ints
    counts: Ints
    trail: NDArray[Any]


@inlined
def read(rows: Rows, at: Any, row: Record) -> None:
    """One row of a batch into the record `row`."""
    at = np.uint64(at)  # an index without a sign is a plain load
    row.at = at
    row.time_ns = rows.time_ns[at]
    row.seq = rows.seq[at]
    row.ack = rows.ack[at]
    row.payload = rows.payload[at]
    row.tcp_flags = rows.tcp_flags[at]
    row.direction = rows.direction[at]
    row.ecn = rows.ecn[at]
    row.kind = rows.kind[at]
    row.hints = rows.hints[at]
    row.echo = rows.echo[at]
    row.marked = rows.marked[at]
    row.telemetry = rows.telemetry[at]
    row.sacked = rows.sacked[at]


@inlined
def write(batch: Batch) -> None:
    """Keep the decision that has been made."""
    batch.made[0] += 1
    batch.counts[Count.DECISIONS.value] += 1


def batch_of(
    frame: pl.DataFrame, rows: Rows, told: pl.DataFrame, lie: Lying, arena: Arena,
    trail: NDArray[Any],
) -> Batch:  # fmt: skip
    """What a batch brings and takes beside its rows; `told` are those with telemetry, `lie` where.

    All stacks are laid out where a trail is left, for those who follow it.
    """
    hops = lie.places.shape[2]
    nhop = np.minimum(told["hop_count"].to_numpy(), hops)
    loads = np.zeros(told.height, LOAD)
    loads["nhop"] = nhop
    if "int_reflected" in told.columns:
        loads["reflected"] = told["int_reflected"].fill_null(value=False).to_numpy()
    if "hpcc_kind" in told.columns:
        loads["width"] = told["hpcc_kind"].is_not_null().to_numpy()
    if "layers" in told.columns:  # its version is not stored
        loads["width"][told["layers"].to_numpy() & OF_IFA != 0] = IFA_WIDTH
    return Batch(
        Opening(*(getattr(rows, name) for name in Opening._fields)),
        lie.places,
        lie.ends,
        np.zeros((len(KINDS), hops, AHEAD), np.int64),
        np.zeros((hops, AHEAD)),
        np.zeros(2, np.int64),
        stacks_of(told, hops if trail.size else 0, arena),
        paths_of(told, nhop),
        sacks_of(frame),
        loads,
        arena.arrays(hops * told.height, np.float64)[0].reshape(hops, told.height),
        np.zeros(1, DECISION),
        np.zeros(3, np.int64),
        np.zeros(len(Count), np.int64),
        trail,
    )


def rows_of(frame: pl.DataFrame, points: NDArray[np.int32], probe_dscp: int | None = None) -> Rows:
    """The columns that the loop reads, where they lie; probes have the DSCP, if there are any."""
    read_from = {
        field: arrow.values(frame[name]).astype(kind, copy=False)
        if name in frame.columns
        else nothing(frame.height, kind)
        for field, (name, kind) in COLUMNS.items()
    }
    if ECHO in frame.columns:  # where ACE counts there is neither ECE nor CWR
        counts = read_from["echo"] != Echo.ECE.value
        read_from["tcp_flags"] = np.where(
            counts, read_from["tcp_flags"] & ~ACE_FLAGS, read_from["tcp_flags"]
        )
    hops = arrow.values(frame["hop_count"])
    read_from |= {
        "kind": kind_of(frame, probe_dscp),
        "timestamps": nothing(frame.height, np.bool_),
        "telemetry": numbers_of(hops > 0),
        "sacked": numbered(frame),
        "point": points,
    }
    if "ts_val" in frame.columns:
        read_from["timestamps"] = frame["ts_val"].is_not_null().to_numpy()
    return Rows(**{field: arrow.fixed(values) for field, values in read_from.items()})


def numbers_of(told: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The number of each row among those with telemetry, or -1."""
    if told.all():
        return np.arange(told.size, dtype=np.int32)
    if not told.any():
        return np.full(told.size, -1, np.int32)
    return np.where(told, np.cumsum(told, dtype=np.int32) - np.int32(1), np.int32(-1))


def kind_of(frame: pl.DataFrame, probe_dscp: int | None = None) -> NDArray[np.uint8]:
    """The kind of each row, see `Kind`."""
    kind = np.where(frame["protocol"].to_numpy() == TCP, Kind.TCP, Kind.OTHER).astype(np.uint8)
    if "hpcc_kind" in frame.columns:
        told = frame["hpcc_kind"].is_not_null().to_numpy()
        kind[told] = Kind.DATA + frame["hpcc_kind"].drop_nulls().to_numpy()
    if probe_dscp is not None and "dscp" in frame.columns:
        kind[(frame["dscp"] == probe_dscp).fill_null(value=False).to_numpy()] = Kind.PROBE
    return kind


def acknowledgments(rows: Rows) -> int:
    """Rows that acknowledge something."""
    acks = np.count_nonzero(rows.tcp_flags & ACK)
    if rows.kind.max(initial=0) > Kind.TCP:
        acks += np.count_nonzero(ANSWERS[rows.kind])
    return int(acks)
