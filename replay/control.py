"""Congestion control of the fabric's senders: what each makes of one acknowledgment.

The recurrences are the pipeline's (`hpcc.new_ack`, `dctcp.new_ack`, `swift.new_ack`).
"""

from typing import Any

import numpy as np

from collector import inner
from pipeline import dctcp, hop_record, hpcc, swift
from replay.state import ACK, CSIG_EXPANDED, HOPS, INT, SIGNALS, State

NEVER = 1 << 60
TIMEOUT_NS = 1_000_000
"""Without progress for so long a sender goes back: a short RTO, as in data centers."""
DUPLICATES = 3


@inner
def hear(s: State, ack: Any, flow: Any, now: int) -> None:
    """Count duplicate ACKs; the third says that data was lost (RFC 5681 section 3.2)."""
    if ack.seq > flow.snd_una:
        flow.heard_ns = now
        flow.duplicates = 0
    elif ack.kind == ACK and ack.bare == 0 and flow.snd_nxt > flow.snd_una:
        flow.duplicates += 1
        if flow.duplicates == DUPLICATES and flow.snd_una >= flow.recover:
            go_back(s, ack.flow, flow, now, False)


@inner
def go_back(s: State, row: int, flow: Any, now: int, timeout: bool) -> None:
    """Send everything again from the first byte that is not acknowledged, by a smaller window.

    Receivers keep nothing out of order. DCTCP halves its window once a round trip, and starts anew
    with one segment after a timeout (RFC 5681 sections 3.1, 3.2); Swift has a rule of its own;
    HPCC++ only sends again.
    """
    flow.recover = flow.snd_nxt
    flow.snd_nxt = flow.snd_una
    flow.heard_ns = now
    flow.duplicates = 0
    if flow.kind == INT:
        return
    if flow.swift == 1:
        swift.lost(s.swift[row], s.swift_parameters, now, timeout)
        return
    state = s.dctcp[row]
    state.ssthresh = max(state.cwnd / 2, 2.0 * flow.payload)
    state.cwnd = float(flow.payload) if timeout else state.ssthresh


@inner
def swift_ready(s: State, row: int, flow: Any, in_flight: int, now: int) -> int:
    """When Swift lets the next segment go: within its window, or paced where that is below one."""
    state = s.swift[row]
    if state.cwnd < 1:
        return int(flow.pace_ns) if in_flight == 0 else NEVER
    window = min(state.cwnd * flow.payload, float(flow.window))
    return now if in_flight + flow.payload <= window else NEVER


@inner
def decide_hpcc(s: State, ack: Any, snd_nxt: int, decision: Any) -> None:
    """HPCC++ from the INT stack that the acknowledgment reflects."""
    data = s.packets[ack.echo]
    path = s.paths[data.path]
    told = np.empty((len(hop_record.KINDS), HOPS, 1), np.int64)
    word = np.uint64(path.hops)
    tx_unit, qlen_unit = s.rules.tx_unit, s.rules.qlen_unit
    for hop in range(path.hops):
        egress = s.ports[path.port[0, hop]]
        told[hop_record.TS, hop, 0] = data.ts_ns[hop]
        told[hop_record.TX, hop, 0] = data.tx_bytes[hop] // tx_unit * tx_unit
        told[hop_record.QLEN, hop, 0] = data.qlen[hop] // qlen_unit * qlen_unit
        told[hop_record.B, hop, 0] = egress.told_bps
        word = hop_record.path_with(word, hop, egress.node_id, egress.port_id)
    state = s.hpcc[ack.flow]
    hop_record.path_changed(state, word)
    decision.branch = hpcc.new_ack(
        state, s.hpcc_parameters, s.links, ack.seq, snd_nxt, path.hops, told, 0,
        hop_record.WIDEST, hop_record.WIDEST, np.empty((HOPS, 1), np.float64),
    )  # fmt: skip
    decision.U = state.U
    decision.W = state.W
    decision.Wc = state.Wc
    decision.R = state.R
    decision.u_max = state.u_max
    decision.u_hop = state.u_hop
    decision.incStage = state.incStage
    decision.lastUpdateSeq = state.lastUpdateSeq


@inner
def decide_dctcp(s: State, ack: Any, flow: Any, decision: Any) -> None:
    """DCTCP from the ECE flag; a reduction is told to the receiver by CWR on the next segment."""
    state = s.dctcp[ack.flow]
    windows = state.windows
    decision.branch = dctcp.new_ack(
        state, s.dctcp_parameters, ack.seq, flow.snd_nxt, ack.ece == 1, 0, False
    )
    if state.reduced == 1:
        flow.cwr = 1
    decision.alpha = state.alpha
    decision.cwnd = state.cwnd
    decision.ssthresh = state.ssthresh
    decision.WindowEnd = state.WindowEnd
    closed = state.windows != windows
    decision.BytesAcked = state.closed_acked if closed else state.BytesAcked
    decision.BytesMarked = state.closed_marked if closed else state.BytesMarked


@inner
def decide_swift(s: State, ack: Any, flow: Any, now: int, decision: Any) -> None:
    """Swift from the round trip and the CSIG tag that the acknowledgment reflects."""
    data = s.packets[ack.echo]
    state = s.swift[ack.flow]
    tagged = flow.kind <= CSIG_EXPANDED and flow.kind != INT
    value = reflected(s, flow, data) if tagged else np.nan
    pd_ns = value if data.csig_t == SIGNALS - 1 else np.nan
    abw_bps = value if data.csig_t == 0 else np.nan
    decision.branch = swift.new_ack(
        state, s.swift_parameters, now, now - data.first_ns, flow.answer_ns,
        s.paths[data.path].hops, 1, pd_ns, abw_bps,
    )  # fmt: skip
    flow.pace_ns = now + max(state.pacing_delay_ns, 0.0)
    decision.cwnd = state.cwnd


@inner
def reflected(s: State, flow: Any, data: Any) -> float:
    """Value of a tag: the lower end of its bucket, or its quanta."""
    if flow.kind == CSIG_EXPANDED:
        return float(data.csig_s * s.rules.quanta[data.csig_t])
    return float(s.rules.buckets[data.csig_t, data.csig_s])
