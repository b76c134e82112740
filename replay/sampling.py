"""Sampling by sFlow: frames as agents of the switches send them, a datagram of version 5 a frame.

The first octets of a frame stand in a flow sample behind the agent's own headers; how long it was,
and that one in so many is sampled, is told.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from collector import UDP, CollectorSettings, Frames, Header, headers
from replay.packet_content import IPV4, TTL
from replay.wiring import COLLECTOR, COLLECTOR_MAC

AROUND = ("ethernet", "ipv4", "udp")
INSIDE = ("sflow", "sflow_agent4", "sflow_datagram", "sflow_flow", "sflow_raw")
VERSION, OF_IPV4, FLOW, RAW, RAW_ETHERNET = 5, 1, 1, 1, 1
TYPE_AND_LENGTH = 8
"""Octets of a sample or a record that its length does not count."""
AGENT_PORT = 51000
WORD = 4


def sampled(
    frames: Frames, settings: CollectorSettings, one_in: int, own: NDArray[np.bool_]
) -> Frames:
    """The frames in datagrams to the first of `sflow_udp_ports`, but for what is no sample (`own`).

    ValueError when no such port is set.
    """
    if not settings.sflow_udp_ports:
        raise ValueError("sflow_udp_ports must name a value: samples are sent there")
    tables = {header.name: header for header in headers(settings)}
    held = frames.captured.astype(np.int64)
    values = fields(frames, tables, settings, one_in)
    names = (*AROUND, *INSIDE)
    front = np.concatenate([tables[name].pack(len(frames), values[name]) for name in names], axis=1)
    before = np.where(own, 0, front.shape[1])
    length = np.where(own, held, before + padded(held))
    offset = np.cumsum(length) - length
    data = np.zeros(int(length.sum()), np.uint8)
    data[offset[~own][:, None] + np.arange(front.shape[1])] = front[~own]
    for octets in np.unique(held):
        rows, span = np.flatnonzero(held == octets), np.arange(octets)
        copied = frames.data[frames.offset[rows][:, None] + span]
        data[(offset + before)[rows][:, None] + span] = copied
    whole = length.astype(np.int32)
    sent = np.where(own, frames.length, whole).astype(np.int32)
    return replace(frames, data=data, offset=offset, captured=whole, length=sent)


def padded(octets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Octets filled to whole words."""
    return -(-octets // WORD) * WORD


def fields(
    frames: Frames, tables: dict[str, Header], settings: CollectorSettings, one_in: int
) -> dict[str, dict[str, object]]:
    """Values of all headers in front of the octets of a frame, by table; agents are taps."""
    agent, number = frames.interface.astype(np.int64) + 1, np.arange(len(frames))
    octets = {name: tables[name].octets for name in (*AROUND, *INSIDE)}
    record = octets["sflow_raw"] + padded(frames.captured.astype(np.int64))
    sample = octets["sflow_flow"] + record
    udp = sum(octets[name] for name in ("udp", *INSIDE[:3])) + sample
    return {
        "ethernet": {"destination": COLLECTOR_MAC, "source": COLLECTOR_MAC + agent,
                     "ethertype": IPV4},
        "ipv4": {"version": 4, "ihl": 5, "total_length": octets["ipv4"] + udp, "ttl": TTL,
                 "protocol": UDP, "source": COLLECTOR + agent, "destination": COLLECTOR},
        "udp": {"source_port": AGENT_PORT, "destination_port": settings.sflow_udp_ports[0],
                "length": udp},
        "sflow": {"version": VERSION, "address_type": OF_IPV4},
        "sflow_agent4": {"agent": COLLECTOR + agent},
        "sflow_datagram": {"sequence": number, "samples": 1},
        "sflow_flow": {"type": FLOW, "length": sample - TYPE_AND_LENGTH, "sequence": number,
                       "source_index": agent, "rate": one_in, "pool": number * one_in,
                       "input": agent, "records": 1},
        "sflow_raw": {"type": RAW, "length": record - TYPE_AND_LENGTH, "protocol": RAW_ETHERNET,
                      "frame_length": frames.length, "header_length": frames.captured},
    }  # fmt: skip
