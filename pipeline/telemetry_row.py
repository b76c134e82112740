"""What a row with telemetry does: hop loads, and HPCC++ of the sender that gets it back."""

import numpy as np
from numpy.typing import NDArray

from collector import inner
from pipeline.cc import hpcc
from pipeline.cc.parameter import Record
from pipeline.memory import Batch, Count, Mark, Memory, Rules
from pipeline.pool import place


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
