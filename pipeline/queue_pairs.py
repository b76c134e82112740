"""RoCE rows made ready for the loop: what each is by its opcode, and whose state it moves.

`conversation` of an observation is of two hosts. Here each row gets the key of the sender whose
data it is or acknowledges, which `pairing` finds; the rows' `conversation` becomes that key, their
`seq` and `ack` are PSNs. `data_flow` is the flow of that data as the collector would hash it.
"""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, directed
from pipeline.batch import PSNS, Kind, Rows
from pipeline.flow import table
from pipeline.memory import Count, Ints
from pipeline.pairing import Said, pair
from pipeline.roce_hosts import HOSTS
from pipeline.roce_stream import ENDS, NOBODY, QP_BITS, STARTS, STREAM, Packets, Streams

DATA_FLOW = "data_flow"
MOST_STREAMS, MOST_HOSTS = 1 << 16, 1 << 12
"""Live streams (what goes to one queue pair, at a point) and pairs of hosts that are known."""
FIRSTS, MIDDLES, LASTS, ONLYS = (
    (0x00, 0x06), (0x01, 0x07), (0x02, 0x03, 0x08, 0x09, 0x16), (0x04, 0x05, 0x0A, 0x0B, 0x17),
)  # fmt: skip
"""Opcodes of SEND and WRITE by reliable connection (class 000), by what of a message they are."""
READ, RESPONSES, ACK, ATOMIC_ACK, ATOMICS, CNP = (
    0x0C,
    range(0x0D, 0x11),
    0x11,
    0x12,
    (0x13, 0x14),
    0x81,
)
ANSWERS = {0: Kind.ROCE_ACK, 1: Kind.ROCE_RNR, 3: Kind.ROCE_NAK}
"""What an acknowledgment is by the top three bits of its syndrome."""
NO_MSN = -1
COUNTED = {
    Kind.ROCE_NAK: Count.NAKS, Kind.ROCE_RNR: Count.RNR_NAKS, Kind.ROCE_CNP: Count.CNPS,
}  # fmt: skip


def by_opcode() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The kind of each opcode, and what of a message it is."""
    kind, shape = np.zeros(256, np.uint8), np.zeros(256, np.int64)
    kind[[*FIRSTS, *MIDDLES, *LASTS, *ONLYS, *ATOMICS]] = Kind.ROCE_REQUEST
    kind[READ], kind[[*RESPONSES]], kind[CNP] = Kind.ROCE_READ, Kind.ROCE_RESPONSE, Kind.ROCE_CNP
    kind[[ACK, ATOMIC_ACK]] = Kind.ROCE_ACK
    shape[[*FIRSTS, *ONLYS, *ATOMICS, READ]] |= STARTS
    shape[[*LASTS, *ONLYS, *ATOMICS]] |= ENDS
    return kind, shape


KIND, SHAPE = by_opcode()


class Ready(NamedTuple):
    """A batch whose RoCE rows are ready."""

    frame: pl.DataFrame
    rows: Rows


class QueuePairs:
    """Knows which queue pairs talk to each other."""

    def __init__(self, idle_ticks: int) -> None:
        streams, hosts = table(MOST_STREAMS), table(MOST_HOSTS)
        self.known = Streams(
            hosts,
            np.zeros(hosts.size, HOSTS),
            np.zeros(8, np.int64),
            streams,
            np.zeros(streams.size, STREAM),
            np.zeros(8, np.int64),
            np.array([idle_ticks]),
        )

    def ready(self, frame: pl.DataFrame, rows: Rows, counts: Ints) -> Ready:
        """The rows with those of RoCE ready, and the frame with `DATA_FLOW` when it has some.

        What is found is added to `counts`, which are by `Count`.
        """
        if "roce_opcode" not in frame.columns:
            return Ready(frame, rows)
        here = np.flatnonzero(frame["roce_opcode"].is_not_null().to_numpy())
        packets = packets_of(frame, rows, here)
        said = Said(
            np.zeros(here.size, np.uint64), np.zeros(here.size, np.int64),
            np.zeros(here.size, np.uint16),
        )  # fmt: skip
        pair(packets, said, self.known, counts)
        kinds = np.where(rows.kind[here] == Kind.PROBE, Kind.PROBE, packets.kind)
        for kind, count in COUNTED.items():
            counts[count] += np.count_nonzero(kinds == kind)
        after = (packets.kind == Kind.ROCE_ACK) | (packets.kind == Kind.ROCE_RESPONSE)
        moved = {
            "conversation": said.key,
            "kind": kinds,
            "seq": packets.psn,
            "ack": (packets.psn + after) % PSNS,
            "tcp_flags": said.marks,
        }
        changed = {name: replaced(getattr(rows, name), here, new) for name, new in moved.items()}
        flow = replaced(np.zeros(frame.height, np.uint64), here, data_flow(packets, said))
        told = pl.Series(DATA_FLOW, flow).replace(0, None)
        return Ready(frame.with_columns(told), rows._replace(**changed))


def replaced(column: NDArray[Any], here: Ints, new: NDArray[Any]) -> NDArray[Any]:
    """A column of all rows with new values in those of RoCE."""
    column = column.copy()
    column[here] = new.astype(column.dtype)
    return arrow.fixed(column)


def packets_of(frame: pl.DataFrame, rows: Rows, here: Ints) -> Packets:
    """The RoCE rows of a batch."""

    def of(name: str, missing: int = 0) -> Ints:
        if name not in frame.columns:
            return np.full(here.size, missing, np.int64)
        return frame[name].cast(pl.Int64).fill_null(missing).to_numpy()[here]

    opcode = of("roce_opcode")
    kind, syndrome = KIND[opcode].astype(np.int64), of("roce_syndrome") >> 5
    answer = kind == Kind.ROCE_ACK
    kind[answer] = Kind.OTHER
    for code, each in ANSWERS.items():
        kind[answer & (syndrome == code)] = each
    kept = rows.kind[here]
    kind = np.where(kept == Kind.OTHER, kind, kept)
    if "int_reflected" in frame.columns:
        back = frame["int_reflected"].fill_null(value=False).to_numpy()[here]
        kind[back & (kept == Kind.PROBE)] = Kind.ROCE_CNP  # it finds its partner in the same way
    return Packets(
        rows.conversation[here],
        rows.point[here],
        rows.time_ns[here],
        rows.direction[here].astype(np.int64),
        kind,
        SHAPE[opcode],
        of("roce_qp"),
        of("roce_psn"),
        of("roce_msn", NO_MSN),
    )


def data_flow(packets: Packets, said: Said) -> NDArray[np.uint64]:
    """The flow of the data that a row is or acknowledges.

    Where an ACK's pair is not known, it is the flow of a queue pair that no packet can name.
    """
    acks = packets.kind >= Kind.ROCE_ACK
    side = np.where(acks, 1 - packets.direction, packets.direction)
    unknown = said.data_qp == NOBODY
    qp = np.where(unknown, 1 << QP_BITS | packets.qp, said.data_qp)
    both, flow = np.empty_like(said.key), np.empty_like(said.key)
    directed(packets.conversation, side.astype(np.uint8), both)
    directed(both, qp.astype(np.uint64), flow)
    return np.where(qp == 0, both, flow)
