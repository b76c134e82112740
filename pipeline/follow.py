"""The one loop over rows: what each does to the two senders of its conversation at one point.

A row of direction r moves SND.NXT of r by its data, and by its ACK drives the recurrences of the
sender d = 1 - r. All of it is compiled; nothing of Python runs per row.
"""

import numpy as np
from numpy.typing import NDArray

from collector import inner, kernel
from pipeline.cc import dctcp, hpcc
from pipeline.cc.parameter import Record
from pipeline.flow import key_of, locate
from pipeline.memory import Algorithm, Batch, Count, Mark, Memory, Rules
from pipeline.sender import (
    ACK,
    ECE,
    FIN,
    SYN,
    dialect_of,
    ends_handshake,
    enter,
    handshake,
    predicted,
    quality_of_alpha,
    quality_of_window,
    segment_size,
    send,
    unwrap,
)

ENDS = (dctcp.Branch.WINDOW_END.value, dctcp.Branch.WINDOW_END_REDUCE.value)


@inner
def place(places: NDArray[np.int32], d: int, used: NDArray[np.int64]) -> int:
    """The place of direction d in a pool, taken now when it has none; `used` counts those taken."""
    if places[d] == 0:
        used[0] += 1
        places[d] = used[0]
    return int(places[d]) - 1


@inner
def has_room(memory: Memory) -> bool:
    """Whether every pool has a place for one more row."""
    return bool(
        memory.used[0] < memory.hpcc.size
        and memory.used[1] < memory.dctcp.size
        and memory.used[2] < memory.loads.size
        and memory.used[3] < memory.pending.shape[0]
    )


@inner
def path_record(slot: Record, d: int, s: Record, mark: int, p: Record) -> None:
    """Make an HPCC++ record ready when it is new to sender d, with the T and B_nic of its path.

    T is that of the topology, else the parameter, else the handshake's round trip, else unknown.
    """
    if slot.marks[d] & mark:
        return
    slot.marks[d] |= mark
    t_ns = slot.base_rtt_ns
    if t_ns == 0:
        t_ns = p.T_ns if p.T_ns > 0 else slot.rtt_ns
    hpcc.reset(s, p)
    hpcc.set_path(s, p, t_ns, slot.nic_bps[d] if slot.nic_bps[d] > 0 else p.B_nic_bps)


@inner
def take_hops(
    s: Record,
    nhop: int,
    stack: NDArray[np.int64],
    rules: Rules,
    u: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """Hop loads since the record before, into `u`; L is brought up to date. Returns the faults."""
    s.faults = 0
    counts[Count.PATH_CHANGES.value] += hpcc.path_changed(s, nhop, stack[4], stack[5])
    if s.nhop == nhop:
        hpcc.hop_loads(
            s, nhop, stack[0], stack[1], stack[2], stack[3], rules.ts_modulus, rules.tx_modulus, u
        )
    hpcc.keep(s, nhop, stack[0], stack[1], stack[2])
    return int(s.faults)


@inner
def observe_hops(slot: Record, row: Record, batch: Batch, memory: Memory, rules: Rules) -> None:
    """Telemetry of a row's own direction: its hop loads; kept for the ACK that covers the row."""
    r = row.direction
    load = batch.loads[row.telemetry]
    stack = batch.stacks[row.telemetry]
    s = memory.loads[place(slot.loads, r, memory.used[2:])]
    path_record(slot, r, s, Mark.LOADS.value, rules.hpcc[0])
    load.faults = take_hops(s, load.nhop, stack, rules, batch.u[row.telemetry], batch.counts)
    slot.marks[r] |= Mark.STACKED.value
    if slot.marks[r] & (Mark.REFLECTED.value | Mark.PENDING.value) or row.payload == 0:
        return
    slot.marks[r] |= Mark.PENDING.value
    kept = memory.pending[place(slot.pending, r, memory.used[3:])]
    for kind in range(stack.shape[0]):
        for hop in range(load.nhop):
            kept[kind, hop] = stack[kind, hop]
    kept[-1, 0] = slot.snd_nxt[r]
    kept[-1, 1] = load.nhop


@inner
def run_hpcc(
    slot: Record, d: int, row: Record, ack: int, batch: Batch, memory: Memory, rules: Rules
) -> Record:
    """HPCC++ of sender d at this ACK, fed by reflected telemetry or by what its data carried."""
    p = rules.hpcc[0]
    s = memory.hpcc[place(slot.hpcc, d, memory.used[0:])]
    path_record(slot, d, s, Mark.HPCC.value, p)
    reflected = row.telemetry >= 0 and batch.loads[row.telemetry].reflected != 0
    waiting = slot.marks[d] & Mark.PENDING.value != 0
    if not reflected and not (waiting and memory.pending[slot.pending[d] - 1, -1, 0] <= ack):
        hpcc.no_telemetry(s)
        return s
    slot.marks[d] &= ~Mark.PENDING.value
    if reflected:
        slot.marks[d] |= Mark.REFLECTED.value
        stack = batch.stacks[row.telemetry]
        nhop = int(batch.loads[row.telemetry].nhop)
        u = batch.u[row.telemetry]
    else:
        stack = memory.pending[slot.pending[d] - 1]
        nhop = int(stack[-1, 1])
        u = np.empty(hpcc.MAX_HOPS)
    batch.counts[Count.PATH_CHANGES.value] += hpcc.path_changed(s, nhop, stack[4], stack[5])
    hpcc.new_ack(s, p, ack, slot.snd_nxt[d], nhop, stack[0], stack[1], stack[2], stack[3],
                 rules.ts_modulus, rules.tx_modulus, u)  # fmt: skip
    if reflected:
        batch.loads[row.telemetry].faults = s.faults
    return s


@inner
def tell_hpcc(made: Record, s: Record) -> None:
    """The draft's variables into a decision."""
    made.algorithm = Algorithm.HPCC.value
    made.branch = s.branch
    made.faults = s.faults
    made.U = s.U
    made.W = s.W
    made.Wc = s.Wc
    made.R = s.R
    made.incStage = s.incStage
    made.lastUpdateSeq = s.lastUpdateSeq
    made.u_max = s.u_max
    made.u_hop = s.u_hop
    made.hop_count = s.nhop


@inner
def run_dctcp(
    slot: Record,
    d: int,
    ack: int,
    acked: int,
    ece: bool,
    duplicate: bool,
    memory: Memory,
    p: Record,
) -> Record:
    """DCTCP of sender d at this ACK."""
    s = memory.dctcp[place(slot.dctcp, d, memory.used[1:])]
    mss = segment_size(slot, d, p.mss)
    if not slot.marks[d] & Mark.DCTCP.value:
        slot.marks[d] |= Mark.DCTCP.value
        dctcp.reset(s, p)
        dctcp.establish(s, p, ack - acked, mss)
        if not slot.marks[d] & Mark.SYN_SEEN.value:
            s.WindowEnd = slot.snd_nxt[d]
    s.mss = mss
    dctcp.new_ack(s, p, ack, slot.snd_nxt[d], ece, 0, duplicate)
    return s


@inner
def tell_dctcp(made: Record, s: Record) -> None:
    """The RFC's variables into a decision; where a window ended, that window's counts."""
    closed = s.branch in ENDS
    made.algorithm = Algorithm.DCTCP.value
    made.branch = s.branch
    made.alpha = s.alpha
    made.M = s.M
    made.BytesAcked = s.closed_acked if closed else s.BytesAcked
    made.BytesMarked = s.closed_marked if closed else s.BytesMarked
    made.WindowEnd = s.WindowEnd
    made.cwnd = s.cwnd
    made.ssthresh = s.ssthresh


@inner
def decision(
    slot: Record, d: int, at: int, ack: int, acked: int, ece: bool, batch: Batch
) -> Record:
    """A new row of decisions with what both algorithms share."""
    made = batch.decisions[batch.counts[Count.DECISIONS.value]]
    batch.counts[Count.DECISIONS.value] += 1
    made.row = at
    made.direction = d
    made.ack = ack
    made.snd_nxt = slot.snd_nxt[d]
    made.inflight_bytes = slot.snd_nxt[d] - slot.snd_una[d]
    made.acked_bytes = acked
    made.marked_bytes = acked if ece else 0
    return made


@inner
def acknowledge(
    slot: Record, row: Record, at: int, batch: Batch, memory: Memory, rules: Rules
) -> None:
    """An ACK of direction r for the data of d: SND.UNA moves, the recurrences of sender d run."""
    d = 1 - row.direction
    if not slot.marks[d] & Mark.NUMBERED.value:
        slot.marks[d] |= Mark.NUMBERED.value
        slot.snd_nxt[d] = row.ack
        slot.snd_una[d] = row.ack
    ack = unwrap(row.ack, slot.snd_una[d])
    if ack > slot.snd_nxt[d]:  # it covers data that was not seen
        slot.snd_nxt[d] = ack
        slot.marks[d] |= Mark.GAP.value
        batch.counts[Count.GAPS.value] += 1
    if ends_handshake(slot, row, d):
        return
    acked = max(ack - slot.snd_una[d], 0)
    duplicate = (
        row.payload == 0
        and ack == slot.snd_una[d]
        and slot.snd_nxt[d] > ack
        and row.tcp_flags & FIN == 0
    )
    ece = row.tcp_flags & ECE != 0
    slot.snd_una[d] = max(slot.snd_una[d], ack)
    reflected = row.telemetry >= 0 and batch.loads[row.telemetry].reflected != 0
    if reflected or slot.marks[d] & (Mark.HPCC.value | Mark.PENDING.value):
        s = run_hpcc(slot, d, row, ack, batch, memory, rules)
        made = decision(slot, d, at, ack, acked, ece, batch)
        tell_hpcc(made, s)
        made.quality, made.why = quality_of_window(slot, d, s, rules.hpcc[0])
    if slot.marks[d] & (Mark.ECN_AGREED.value | Mark.ECT_SEEN.value):
        dialect, basis = dialect_of(slot, d, rules.dialect)
        if acked == 0 and predicted(slot, row, rules.dctcp[dialect].predicted_ns):
            return
        c = run_dctcp(slot, d, ack, acked, ece, duplicate, memory, rules.dctcp[dialect])
        if acked > 0 or slot.marks[d] & Mark.SENT.value:
            made = decision(slot, d, at, ack, acked, ece, batch)
            tell_dctcp(made, c)
            made.quality, made.why = quality_of_alpha(slot, d, c)
            made.dialect = dialect
            made.basis = basis


@kernel
def follow(batch: Batch, memory: Memory, rules: Rules, start: int) -> int:
    """Every row from `start`, in order; returns where a pool was full, or the number of rows."""
    for at in range(start, batch.rows.size):
        if not has_room(memory):
            return at
        row = batch.rows[at]
        place_of, how = locate(
            memory.keys, memory.last_ns, key_of(row.conversation, row.point), row.time_ns
        )
        slot = memory.slots[place_of]
        enter(slot, row, how, batch.counts)
        if row.tcp:
            if row.tcp_flags & SYN:
                handshake(slot, row, batch.counts)
            elif row.tcp_flags & ACK:
                acknowledge(slot, row, at, batch, memory, rules)
            if row.payload > 0 or row.tcp_flags & FIN:
                send(slot, row, batch.counts)
            slot.data_ns[row.direction] = row.time_ns if row.payload > 0 else 0
        if row.telemetry >= 0 and batch.loads[row.telemetry].reflected == 0:
            observe_hops(slot, row, batch, memory, rules)
    return int(batch.rows.size)
