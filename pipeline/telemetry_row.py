"""What a row with telemetry does: hop loads, and HPCC++ of the sender that gets it back."""

from collector import inlined
from pipeline.anchor import anchor, lost_track
from pipeline.batch import Batch, Kind, Opening
from pipeline.cc import hpcc
from pipeline.cc.hop_record import MAX_HOPS, fallen, keep, path_changed
from pipeline.cc.parameter import Record
from pipeline.memory import WAITING, Count, Mark, Memory, Rules
from pipeline.pool import make_room, place
from pipeline.sender import begin_path, far_from_sender
from pipeline.tell import tell_before


@inlined
def path_record(
    slot: Record, d: int, s: Record, mark: int, p: Record, row: Record, told: Opening
) -> None:
    """Make an HPCC++ record ready when it is new to sender d, by what the row tells of the path."""
    if slot.marks[d] & mark:
        return
    slot.marks[d] |= mark
    t_ns, at = told.base_rtt_ns[row.at], row.at
    slot.marks[d] |= Mark.T_TOLD.value if t_ns > 0 else 0
    b_nic_bps = told.src_nic_bps[at] if d == row.direction else told.dst_nic_bps[at]
    begin_path(s, p, t_ns, slot.rtt_ns, b_nic_bps, told.window_bytes[at])


@inlined
def tell_fallen(
    s: Record, load: Record, at: int, batch: Batch, memory: Memory, rules: Rules
) -> None:
    """Tell of which hops counts fell since the record before, which is still L."""
    load.fell, load.anew = fallen(
        s, memory.links, load.nhop, batch.told, at,
        rules.ts_mask[load.width], rules.tx_mask[load.width],
    )  # fmt: skip


@inlined
def take_hops(s: Record, row: Record, batch: Batch, memory: Memory, rules: Rules) -> bool:
    """Hop loads since the record before; L is brought up to date. Whether any was measured."""
    at, load = row.stack, batch.loads[row.telemetry]
    s.faults = 0
    make_room(memory, s, min(load.nhop, MAX_HOPS))
    batch.counts[Count.PATH_CHANGES.value] += path_changed(s, batch.path[row.telemetry])
    measured = False
    if s.nhop == load.nhop:
        tell_fallen(s, load, at, batch, memory, rules)
        measured = hpcc.hop_loads(
            s,
            rules.hpcc[0],
            memory.links,
            load.nhop,
            batch.told,
            at,
            rules.ts_mask[load.width],
            rules.tx_mask[load.width],
            batch.u_near,
        )
    else:
        keep(s, memory.links, load.nhop, batch.told, at)
    load.faults = s.faults
    return measured


@inlined
def observe_hops(slot: Record, row: Record, batch: Batch, memory: Memory, rules: Rules) -> None:
    """Telemetry of a row's own direction: its hop loads; kept for the ACK that covers the row.

    That of probes gives hop loads where data carries none, and nothing else.
    """
    r = row.direction
    if row.kind == Kind.PROBE.value and slot.marks[r] & Mark.STACKED.value:
        return
    s = memory.loads[place(slot.loads, r, memory.used, 2)]
    path_record(slot, r, s, Mark.LOADS.value, rules.hpcc[0], row, batch.opening)
    if not slot.marks[r] & Mark.STACKED.value and row.kind != Kind.PROBE.value:
        s.nhop = 0  # L of probes is not that of data
    measured = take_hops(s, row, batch, memory, rules)
    if row.kind == Kind.PROBE.value:
        return
    slot.marks[r] |= Mark.STACKED.value
    if slot.marks[r] & Mark.REFLECTED.value or row.payload == 0:
        return
    kept = memory.pending[place(slot.pending, r, memory.used, 3)]
    if not slot.marks[r] & Mark.PENDING.value:
        kept.count = 0
    slot.marks[r] |= Mark.PENDING.value
    wait(kept, s, slot.snd_nxt[r], measured)


@inlined
def wait(kept: Record, s: Record, end: int, measured: bool) -> None:
    """Keep what a record does to U until the data up to `end` is acknowledged."""
    share = min(s.tau_ns, s.T_ns) / s.T_ns if measured and s.tau_ns > 0 else 0.0  # line 8
    keeps, adds = 1 - share, share * s.u_max if share > 0 else 0.0
    last = kept.count
    if last == WAITING:
        last -= 1
        keeps, adds = keeps * kept.keeps[last], keeps * kept.adds[last] + adds
        measured |= kept.measured[last] != 0
    kept.end[last], kept.keeps[last], kept.adds[last] = end, keeps, adds
    kept.u_max[last], kept.u_hop[last], kept.measured[last] = s.u_max, s.u_hop, measured
    kept.count = last + 1
    kept.nhop = s.nhop


@inlined
def covered(kept: Record, s: Record, ack: int) -> bool:
    """Take what the data up to `ack` carried into U (line 9); whether there was any."""
    done = 0
    while done < kept.count and kept.end[done] <= ack:
        if kept.measured[done]:
            s.U = kept.keeps[done] * s.U + kept.adds[done]
            s.u_max, s.u_hop = kept.u_max[done], kept.u_hop[done]
        done += 1
    for each in range(done, kept.count):
        kept.end[each - done], kept.keeps[each - done] = kept.end[each], kept.keeps[each]
        kept.adds[each - done], kept.u_max[each - done] = kept.adds[each], kept.u_max[each]
        kept.u_hop[each - done] = kept.u_hop[each]
        kept.measured[each - done] = kept.measured[each]
    kept.count -= done
    return done > 0


@inlined
def run_hpcc(
    slot: Record,
    d: int,
    row: Record,
    ack: int,
    acked: int,
    batch: Batch,
    memory: Memory,
    rules: Rules,
) -> Record:
    """HPCC++ of sender d at this ACK, fed by reflected telemetry or by what its data carried."""
    p, at = rules.hpcc[0], row.telemetry
    packets = row.kind > Kind.NACK.value  # RoCE counts them, not bytes
    seq = ack - p.ack_psn if packets else ack
    s = memory.hpcc[place(slot.hpcc, d, memory.used, 0)]
    path_record(slot, d, s, Mark.HPCC.value, p, row, batch.opening)
    tell_before(batch, s.U)
    if at >= 0 and batch.loads[at].reflected != 0:
        slot.marks[d] |= Mark.REFLECTED.value
        slot.marks[d] &= ~Mark.PENDING.value
        nhop, width = batch.loads[at].nhop, batch.loads[at].width
        make_room(memory, s, min(nhop, MAX_HOPS) * (1 + p.average))
        batch.counts[Count.PATH_CHANGES.value] += path_changed(s, batch.path[at])
        if lost_track(slot, d) and not slot.marks[d] & Mark.WENT_BACK.value:
            flight = slot.snd_nxt[d] - slot.snd_una[d] + acked
            flight *= slot.largest[d] if packets else 1
            anchor(slot, d, s, p, seq, flight, far_from_sender(slot, d))
        if s.nhop == nhop:
            tell_fallen(s, batch.loads[at], row.stack, batch, memory, rules)
        hpcc.new_ack(
            s, p, memory.links, seq, slot.snd_nxt[d], nhop, batch.told, row.stack,
            rules.ts_mask[width], rules.tx_mask[width], batch.u_near,
        )  # fmt: skip
        batch.loads[at].faults = s.faults
        return s
    hpcc.no_telemetry(s)
    if slot.marks[d] & Mark.PENDING.value:
        late_ack(s, p, memory.pending[slot.pending[d] - 1], ack, seq, slot.snd_nxt[d])
    return s


@inlined
def late_ack(s: Record, p: Record, kept: Record, ack: int, seq: int, snd_nxt: int) -> None:
    """An ACK without telemetry of data that carried some: lines 21-26, half a round trip late."""
    if not covered(kept, s, ack):
        return
    s.nhop = kept.nhop
    if s.started == 0:
        s.started = 1
        s.lastUpdateSeq = snd_nxt if p.first_ack == 0 else 0
        s.branch = hpcc.Branch.FIRST_ACK.value
    elif s.u_hop < 0:
        s.branch = hpcc.Branch.BAD_TELEMETRY.value
    else:
        hpcc.respond(s, p, seq, snd_nxt)
