"""What the tracker remembers of each conversation at each point, and what it reads and gives."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.cc.parameter import state_dtype

Ints = NDArray[np.int64]


class Mark(IntEnum):
    """Bits of what is known of one sender at one point."""

    NUMBERED = 1
    SYN_SEEN = 2
    ECN_ASKED = 4
    ECN_AGREED = 8
    ECT_SEEN = 16
    CE_SEEN = 32
    GAP = 64
    REFLECTED = 128
    STACKED = 256
    HPCC = 512
    DCTCP = 1024
    LOADS = 2048
    PENDING = 4096
    NS3_STACK = 8192
    TIMESTAMPS = 16384
    SHAKEN = 32768
    ANSWERED = 65536
    BOARD = 1 << 20
    FIN_SENT = 1 << 21
    ECE_LAST = 1 << 22
    DELAYS_ACKS = 1 << 23
    LATE = 1 << 24
    SENT = 131072
    CLOSED = 1 << 18
    T_TOLD = 1 << 19
    READING = 1 << 25
    WENT_BACK = 1 << 26
    ANCHORED = 1 << 27
    ASTRAY = -(1 << 31)


DIALECT_AT = 28
"""Where in the marks the three bits of a dialect are that settings told, 0 if none did."""


class Quality(IntEnum):
    """How far a decision's state can be trusted."""

    EXACT = 0
    ESTIMATED = 1
    UNKNOWN = 2


class Why(IntEnum):
    """Why the quality is not exact."""

    NOTHING = 0
    MID_FLOW = 1
    GAP = 2
    AFTER_QUEUE = 3
    RECEIVER_TIME = 4
    FAR_FROM_SENDER = 5
    NIC_UNKNOWN = 6
    T_UNKNOWN = 7
    T_FROM_HANDSHAKE = 8
    CLASSIC_ECN = 9
    QUEUE_PAIR = 10
    ANCHORED = 11
    BOUNDS = 12
    ACCECN = 13
    ACE = 14


class Echo(IntEnum):
    """How an ACK says what was marked (`accecn`).

    Of `UNKNOWN` ones the beginning was not seen: what is read as ECE may be a counter.
    """

    ECE = 0
    BYTES = 1
    SEGMENTS = 2
    UNKNOWN = 3
    NONE = 4


class Algorithm(IntEnum):
    """Whose recurrence made a decision."""

    HPCC = 1
    DCTCP = 2


class Basis(IntEnum):
    """How the DCTCP dialect was found."""

    SET = 0
    HANDSHAKE = 1
    ASSUMED = 2
    REACTIONS = 3


class Count(IntEnum):
    """What is counted of the rows."""

    DECISIONS = 0
    FLOWS_NEW = 1
    FLOWS_EVICTED = 2
    CONNECTIONS_NEW = 3
    GAPS = 4
    PATH_CHANGES = 5
    FLOWS_EVICTED_LIVE = 6
    FLOWS_EXPIRED = 7
    CONNECTIONS_CLOSED = 8
    NAKS = 9
    RNR_NAKS = 10
    CNPS = 11
    ACKS_UNPAIRED = 12
    ACKS_AMBIGUOUS = 13


POOLS = ("hpcc", "dctcp", "loads", "pending")
"""Kinds of records that a sender gets a place for when it first needs one."""

SLOT = state_dtype(
    (("i8", 2), "snd_nxt", "snd_una", "data_ns"),
    ("i8", "syn_ns"),
    (("u4", 2), "iss"),
    (("i4", 2), "marks", "lag_ns", *POOLS),
    ("i4", "rtt_ns"),
    (("u2", 2), "mss", "largest", "life"),
)
"""One conversation at one point, 128 octets; pairs are indexed by direction. marks are bits of
`Mark`; life is another one after each `begin`; lag_ns is the time from the tap to the sender and
back, of two seconds at most as rtt_ns is.
The `POOLS` fields are places of records plus one (0: none yet); a place belongs to its slot for
good, whoever holds the slot."""


WAITING = 4
"""Records on data that wait for their ACK; of more than these the last two are taken together."""

PENDING = state_dtype(
    (("i8", WAITING), "end"),
    (("f8", WAITING), "keeps", "adds", "u_max"),
    (("i1", WAITING), "u_hop", "measured"),
    ("i1", "count", "nhop"),
)
"""What data carried, until the ACK of `end`: U becomes keeps*U + adds, as line 9 has it."""


GROWING = (*POOLS, "links", "slots", "boards", "late")
"""Arrays of `Memory` that grow, in the order in which `used` counts their places."""


class Memory(NamedTuple):
    """All state. `used` counts the places taken of each of `POOLS`, of `links` and of `slots`.

    `links` is L of all senders (`hop_record`), each with as many places as its path has hops;
    `spare[n]` is the first place plus one of n that a sender gave back, which holds the next.
    """

    flows: NDArray[Any]
    used: Ints
    slots: NDArray[Any]
    hpcc: NDArray[Any]
    dctcp: NDArray[Any]
    loads: NDArray[Any]
    pending: NDArray[Any]
    links: NDArray[Any]
    spare: Ints
    boards: NDArray[Any]
    late: NDArray[Any]


class Rules(NamedTuple):
    """Parameters: one HPCC++ record, DCTCP records by dialect number, masks of counters by width.

    The first width is that of telemetry whose format says nothing, the second the HPCC simulator's,
    the third that of IFA.
    """

    hpcc: NDArray[Any]
    dctcp: NDArray[Any]
    dialect: int
    ts_mask: Ints
    tx_mask: Ints
    idle_ticks: int
