"""Arrivals: what a host makes of a packet whose last bit reached it, as receiver or as sender."""

from collector import inner
from replay import control, event, host, receiver
from replay.egress import NS
from replay.receiver import HELD, UPDATE
from replay.state import ACK, DATA, HANDSHAKE_ACK, INT, SYN, SYN_ACK, State


@inner
def arrive(s: State, item: int, now: int) -> None:
    """The last bit of a packet reached its host."""
    packet = s.packets[item]
    packet.last_ns = now
    flow = s.flows[packet.flow]
    if packet.kind == ACK:
        acknowledge(s, item, now)
    elif packet.kind == SYN_ACK:
        flow.established = 1
        flow.app_ns = now
        host.answer(s, host.new_packet(s, packet.flow, HANDSHAKE_ACK, 0), now)
    elif packet.kind == SYN:
        reply = host.new_packet(s, packet.flow, SYN_ACK, 0)
        event.push(s.heap, now + flow.answer_ns, event.ANSWER_READY, reply)
    elif packet.kind == DATA:
        # FIFO queues and drained path changes keep the order; what a loss leaves out is sent again.
        assert s.rules.lossy == 1 or packet.seq == flow.rcv_nxt
        receive(s, item, now)


@inner
def receive(s: State, item: int, now: int) -> None:
    """A receiver takes data: an ACK for each segment, or for several, as its flow says."""
    packet = s.packets[item]
    flow = s.flows[packet.flow]
    expected = packet.seq == flow.rcv_nxt
    if expected:
        flow.rcv_nxt += packet.payload
        if flow.drain_bps > 0:
            receiver.keep(flow, packet.payload, now)
    if flow.each > 1:
        if receiver.changes(packet, flow):
            reply(s, item, packet.seq, flow.last_ce, now)
        if receiver.waits(packet, flow, expected):
            if flow.waiting == 1:
                flow.held = host.new_packet(s, packet.flow, ACK, flow.rcv_nxt)
                s.packets[flow.held].echo = item
                s.packets[flow.held].first_ns = HELD
                event.push(s.heap, now + flow.patience_ns, event.ANSWER_READY, flow.held)
            return
    reply(s, item, flow.rcv_nxt, packet.ce, now)


@inner
def reply(s: State, item: int, seq: int, ece: int, now: int) -> None:
    """Answer data with an ACK of all before `seq`."""
    flow = s.flows[s.packets[item].flow]
    made = host.new_packet(s, s.packets[item].flow, ACK, seq)
    s.packets[made].echo = item
    s.packets[made].ece = ece
    if flow.drain_bps > 0:
        s.packets[made].window = receiver.window(flow, now)
        if s.packets[made].window < flow.payload and flow.updating == 0:
            update(s, item, now)
    event.push(s.heap, now + flow.answer_ns, event.ANSWER_READY, made)


@inner
def update(s: State, item: int, now: int) -> None:
    """Say that there is room again once the application has read enough."""
    flow = s.flows[s.packets[item].flow]
    flow.updating = 1
    made = host.new_packet(s, s.packets[item].flow, ACK, flow.rcv_nxt)
    s.packets[made].echo = item
    s.packets[made].first_ns = UPDATE
    s.packets[made].bare = 1
    if flow.kind == INT:
        s.packets[made].size = s.rules.octets[0, ACK, flow.form] + flow.around
    event.push(s.heap, max(now, receiver.reads(flow)), event.ANSWER_READY, made)


@inner
def acknowledge(s: State, item: int, now: int) -> None:
    """Run congestion control over one acknowledgment and write down what it then holds."""
    ack = s.packets[item]
    flow = s.flows[ack.flow]
    if flow.drain_bps > 0:
        flow.window = ack.seq + ack.window - max(flow.snd_una, ack.seq)
        if ack.bare == 1 and flow.kind == INT:  # no telemetry: nothing is decided
            host.wake(s, flow.src, now)
            return
    decision = s.decisions[s.rules.decisions]
    s.rules.decisions += 1
    decision.time_ns = now
    decision.flow = ack.flow
    decision.packet = item
    decision.ack = ack.seq
    decision.snd_nxt = flow.snd_nxt
    if s.rules.lossy == 1:
        control.hear(s, ack, flow, now)
    flow.snd_una = max(flow.snd_una, ack.seq)
    flow.snd_nxt = max(flow.snd_nxt, flow.snd_una)
    if flow.kind == INT:
        before = s.hpcc[ack.flow].R
        control.decide_hpcc(s, ack, flow.snd_nxt, decision)
        if flow.repaced == 1:
            octets = s.packets[ack.echo].size * 8 * NS
            flow.pace_ns += int(octets / s.hpcc[ack.flow].R) - int(octets / before)
    elif flow.swift == 1:
        control.decide_swift(s, ack, flow, now, decision)
    else:
        control.decide_dctcp(s, ack, flow, decision)
    host.wake(s, flow.src, now)
