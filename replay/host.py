"""Hosts: a NIC that answers first and then takes turns among its flows.

A sender hands a segment to the wire the moment its transmission begins, so SND.NXT is what a tap at
the host's port has seen; the recurrences are the pipeline's (`hpcc.new_ack`, `dctcp.new_ack`).
"""

from typing import Any

import numpy as np

from collector import inner
from replay import control, event, receiver
from replay.control import NEVER
from replay.egress import NS, serialization
from replay.receiver import HELD, UPDATE
from replay.state import CSIG_EXPANDED, DATA, INT, SIGNALS, SYN, State

RANDOM_FACTOR = np.uint64(6364136223846793005)
RANDOM_STEP = np.uint64(1442695040888963407)
RANDOM_SHIFT = np.uint64(40)
RANDOM_SPAN = 1 << 24
FARTHEST = event.SPAN_NS + event.SPAN_NS // 2
"""So far from the base of the heap a NIC may ask to be woken."""


@inner
def jitter(flow: Any) -> float:
    """The next number of a flow's own sequence, uniform in [0.9, 1.1)."""
    flow.random = flow.random * RANDOM_FACTOR + RANDOM_STEP
    return 0.9 + 0.2 * np.int64(flow.random >> RANDOM_SHIFT) / RANDOM_SPAN


@inner
def new_packet(s: State, row: int, kind: int, seq: int) -> int:
    """Row of a fresh packet of a flow."""
    item = s.rules.packets
    s.rules.packets += 1
    packet = s.packets[item]
    packet.flow = row
    packet.kind = kind
    packet.path = s.flows[row].path
    flow = s.flows[row]
    packet.size = flow.octets[kind]
    if packet.size == 0:
        packet.size = s.rules.octets[s.paths[packet.path].hops, kind, flow.form] + flow.around
    packet.seq = seq
    packet.first_ns = -1
    packet.echo = -1
    return int(item)


@inner
def answer(s: State, item: int, now: int) -> None:
    """Put a packet without data into the queue of its sender's NIC."""
    packet = s.packets[item]
    flow = s.flows[packet.flow]
    if packet.first_ns == HELD and not receiver.speaks(packet, flow, item):
        return
    if packet.first_ns == UPDATE:
        receiver.opens(packet, flow, now)
    row = flow.dst if packet.kind & 1 else flow.src
    host = s.hosts[row]
    packet.next = -1
    if host.tail >= 0:
        s.packets[host.tail].next = item
    else:
        host.head = item
    host.tail = item
    wake(s, row, now)


@inner
def wake(s: State, row: int, at: int) -> None:
    """Let a NIC look for work at `at`, or as far ahead as events go, unless it will before."""
    host = s.hosts[row]
    at = min(max(at, host.free_ns), s.heap.base + FARTHEST)
    if at < host.wake_ns:
        host.wake_ns = at
        event.push(s.heap, at, event.NIC_READY, row)


@inner
def nic_ready(s: State, row: int, now: int) -> None:
    """Send the next packet of a host, or sleep until one of its flows may send."""
    host = s.hosts[row]
    if now >= host.wake_ns:
        host.wake_ns = NEVER
    if now < host.free_ns:
        wake(s, row, now)
        return
    item = host.head
    if item >= 0:
        host.head = s.packets[item].next
        if host.head < 0:
            host.tail = -1
        launch(s, row, item, now)
        return
    soonest = NEVER
    for turn in range(host.count):
        flow = host.first + (host.turn + turn) % host.count
        ready = sendable(s, flow, now)
        if ready <= now:
            host.turn = (host.turn + turn + 1) % host.count
            launch(s, row, next_segment(s, flow, now), now)
            return
        soonest = min(soonest, ready)
    if soonest < NEVER:
        wake(s, row, soonest)


@inner
def launch(s: State, row: int, item: int, now: int) -> None:
    """Transmit a packet on the host's link: its first bit passes the edge now."""
    host = s.hosts[row]
    packet = s.packets[item]
    packet.first_ns = now
    host.free_ns = now + serialization(packet.size, host.bps)
    out = 0 if packet.kind & 1 else s.flows[packet.flow].out_ns
    event.push(s.heap, host.free_ns + out + s.rules.switch_ns, event.SWITCH_ARRIVE, item)
    if host.cpu_bps > 0 and packet.kind == DATA:
        host.free_ns = max(host.free_ns, now + serialization(packet.size, host.cpu_bps))
    wake(s, row, host.free_ns)


@inner
def sendable(s: State, row: int, now: int) -> int:
    """When a flow may send its next segment; NEVER: once an acknowledgment has come."""
    flow = s.flows[row]
    if flow.established == 0:
        return begins(s, row, flow, now)
    if now < flow.start_ns:
        return int(flow.start_ns)
    following = next_phase(s, flow, now)
    in_flight = flow.snd_nxt - flow.snd_una
    if s.rules.lossy == 1 and in_flight > 0:
        expires = flow.heard_ns + control.TIMEOUT_NS
        if now < expires:
            return int(min(expires, ready_at(s, row, flow, in_flight, now, following)))
        control.go_back(s, row, flow, now, True)
        in_flight = 0
    return ready_at(s, row, flow, in_flight, now, following)


@inner
def begins(s: State, row: int, flow: Any, now: int) -> int:
    """When a flow begins whose handshake was too far ahead to be scheduled; else NEVER."""
    if flow.late == 0:
        return NEVER
    if now < flow.start_ns:
        return int(flow.start_ns)
    flow.late = 0
    answer(s, new_packet(s, row, SYN, 0), now)
    return NEVER


@inner
def ready_at(s: State, row: int, flow: Any, in_flight: int, now: int, following: int) -> int:
    """When a flow may send, as phases and congestion control say."""
    if flow.draining == 1:
        if in_flight > 0:
            return NEVER
        flow.draining = 0
        flow.path = s.phases[flow.phase].path
    rate = s.phases[flow.phase].rate_bps
    if rate < 0 or flow.snd_nxt >= s.phases[flow.phase].limit:
        return following
    if flow.kind == INT:
        closed = flow.drain_bps > 0 and in_flight + flow.payload > flow.window
        ready = flow.pace_ns if in_flight < s.hpcc[row].W and not closed else NEVER
    elif flow.swift == 1:
        ready = control.swift_ready(s, row, flow, in_flight, now)
    else:
        window = min(s.dctcp[row].cwnd, flow.window)
        alone = in_flight == 0 and flow.drain_bps == 0
        ready = now if alone or in_flight + flow.payload <= window else NEVER
    if rate > 0:
        ready = max(ready, flow.app_ns)
    return int(ready)


@inner
def next_phase(s: State, flow: Any, now: int) -> int:
    """Enter the phase that `now` lies in; a new path waits until nothing is in flight."""
    while flow.phase + 1 < flow.phases_end and s.phases[flow.phase + 1].at_ns <= now:
        flow.phase += 1
        flow.app_ns = now
        flow.draining = 1 if s.phases[flow.phase].path != flow.path else flow.draining
    if flow.phase + 1 < flow.phases_end:
        return int(s.phases[flow.phase + 1].at_ns)
    return NEVER


@inner
def next_segment(s: State, row: int, now: int) -> int:
    """The next data packet of a flow, with the telemetry that a sender writes."""
    flow = s.flows[row]
    item = new_packet(s, row, DATA, flow.snd_nxt)
    packet = s.packets[item]
    if flow.snd_nxt == flow.snd_una:
        flow.heard_ns = now
    packet.payload = min(flow.payload, s.phases[flow.phase].limit - flow.snd_nxt)
    packet.size -= flow.payload - packet.payload
    flow.snd_nxt += packet.payload
    packet.cwr = flow.cwr
    flow.cwr = 0
    if flow.kind == INT:
        gap = int(packet.size * 8 * NS / s.hpcc[row].R)
        flow.pace_ns = now + gap if flow.repaced == 1 else max(flow.pace_ns, now - gap) + gap
    elif flow.kind <= CSIG_EXPANDED:
        packet.csig_t = flow.rotation
        packet.csig_s = s.rules.initial[flow.kind - 1, flow.rotation]
        flow.rotation = (flow.rotation + 1) % SIGNALS
    rate = s.phases[flow.phase].rate_bps
    if rate > 0:
        gap = packet.payload * 8 * NS / rate
        flow.app_ns = max(flow.app_ns, now - int(gap)) + int(gap * jitter(flow))
    return item
