"""What each row of a trace does to the two senders of its conversation, as seen at one point.

A row of direction r moves SND.NXT of r by its data, and by its ACK drives the recurrences of the sender
d = 1 - r. All of it is one compiled loop, `follow`; nothing of Python runs per row. Rules: semantics.md
sections 2-4. Sequence numbers are unwrapped to 64 bits per direction.
"""

import numpy as np
from numpy.typing import NDArray

from collector import kernel
from pipeline.cc import dctcp, hpcc
from pipeline.cc.parameter import Record
from pipeline.flow import EVICTED, FOUND, key_of, locate
from pipeline.memory import (
    Algorithm,
    Basis,
    Mark,
    Batch,
    Memory,
    Quality,
    Rules,
    Why,
)

FIN, SYN, ACK, ECE, CWR = 1, 2, 16, 64, 128
CE = 3
LINUX, NS3 = 1, 3
"""Dialects by their place in `dctcp.TABLE`."""
MOST_LAG = 20
"""A tap farther from the sender than RTT/20 reads SND.NXT too early to call the state exact."""
WINDOWS_TO_FORGET = 44
"""(15/16)**44 < 0.06: what alpha was before the capture began matters no more than that."""
TIMESTAMP_OPTION = 12
"""Bytes that TCP timestamps take of every segment."""
N_NEW, N_EVICTED, N_CONNECTIONS, N_GAPS, N_PATHS = 1, 2, 3, 4, 5


@kernel
def unwrap(number: int, near: int) -> int:
    """The 64-bit number that is `number` modulo 2**32 and nearest to `near`."""
    apart = (number - near) & 0xFFFFFFFF
    if apart >= 0x80000000:
        apart -= 0x100000000
    return near + apart


@kernel
def place(places: NDArray[np.int32], d: int, used: NDArray[np.int64]) -> int:
    """The place of direction d in a pool, taken now when it has none; `used` counts those taken."""
    if places[d] == 0:
        used[0] += 1
        places[d] = used[0]
    return int(places[d]) - 1


@kernel
def begin(slot: Record, d: int) -> None:
    """Forget what was known of sender d; its places in the pools stay."""
    slot.marks[d] = 0
    slot.snd_nxt[d] = 0
    slot.snd_una[d] = 0
    slot.iss[d] = 0
    slot.data_ns[d] = 0
    slot.lag_ns[d] = 0
    slot.mss[d] = 0
    slot.largest[d] = 0


@kernel
def handshake(slot: Record, row: Record, counts: NDArray[np.int64]) -> None:
    """A SYN or SYN-ACK: sequence numbers start, ECN is negotiated, the stack shows its hand.

    A SYN with a new number is a new connection on old ports; the same SYN again is a retransmission.
    """
    r = row.direction
    answer = row.flags & ACK != 0
    if not (slot.marks[r] & Mark.SYN_SEEN.value and slot.iss[r] == row.seq):
        if not answer:
            begin(slot, 1 - r)
            slot.rtt_ns = 0
        begin(slot, r)
        counts[N_CONNECTIONS] += 0 if answer else 1
        slot.iss[r] = row.seq
        slot.snd_una[r] = row.seq + 1
        slot.snd_nxt[r] = row.seq + 1 + row.payload
        slot.mss[r] = row.mss
        marks = Mark.NUMBERED.value | Mark.SYN_SEEN.value
        asked = row.flags & (ECE | CWR)
        if not answer and asked == ECE | CWR:
            marks |= Mark.ECN_ASKED.value
        if answer and asked == ECE and slot.marks[1 - r] & Mark.ECN_ASKED.value:
            marks |= Mark.ECN_AGREED.value
            slot.marks[1 - r] |= Mark.ECN_AGREED.value
        marks |= Mark.ANSWERED.value if answer else 0
        marks |= Mark.TIMESTAMPS.value if row.timestamps else 0
        marks |= Mark.NS3_STACK.value if row.mss == 0 else 0
        slot.marks[r] = marks
    if answer:
        slot.synack_ns = row.time_ns
        slot.lag_ns[r] = row.time_ns - slot.syn_ns
    else:
        slot.syn_ns = row.time_ns


@kernel
def segment_size(slot: Record, d: int, otherwise: int) -> int:
    """MSS of sender d: the smaller of the two options less timestamps; else the largest payload seen."""
    both = slot.marks[0] & slot.marks[1]
    if both & Mark.SYN_SEEN.value and slot.mss[0] > 0 and slot.mss[1] > 0:
        return int(min(slot.mss[0], slot.mss[1])) - (
            TIMESTAMP_OPTION if both & Mark.TIMESTAMPS.value else 0
        )
    return int(slot.largest[d]) if slot.largest[d] > 0 else otherwise


@kernel
def send(slot: Record, row: Record, counts: NDArray[np.int64]) -> None:
    """Data or FIN of direction r: SND.NXT moves; a jump over unseen data is a gap."""
    r = row.direction
    if not slot.marks[r] & Mark.NUMBERED.value:
        slot.marks[r] |= Mark.NUMBERED.value
        slot.snd_nxt[r] = row.seq
        slot.snd_una[r] = row.seq
    seq = unwrap(row.seq, slot.snd_nxt[r])
    if seq > slot.snd_nxt[r]:
        slot.marks[r] |= Mark.GAP.value
        counts[N_GAPS] += 1
    end = seq + row.payload + (1 if row.flags & FIN else 0)
    slot.snd_nxt[r] = max(slot.snd_nxt[r], end)
    slot.largest[r] = max(slot.largest[r], row.payload)
    if row.payload > 0:
        slot.marks[r] |= Mark.SENT.value
        slot.marks[r] |= Mark.ECT_SEEN.value if row.ecn != 0 else 0
        slot.marks[r] |= Mark.CE_SEEN.value if row.ecn == CE else 0


@kernel
def path_record(slot: Record, d: int, s: Record, mark: int, p: Record) -> None:
    """Make an HPCC++ record ready when it is new to sender d, with the T and B_nic of its path.

    T is that of the topology, else the parameter, else the round trip of the handshake, else 0: unknown.
    """
    if slot.marks[d] & mark:
        return
    slot.marks[d] |= mark
    t_ns = slot.base_rtt_ns
    if t_ns == 0:
        t_ns = p.T_ns if p.T_ns > 0 else slot.rtt_ns
    hpcc.reset(s, p)
    hpcc.set_path(s, p, t_ns, slot.nic_bps[d] if slot.nic_bps[d] > 0 else p.B_nic_bps)


@kernel
def observe_hops(slot: Record, row: Record, batch: Batch, memory: Memory, rules: Rules) -> None:
    """Telemetry of a row's own direction: u' of its hops; it is kept for the ACK that covers the row."""
    r = row.direction
    load = batch.loads[row.telemetry]
    stack = batch.stacks[row.telemetry]
    s = memory.loads[place(slot.loads, r, memory.used[2:])]
    path_record(slot, r, s, Mark.LOADS.value, rules.hpcc[0])
    load.flags = take_hops(s, load.nhop, stack, rules, batch.u[row.telemetry], batch.counts)
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


@kernel
def take_hops(
    s: Record,
    nhop: int,
    stack: NDArray[np.int64],
    rules: Rules,
    u: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """u' of the hops since the record before, into `u`; returns the flags. L is brought up to date."""
    s.flags = 0
    counts[N_PATHS] += hpcc.path_changed(s, nhop, stack[4], stack[5])
    if s.nhop == nhop:
        hpcc.hop_loads(
            s, nhop, stack[0], stack[1], stack[2], stack[3], rules.ts_modulus, rules.tx_modulus, u
        )
    hpcc.keep(s, nhop, stack[0], stack[1], stack[2])
    return int(s.flags)


@kernel
def quality_of_window(slot: Record, d: int, s: Record, p: Record) -> tuple[int, int]:
    """Quality of W, Wc, R of sender d, and why (semantics.md section 3)."""
    if s.T_ns <= 0:
        return Quality.UNKNOWN.value, Why.T_UNKNOWN.value
    if np.isnan(s.W):
        return Quality.UNKNOWN.value, Why.NIC_UNKNOWN.value
    if not slot.marks[d] & Mark.SYN_SEEN.value:
        return Quality.UNKNOWN.value, Why.MID_FLOW.value
    if slot.marks[d] & Mark.STACKED.value:
        return Quality.ESTIMATED.value, Why.RECEIVER_TIME.value
    if slot.base_rtt_ns == 0 and p.T_ns == 0:
        return Quality.ESTIMATED.value, Why.T_FROM_HANDSHAKE.value
    return quality_of_tap(slot, d)


@kernel
def quality_of_alpha(slot: Record, d: int, s: Record) -> tuple[int, int]:
    """Quality of alpha of sender d, and why (semantics.md section 4)."""
    if slot.marks[d] & Mark.CE_SEEN.value:
        return Quality.UNKNOWN.value, Why.AFTER_QUEUE.value
    if not slot.marks[d] & Mark.SYN_SEEN.value:
        known = s.windows >= WINDOWS_TO_FORGET
        return Quality.ESTIMATED.value if known else Quality.UNKNOWN.value, Why.MID_FLOW.value
    return quality_of_tap(slot, d)


@kernel
def quality_of_tap(slot: Record, d: int) -> tuple[int, int]:
    """What gaps and the distance between tap and sender do to either."""
    if slot.marks[d] & Mark.GAP.value:
        return Quality.ESTIMATED.value, Why.GAP.value
    if slot.lag_ns[d] * MOST_LAG > slot.rtt_ns:
        return Quality.ESTIMATED.value, Why.FAR_FROM_SENDER.value
    return Quality.EXACT.value, Why.NOTHING.value


@kernel
def decision(
    slot: Record, d: int, at: int, ack: int, acked: int, ece: bool, batch: Batch
) -> Record:
    """A new row of decisions with what both algorithms share."""
    made = batch.decisions[batch.counts[0]]
    batch.counts[0] += 1
    made.row = at
    made.direction = d
    made.ack = ack
    made.snd_nxt = slot.snd_nxt[d]
    made.inflight_bytes = slot.snd_nxt[d] - slot.snd_una[d]
    made.acked_bytes = acked
    made.marked_bytes = acked if ece else 0
    return made


@kernel
def run_hpcc(
    slot: Record, d: int, row: Record, ack: int, batch: Batch, memory: Memory, rules: Rules
) -> Record:
    """HPCC++ of sender d at this ACK, fed by reflected telemetry or by what its own data carried."""
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
    batch.counts[N_PATHS] += hpcc.path_changed(s, nhop, stack[4], stack[5])
    hpcc.new_ack(s, p, ack, slot.snd_nxt[d], nhop, stack[0], stack[1], stack[2], stack[3],
                 rules.ts_modulus, rules.tx_modulus, u)  # fmt: skip
    if reflected:
        batch.loads[row.telemetry].flags = s.flags
    return s


@kernel
def tell_hpcc(made: Record, s: Record) -> None:
    """The draft's variables into a decision."""
    made.algorithm = Algorithm.HPCC.value
    made.branch = s.branch
    made.flags = s.flags
    made.U = s.U
    made.W = s.W
    made.Wc = s.Wc
    made.R = s.R
    made.incStage = s.incStage
    made.lastUpdateSeq = s.lastUpdateSeq
    made.u_max = s.u_max
    made.u_hop = s.u_hop
    made.hop_count = s.nhop


@kernel
def dialect_of(slot: Record, d: int, asked: int) -> tuple[int, int]:
    """The dialect of sender d and its basis: as asked, else by its SYN (one without an MSS is ns-3's)."""
    if asked != 0:
        return asked, Basis.SET.value
    if not slot.marks[d] & Mark.SYN_SEEN.value:
        return LINUX, Basis.ASSUMED.value
    return NS3 if slot.marks[d] & Mark.NS3_STACK.value else LINUX, Basis.HANDSHAKE.value


@kernel
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


@kernel
def predicted(slot: Record, row: Record, within_ns: int) -> bool:
    """Whether data that repeats an ACK takes the receiver's header-predicted path, which skips ACKs."""
    before = slot.data_ns[row.direction]
    plain = row.payload > 0 and row.flags & (FIN | ECE | CWR) == 0
    return bool(plain and before > 0 and row.time_ns - before < within_ns)


@kernel
def tell_dctcp(made: Record, s: Record) -> None:
    """The RFC's variables into a decision; at a window's end, the counts of the window that ended."""
    closed = (
        s.branch == dctcp.Branch.WINDOW_END.value
        or s.branch == dctcp.Branch.WINDOW_END_REDUCE.value
    )
    made.algorithm = Algorithm.DCTCP.value
    made.branch = s.branch
    made.alpha = s.alpha
    made.M = s.M
    made.BytesAcked = s.closed_acked if closed else s.BytesAcked
    made.BytesMarked = s.closed_marked if closed else s.BytesMarked
    made.WindowEnd = s.WindowEnd
    made.cwnd = s.cwnd
    made.ssthresh = s.ssthresh


@kernel
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
        batch.counts[N_GAPS] += 1
    if ends_handshake(slot, row, d):
        return
    acked = max(ack - slot.snd_una[d], 0)
    duplicate = (
        row.payload == 0
        and ack == slot.snd_una[d]
        and slot.snd_nxt[d] > ack
        and row.flags & FIN == 0
    )
    ece = row.flags & ECE != 0
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
def ends_handshake(slot: Record, row: Record, d: int) -> bool:
    """Whether this is the handshake's third segment: it times the round trip and counts for nothing."""
    if not slot.marks[d] & Mark.ANSWERED.value or slot.marks[d] & Mark.SHAKEN.value:
        return False
    slot.marks[d] |= Mark.SHAKEN.value
    slot.lag_ns[1 - d] = row.time_ns - slot.synack_ns
    if slot.marks[1 - d] & Mark.SYN_SEEN.value:
        slot.rtt_ns = max(row.time_ns - slot.syn_ns, 1)
    return True


@kernel
def enter(slot: Record, row: Record, how: int, counts: NDArray[np.int64]) -> None:
    """What every row tells of its conversation; a slot that changed hands is wiped first."""
    if how != FOUND:
        counts[N_NEW] += 1
        counts[N_EVICTED] += how == EVICTED
        slot.syn_ns = 0
        slot.synack_ns = 0
        slot.rtt_ns = 0
        slot.base_rtt_ns = 0
        for d in range(2):
            begin(slot, d)
            slot.nic_bps[d] = 0
    r = row.direction
    if row.src_nic_bps > 0:
        slot.nic_bps[r] = row.src_nic_bps
    if row.dst_nic_bps > 0:
        slot.nic_bps[1 - r] = row.dst_nic_bps
    if row.base_rtt_ns > 0:
        slot.base_rtt_ns = row.base_rtt_ns


@kernel
def has_room(memory: Memory) -> bool:
    """Whether every pool has a place for one more row."""
    return bool(
        memory.used[0] < memory.hpcc.size
        and memory.used[1] < memory.dctcp.size
        and memory.used[2] < memory.loads.size
        and memory.used[3] < memory.pending.shape[0]
    )


@kernel
def follow(batch: Batch, memory: Memory, rules: Rules, start: int) -> int:
    """Every row from `start`, in order; returns the row at which a pool was full, or the number of rows."""
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
            if row.flags & SYN:
                handshake(slot, row, batch.counts)
            elif row.flags & ACK:
                acknowledge(slot, row, at, batch, memory, rules)
            if row.payload > 0 or row.flags & FIN:
                send(slot, row, batch.counts)
            slot.data_ns[row.direction] = row.time_ns if row.payload > 0 else 0
        if row.telemetry >= 0 and batch.loads[row.telemetry].reflected == 0:
            observe_hops(slot, row, batch, memory, rules)
    return int(batch.rows.size)
