"""The tracker: observations in order in, congestion-control decisions and hop loads out.

`Tracker.advance(frame)` takes observations ordered by (time_ns, ACK before data, source, frame) and
returns `Tracked(decisions, hop_loads)`, whose columns `decided` describes. State is kept per
(conversation, point), both directions, so that a packet seen at two points drives each state once.
Any split of the input into batches gives the same bits.

Rows may carry `src_nic_bps`, `dst_nic_bps`, `base_rtt_ns` and `window_bytes`, the W_init of their
path (from the topology in force); where they are absent or null the parameters B_nic_bps, T_ns and
window_bytes stand in, and for T then the round trip of the handshake. `hints` are what settings
say of both ends (`hints`).
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from collector import Arena
from pipeline.batch import (
    BLOCK,
    DECISION_FIELDS,
    Batch,
    Rows,
    acknowledgments,
    batch_of,
    rows_of,
)
from pipeline.book_columns import books_of
from pipeline.cc import dctcp, hpcc
from pipeline.cc.hop_record import LINK, MOST_PLACES, mask
from pipeline.cc.parameter import Value
from pipeline.cc.scoreboard import BOARD
from pipeline.companion import Course
from pipeline.companions import companion
from pipeline.decided import DECISIONS, OWN, decisions_of, hop_loads_of, reflected_by
from pipeline.decision_block import MARGIN, room, wider
from pipeline.flow import SLOTS, TICK, table
from pipeline.follow import follow
from pipeline.late import LATE
from pipeline.memory import GROWING, PENDING, POOLS, SLOT, Count, Memory, Rules
from pipeline.near import nothing_near
from pipeline.point_number import PointNumbers
from pipeline.queue_pairs import QueuePairs
from pipeline.round_trip import RoundTrips
from pipeline.snapshot import Snapshots, State, parameters_of
from pipeline.stacks import lying
from pipeline.trail import trail
from pipeline.unit import SECOND

__all__ = ["DECISIONS", "Tracked", "Tracker"]

FIRST_PLACES = 64
ROW_OF = DECISION_FIELDS["i8"].index("row")
SIMULATOR_TS_NS, SIMULATOR_TX_BYTES = 1 << 24, 128 << 20
"""What counters of the HPCC simulator's INT count modulo."""
TX_BYTES = 0, SIMULATOR_TX_BYTES, 1 << 32
"""What byte counters count modulo where no parameter says so, by width; the last are IFA's."""


Loads = pl.DataFrame | Callable[[], pl.DataFrame]
Reflected = NDArray[np.int32] | Callable[[], NDArray[np.int32]] | None


class Tracked:
    """What a batch gave; the columns are described in `decided`, those of companions there.

    Loads of hops, and what was heard of them, may be given as what makes them when they are first
    asked for: who decides again under other parameters mostly wants decisions alone.
    """

    def __init__(
        self,
        decisions: pl.DataFrame,
        hop_loads: Loads,
        companions: Mapping[str, pl.DataFrame] = MappingProxyType({}),
        heard: Reflected = None,
    ) -> None:
        self.decisions, self.companions = decisions, companions
        self._loads, self._heard = hop_loads, heard

    @property
    def hop_loads(self) -> pl.DataFrame:
        """What was read of hops, a row for each row with telemetry."""
        if callable(self._loads):
            self._loads = self._loads()
        return self._loads

    @property
    def heard(self) -> NDArray[np.int32] | None:
        """For each decision the row of `hop_loads` that its ACK reflects, or -1; None: not told."""
        if callable(self._heard):
            self._heard = self._heard()
        return self._heard


class Tracker:
    """Follows every flow at every point.

    `hpcc_parameters` and `dctcp_parameters` change defaults of `hpcc.TABLE` and `dctcp.TABLE`;
    `flows` bounds the live flows (a conversation at a point), beyond which the least proven and
    longest idle are given up; a flow silent for `idle_ns` (by the rows' times) begins anew; the
    moduli are the widths of the hops' counters (0: 64 bits); `companions` are names of further
    algorithms with what changes their defaults; packets with `probe_dscp` are probes, which bring
    telemetry and move nothing. ValueError names a parameter that is not accepted.
    """

    def __init__(
        self,
        hpcc_parameters: Mapping[str, Value] | None = None,
        dctcp_parameters: Mapping[str, Value] | None = None,
        flows: int = 1 << 18,
        ts_modulus_ns: int = 0,
        tx_modulus_bytes: int = 0,
        idle_ns: int = 300 * SECOND,
        companions: Mapping[str, Mapping[str, Value]] | None = None,
        probe_dscp: int | None = None,
    ) -> None:
        chosen = dict(dctcp_parameters or {})
        asked = dctcp.record(chosen)
        rows = [dctcp.record({**chosen, "dialect": name}) for name in ("auto", *dctcp.DIALECTS)]
        hpcc_record = hpcc.record(hpcc_parameters)
        self.rules = Rules(
            np.array([hpcc_record], hpcc_record.dtype),
            np.array(rows, asked.dtype),
            int(asked.dialect),
            np.array([mask(ts_modulus_ns), mask(SIMULATOR_TS_NS), mask(ts_modulus_ns)]),
            np.array([mask(tx_modulus_bytes or each) for each in TX_BYTES]),
            idle_ns >> TICK,
        )
        self.memory = blank(flows)
        self.points = PointNumbers()
        self.queue_pairs = QueuePairs(idle_ns >> TICK)
        self.counts = np.zeros(len(Count), np.int64)
        self.arena = Arena()
        self.probe_dscp = probe_dscp
        asked_for = companions or {}
        self.companions = {name: companion(name, given) for name, given in asked_for.items()}
        self.round_trips = RoundTrips()
        flow_places = len(self.memory.flows)
        self.snapshots = Snapshots(
            parameters_of(self.rules, flow_places, self.companions, probe_dscp=probe_dscp)
        )

    @property
    def counters(self) -> dict[str, int]:
        """What moved so far, by name."""
        return {count.name.lower(): int(self.counts[count]) for count in Count}

    @property
    def state_bytes(self) -> int:
        """Bytes of state: the whole flow table, and the places of all pools that are in use."""
        pools = (getattr(self.memory, name) for name in GROWING)
        used = zip(pools, self.memory.used.tolist(), strict=True)
        return int(self.memory.flows.nbytes + sum(pool[:count].nbytes for pool, count in used))

    def advance(self, frame: pl.DataFrame) -> Tracked:
        """Take the next rows; see the module."""
        rows = rows_of(frame, self.points.of(frame["point"]), self.probe_dscp)
        frame, rows = self.queue_pairs.ready(frame, rows, self.counts)
        told = frame if frame["hop_count"].min() else frame.filter(pl.col("hop_count") > 0)
        lie = lying(told)  # held until the loop has gone over it
        left = trail(frame.height if self.companions else 0)
        batch = batch_of(frame, rows, told, lie, self.arena, left)
        out = room(batch, acknowledgments(rows) + BLOCK, OWN, self.arena)
        row = 0
        while (row := follow(
            rows, nothing_near(), out, batch, self.memory, self.rules, row
        )) < frame.height:  # fmt: skip
            self.memory = grown(self.memory)
            if batch.made[1] + MARGIN > out.i8.shape[1]:
                out = wider(out, int(batch.made[1]), self.arena)
        self.counts += batch.counts
        count = int(batch.counts[Count.DECISIONS])
        made = decisions_of(frame, out, count)
        beside = self.accompany(frame, told, rows, batch, int(self.memory.used[SLOTS]))
        loads = partial(hop_loads_of, told, batch.loads, batch.u)
        heard = partial(reflected_by, out.i8[ROW_OF, :count], rows.telemetry, batch.loads)
        return Tracked(made, loads, beside, heard)

    def snapshot(self, *, full: bool = False) -> pa.Table:
        """The state of the flows that were touched since the last snapshot, or of all (`snapshot`).

        The first one is of all. One that is lost is made good by the next full one.
        """
        return self.snapshots.take(self._state(), full=full)

    def restore(self, table: pa.Table) -> None:
        """Go on as the tracker of a snapshot: of a full one, then of those that followed, in order.

        SnapshotError, a ValueError, says why a table does not fit; then nothing has changed.
        """
        restored = self.snapshots.restore(self._state(), table)
        self.memory, self.queue_pairs.known, self.points.known, self.counts = restored[:4]

    def _state(self) -> State:
        """What snapshots are of."""
        books = books_of(self.companions, self.round_trips.book)
        known = self.queue_pairs.known
        return State(self.memory, known, self.points.known, self.counts, books)

    def accompany(
        self, frame: pl.DataFrame, told: pl.DataFrame, rows: Rows, batch: Batch, slots: int
    ) -> dict[str, pl.DataFrame]:
        """Let the companions go over the same rows; the trail names so many slots."""
        if not self.companions:
            return {}
        timed = self.round_trips.advance(rows, batch.trail, slots)
        course = Course(frame, told, rows, batch, self.rules, timed, slots)
        return {name: each.advance(course) for name, each in self.companions.items()}


def blank(flows: int) -> Memory:
    """Memory that remembers nothing."""
    return Memory(
        table(flows),
        np.zeros(len(POOLS) + 4, np.int64),
        np.zeros(FIRST_PLACES, SLOT),
        np.zeros(FIRST_PLACES, hpcc.STATE),
        np.zeros(FIRST_PLACES, dctcp.STATE),
        np.zeros(FIRST_PLACES, hpcc.STATE),
        np.zeros(FIRST_PLACES, PENDING),
        np.zeros(FIRST_PLACES, LINK),
        np.zeros(MOST_PLACES + 1, np.int64),
        np.zeros(FIRST_PLACES, BOARD),
        np.zeros(FIRST_PLACES, LATE),
    )


def grown(memory: Memory) -> Memory:
    """The same memory with more places in every pool that is full."""
    pools = {}
    for kind, used in zip(GROWING, memory.used, strict=True):
        pool = getattr(memory, kind)
        if used + 2 * MOST_PLACES > len(pool):
            more = np.zeros((max(len(pool) // 2, 2 * MOST_PLACES), *pool.shape[1:]), pool.dtype)
            pools[kind] = np.concatenate([pool, more])
    return memory._replace(**pools)
