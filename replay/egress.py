"""An egress port: queues by class counted in bytes, ECN marks, telemetry written at dequeue.

The queue holds what waits; the packet in transmission has left it. Counters are exact: the queue's
integral over time, the time above the marking threshold and the bytes sent, by bin of time.
"""

from typing import Any

from collector import inner
from replay import event, rogue
from replay.state import (
    AECN,
    AREA,
    BIN_NS,
    BUCKETS,
    CLASSES,
    CSIG_EXPANDED,
    CSIG_WINDOW_NS,
    DATA,
    DELAY_UNIT_NS,
    DROPPED,
    DWRR,
    INFOS,
    ONE,
    RATIO_SCALE,
    SENT,
    SIGNALS,
    SINK,
    STACKED,
    STANDING,
    State,
)  # fmt: skip

OCTET_LIMIT = 255
QUANTA = (1_500, 4_500)
"""Octets that a class may send in its turn, where turns are weighted."""
DRE_TAU_NS = 256_000.0
"""Time constant of the discounting rate estimator (CONGA 3.2)."""
NS = 1_000_000_000
MILLIONTHS = 1_000_000


@inner
def egress(s: State, packet: Any) -> int:
    """The port through which a packet leaves the switch that it is at; odd kinds travel back."""
    direction = packet.kind & 1
    return int(s.paths[packet.path].port[direction, packet.hop])


@inner
def account(s: State, row: int, now: int) -> None:
    """Add the queue since its last change to the exact counters, split at the edges of the bins."""
    port = s.ports[row]
    since = port.since_ns
    while since < now:
        bin_ = since // BIN_NS
        until = min(now, (bin_ + 1) * BIN_NS)
        s.counters[AREA, bin_, row] += port.queue_bytes * (until - since)
        if port.queue_bytes > port.mark_bytes:
            s.counters[STANDING, bin_, row] += until - since
        since = until
    port.since_ns = now


@inner
def enqueue(s: State, item: int, now: int) -> None:
    """A packet joins its port's queue; above K ECN-capable data is marked (RFC 8257 3.1)."""
    packet = s.packets[item]
    row = egress(s, packet)
    port = s.ports[row]
    account(s, row, now)
    if now >= port.down_ns or port.queue_bytes + packet.size > port.room_bytes:
        s.counters[DROPPED, now // BIN_NS, row] += 1
        return
    flow = s.flows[packet.flow]
    own = flow.urgent if s.rules.queues != ONE else 0
    if packet.kind == DATA and flow.ecn == 1 and port.class_bytes[own] > port.mark_bytes:
        if packet.ce == 0:
            packet.ce_hop = packet.hop
        packet.ce = 1
    packet.queued_ns = now
    packet.next = -1
    if port.tail[own] >= 0:
        s.packets[port.tail[own]].next = item
    else:
        port.head[own] = item
    port.tail[own] = item
    port.class_bytes[own] += packet.size
    port.queue_bytes += packet.size
    if port.busy == 0:
        transmit(s, row, now)


@inner
def transmit(s: State, row: int, now: int) -> None:
    """Take the packet at the head, write its telemetry, put it on the wire; or rest."""
    port = s.ports[row]
    if port.queue_bytes == 0:
        port.busy = 0
        return
    account(s, row, now)
    own = served(s, port)
    item = port.head[own]
    packet = s.packets[item]
    port.head[own] = packet.next
    if port.head[own] < 0:
        port.tail[own] = -1
    port.class_bytes[own] -= packet.size
    port.queue_bytes -= packet.size
    write_telemetry(s, row, packet, port.class_bytes[own], now)
    if packet.hop == 0 and port.edge == 0:
        seen_above(packet, now)
    port.tx_bytes += packet.size
    s.counters[SENT, now // BIN_NS, row] += packet.size
    port.busy = 1
    done = now + serialization(packet.size, port.bps)
    event.push(s.heap, done, event.PORT_READY, row)
    if now >= port.down_ns:
        s.counters[DROPPED, now // BIN_NS, row] += 1
        return
    packet.hop += 1
    if port.edge == 1:
        back = s.flows[packet.flow].back_ns if packet.kind & 1 else 0
        event.push(s.heap, done + port.prop_ns + back, event.HOST_ARRIVE, item)
    else:
        event.push(s.heap, done + port.prop_ns + s.rules.switch_ns, event.SWITCH_ARRIVE, item)


@inner
def served(s: State, port: Any) -> int:
    """The class whose packet goes next; one of them has any.

    Where turns are weighted, a class that cannot pay for its packet waits for its next turn.
    """
    if s.rules.queues != DWRR:
        return 1 if port.head[1] >= 0 else 0
    while True:
        own = port.turn
        head = port.head[own]
        if head >= 0 and port.deficit[own] >= s.packets[head].size:
            port.deficit[own] -= s.packets[head].size
            return int(own)
        if head < 0:
            port.deficit[own] = 0
        port.turn = (own + 1) % CLASSES
        port.deficit[port.turn] += QUANTA[port.turn]


@inner
def seen_above(packet: Any, now: int) -> None:
    """Keep what a tap at the first leaf's port to a spine sees, after this port's update."""
    packet.up_ns = now
    packet.up_ce = packet.ce
    packet.up_inserted = packet.inserted
    packet.up_s = packet.csig_s
    packet.up_lm = packet.csig_lm
    for info in range(INFOS):
        packet.up_aecn[info] = packet.aecn[info]


@inner
def serialization(size: int, bps: int) -> int:
    """Time on the wire in ns, rounded up so that no counter ever shows more than the line rate."""
    return (size * 8 * NS + bps - 1) // bps


@inner
def write_telemetry(s: State, row: int, packet: Any, queue: int, now: int) -> None:
    """What this port adds to a packet that leaves it; every port measures, whatever passes.

    `queue` is what still waits in the packet's class.
    """
    port = s.ports[row]
    roll_window(port, now)
    dre = discount(port, now) + packet.size / 2
    port.dre_bytes += packet.size
    if packet.kind != DATA:
        return
    packet.ts_ns[packet.hop] = now
    packet.depth[packet.hop] = port.queue_bytes
    packet.qlen[packet.hop] = queue
    packet.wait_ns[packet.hop] = now - packet.queued_ns + s.rules.switch_ns
    kind = s.flows[packet.flow].kind
    if kind in STACKED:
        write_stack(s, port, packet, kind, s.flows[packet.flow].form)
        used = dre * 8 * NS / DRE_TAU_NS / port.bps
        packet.used_ppm[packet.hop] = min(int(used * MILLIONTHS + 0.5), MILLIONTHS)
    elif kind == AECN:
        write_aecn(s, port, packet, queue, dre * 8 * NS / DRE_TAU_NS / port.bps, now)
    elif kind <= CSIG_EXPANDED or rogue.inserts(s, port, packet, kind):
        write_csig(s, port, packet, kind == CSIG_EXPANDED)


@inner
def write_stack(s: State, port: Any, packet: Any, kind: int, form: int) -> None:
    """A hop's record; a sink takes all of them off, and what it sends is counted without them."""
    hop = packet.hop
    packet.size += s.rules.hop_octets[form]
    if kind == SINK:
        packet.size += s.rules.sink_octets if hop == 0 else 0
        if port.edge == 1:
            packet.size -= s.rules.sink_octets + (hop + 1) * s.rules.hop_octets[form]
    packet.tx_bytes[hop] = port.tx_bytes + packet.size


@inner
def roll_window(port: Any, now: int) -> None:
    """Close the measuring window of the available bandwidth when `now` lies in a later one."""
    window = now // CSIG_WINDOW_NS
    if window == port.window:
        return
    sent = port.tx_bytes - port.window_tx if window == port.window + 1 else 0
    port.abw_bps = max(0, port.bps - sent * 8 * NS // CSIG_WINDOW_NS)
    port.window = window
    port.window_tx = port.tx_bytes


@inner
def discount(port: Any, now: int) -> float:
    """DRE bytes at `now`: exp(-x) as 1/(1 + x + x²/2 + x³/6), the same on every machine."""
    x = (now - port.dre_ns) / DRE_TAU_NS
    port.dre_bytes /= 1 + x + x * x / 2 + x * x * x / 6
    port.dre_ns = now
    return float(port.dre_bytes)


@inner
def write_csig(s: State, port: Any, packet: Any, expanded: bool) -> None:
    """Quantise, then replace S and LM together where the local value wins strictly (CSIG 5.4.2)."""
    t = packet.csig_t
    value = float(port.abw_bps)
    if t == 1:
        value = port.abw_bps / port.bps
    elif t == SIGNALS - 1:
        value = float(packet.wait_ns[packet.hop])
    value = rogue.measured(port, t, value)
    local = int(value / s.rules.quanta[t]) if expanded else bucket(s, t, value)
    if port.rogue != rogue.HONEST:
        rogue.write(s, port, packet, local, expanded)
    elif (local > packet.csig_s) if t == SIGNALS - 1 else (local < packet.csig_s):
        packet.csig_s = local
        packet.csig_lm = port.lm if expanded else port.lm_compact


@inner
def bucket(s: State, t: int, value: float) -> int:
    """Index of the half-open bucket that holds `value`; the last one also holds all above."""
    index = 0
    while index + 1 < BUCKETS and s.rules.buckets[t, index + 1] <= value:
        index += 1
    return index


@inner
def write_aecn(s: State, port: Any, packet: Any, queue: int, rate: float, now: int) -> None:
    """Combine this router's information: max, max, max, add, add, saturating (AECN 3.2)."""
    u = 8 * queue * NS / (port.bps * s.rules.base_rtt_ns) + rate
    inflight = octet(u / RATIO_SCALE)
    packet.aecn[0] = max(packet.aecn[0], inflight)
    packet.aecn[1] = max(packet.aecn[1], octet(rate / RATIO_SCALE))
    packet.aecn[2] = max(packet.aecn[2], octet(queue / s.rules.buffer_bytes / RATIO_SCALE))
    packet.aecn[3] = octet(packet.aecn[3] + (now - packet.queued_ns) / DELAY_UNIT_NS)
    packet.aecn[4] = octet(packet.aecn[4] + (1.0 if u > 1 else 0.0))


@inner
def octet(value: float) -> int:
    """The nearest whole number that an octet holds."""
    return min(OCTET_LIMIT, int(value + 0.5))
