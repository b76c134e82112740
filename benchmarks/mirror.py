"""Captures of a busy mirror: thousands of flows of a known fabric, data and its ACKs.

Frames come in threes: two segments of a flow, and the acknowledgment of those that the same flow's
turn before sent. Flows are drawn by a long-tailed law, telemetry names hops of each flow's way. A
compact tag tells of the hop that is worst on its way, as the hops compare and replace it; which one
that is holds for a quarter of a second (`LASTS_NS`). With 0 a hop is drawn for every tag, which no
network does: the most rows that a mirror could make.
"""

import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import traffic
from numpy.typing import NDArray

from replay.wiring import interfaces, route
from replay.world import GBPS, World

FLOWS = 4096
ELEPHANT = 0.0
"""Share of all frames that one flow has; with 0 the long-tailed law holds for all flows."""
STEP_NS = 760
"""A mirror of 100 Gbit/s, half full of frames of 4,200 octets and a third of ACKs."""
PAYLOAD = 4000
AT_ONCE = 60_000
TURN, SEGMENTS = 3, 2
"""Frames of a turn, and the first of them, which carry data."""
LASTS_NS = 250_000_000
"""For how long a link is as loaded as it is."""
UNTOUCHED = 0.1
"""Share of tags that no hop has replaced."""
CSIG_WORLD = World((), 0, leaves=4, spines=4, hosts_per_leaf=8, host_bps=25 * GBPS,
                   link_bps=100 * GBPS)  # fmt: skip
INT_WORLD = World((), 0, leaves=8, spines=4, pods=4, cores=4, hosts_per_leaf=8,
                  host_bps=25 * GBPS, link_bps=100 * GBPS, core_bps=100 * GBPS)  # fmt: skip
ECHO = bytes.fromhex("fd06 c516 0000 0101")
"""A compact tag's data fields in a TCP option, and two no-operations."""
DELAY_SIGNAL = 2


class Drawn(NamedTuple):
    """The flows: ends, ways and tuples; and which flow has each turn, its how-manieth it is."""

    ends: NDArray[np.int64]
    way: NDArray[np.int64]
    hops: NDArray[np.int64]
    flow: NDArray[np.int64]
    turn: NDArray[np.int64]


def drawn(world: World, turns: int, *, across: bool) -> Drawn:
    """Flows and their turns; `across`: all of them go from one pod to another."""
    chance = np.random.default_rng(6)
    hosts = world.leaves * world.hosts_per_leaf
    apart = hosts // (world.pods if across else world.leaves)
    src = chance.integers(0, hosts, FLOWS)
    dst = (src // apart * apart + apart + chance.integers(0, hosts - apart, FLOWS)) % hosts
    most = 5 if across else 3
    way, hops = np.zeros((FLOWS, most), np.int64), np.zeros(FLOWS, np.int64)
    for one in range(FLOWS):
        spine, core = (
            chance.integers(1, world.spines + 1),
            chance.integers(1, max(world.cores, 1) + 1),
        )
        rows = route(world, int(src[one]), int(dst[one]), int(spine), int(core))
        way[one, : len(rows)], hops[one] = rows, len(rows)
    weight = 1 / (np.arange(FLOWS) + 10.0)
    if ELEPHANT:
        weight[0] = weight[1:].sum() * ELEPHANT / (1 - ELEPHANT)
    flow = np.asarray(chance.choice(FLOWS, turns, p=weight / weight.sum()))
    order = np.argsort(flow, kind="stable")
    first = np.searchsorted(flow[order], np.arange(FLOWS))
    turn = np.empty(turns, np.int64)
    turn[order] = np.arange(turns) - first[flow[order]]
    return Drawn(np.stack([src, dst], 1), way, hops, flow, turn)


def csig(path: Path, frames: int) -> None:
    """TCP with compact tags on data, and their reflections on ACKs."""
    made = drawn(CSIG_WORLD, frames // TURN, across=False)
    data = traffic.MACS + traffic.CSIG + traffic.IP_TYPE + ip(52 + PAYLOAD) + traffic.TCP
    ack = traffic.MACS + traffic.IP_TYPE + ip(60) + tcp(40) + ECHO
    wire = len(data) + PAYLOAD
    heads = [(data.ljust(traffic.CAPTURED, b"\0"), wire)] * 2 + [(ack, len(ack))]
    write(path, heads, made, lambda rows, at, number: told_csig(rows, at, number, made))


def told_csig(
    rows: list[NDArray[np.uint8]], first: int, number: NDArray[np.int64], made: Drawn
) -> None:
    """Tags of data and what comes back of them."""
    world, chance = CSIG_WORLD, np.random.default_rng(first)
    epoch = number * TURN * STEP_NS // max(LASTS_NS, 1)
    for place, frames in enumerate(rows):
        flowing(frames, 18 if place < SEGMENTS else 14, number, place, made, world)
        flow = made.flow[number]
        kind = (number + place) % 3
        hop = worst(made, flow, kind, epoch) if LASTS_NS else chance.integers(0, made.hops[flow])
        value = np.where(kind == DELAY_SIGNAL, chance.integers(1, 12, len(flow)),
                         chance.integers(4, 31, len(flow)))  # fmt: skip
        untouched = chance.random(len(flow)) < UNTOUCHED
        value = np.where(untouched, np.where(kind == DELAY_SIGNAL, 0, 31), value)
        lm = np.where(untouched, 0, made.way[flow, hop] + 1)
        tag = kind << 13 | value << 7 | lm
        traffic.put(frames, 14 if place < SEGMENTS else 14 + 20 + 32 + 4, 2, tag)


def worst(
    made: Drawn, flow: NDArray[np.int64], kind: NDArray[np.int64], epoch: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Which hop of each flow's way is the most loaded one by a signal for a while."""
    known = len(interfaces(CSIG_WORLD))
    count = int(epoch.max(initial=0)) + 1
    load = np.random.default_rng(6).random((count, 3, known))
    way = made.way[flow]
    found = load[epoch[:, None], kind[:, None], way]
    found[np.arange(way.shape[1]) >= made.hops[flow][:, None]] = -1
    return np.asarray(found.argmax(axis=1))


def stacks(path: Path, frames: int) -> None:
    """TCP whose data and ACKs carry stacks of five hops: INT-MD, reflected by the receivers."""
    made = drawn(INT_WORLD, frames // TURN, across=True)
    stack = traffic.SHIM + traffic.MD + traffic.HOP * traffic.HOPS
    heads = []
    for place in range(TURN):
        payload = PAYLOAD if place < SEGMENTS else 0
        front = traffic.MACS + traffic.IP_TYPE + ip(52 + len(stack) + payload, traffic.INT_DSCP)
        heads.append((front + traffic.TCP + stack, len(front + traffic.TCP + stack) + payload))
    write(path, heads, made, lambda rows, at, number: told_stacks(rows, at, number, made))


def told_stacks(
    rows: list[NDArray[np.uint8]], first: int, number: NDArray[np.int64], made: Drawn
) -> None:
    """Records of five hops, newest first."""
    ports = interfaces(INT_WORLD)
    node, port, mbps = (np.array([getattr(one, name) for one in ports])
                        for name in ("node_id", "port_id", "capacity_bps"))  # fmt: skip
    chance = np.random.default_rng(first)
    time_ns = (number * TURN) * STEP_NS
    for place, frames in enumerate(rows):
        flowing(frames, 14, number, place, made, INT_WORLD)
        start = frames.shape[1] - traffic.HOPS * len(traffic.HOP)
        for hop in range(traffic.HOPS):
            at, here = (
                start + (traffic.HOPS - 1 - hop) * len(traffic.HOP),
                made.way[made.flow[number], hop],
            )
            now = 10**9 + time_ns - (traffic.HOPS - hop) * 1500
            traffic.put(frames, at, 4, node[here])
            traffic.put(frames, at + 6, 2, port[here])
            traffic.put(frames, at + 9, 3, chance.integers(0, 60_000, len(number)))
            traffic.put(frames, at + 12, 8, now)
            traffic.put(frames, at + 20, 8, now * (1 + here % 8))
            traffic.put(frames, at + 28, 4, mbps[here] // 10**6)


def ip(octets: int, dscp: int = 0) -> bytes:
    """An IPv4 header for TCP."""
    return bytes([0x45, dscp << 2]) + struct.pack(">H", octets) + traffic.IPV4[4:]


def tcp(octets: int) -> bytes:
    """A TCP header with timestamps, and room for options up to so many octets."""
    return traffic.TCP[:12] + bytes([octets // 4 << 4]) + traffic.TCP[13:]


def flowing(
    rows: NDArray[np.uint8], at: int, number: NDArray[np.int64], place: int, made: Drawn,
    world: World,
) -> None:  # fmt: skip
    """Addresses, ports, numbers, ECN and timestamps of one of three frames."""
    flow, turn = made.flow[number], made.turn[number]
    data = place < SEGMENTS
    source, target = (made.ends[flow, end if data else 1 - end] for end in (0, 1))
    for start, host in ((at + 12, source), (at + 16, target)):
        leaf = host // world.hosts_per_leaf
        rows[:, start], rows[:, start + 1], rows[:, start + 2] = 10, leaf + 1, 0
        rows[:, start + 3] = host - leaf * world.hosts_per_leaf + 1
    ports = 20_000 + flow, np.full(len(flow), 5001)
    traffic.put(rows, at + 20, 2, ports[0 if data else 1])
    traffic.put(rows, at + 22, 2, ports[1 if data else 0])
    marked = (number * 7 + place) % 50 == 0
    if data:
        rows[:, at + 1] |= np.where(marked, 3, 2).astype(np.uint8)
        traffic.put(rows, at + 24, 4, 1 + (turn * 2 + place) * PAYLOAD)
        traffic.put(rows, at + 28, 4, np.ones(len(flow), np.int64))
    else:
        traffic.put(rows, at + 24, 4, np.ones(len(flow), np.int64))
        traffic.put(rows, at + 28, 4, 1 + turn * 2 * PAYLOAD)
        rows[:, at + 33] = np.where(marked, 0x50, 0x10)
    traffic.put(rows, at + 4, 2, turn * TURN + place)
    traffic.put(rows, at + 44, 4, number // 1300)
    traffic.put(rows, at + 48, 4, number // 1300)


def write(path: Path, heads: list[tuple[bytes, int]], made: Drawn, varied: Any) -> None:
    """A pcap file of turns, each of three frames varied by its number."""
    parts = [struct.pack("<IIII", 0, 0, len(head), wire) + head for head, wire in heads]
    one = np.frombuffer(b"".join(parts), np.uint8)
    begins = np.cumsum([0, *map(len, parts)])
    with path.open("wb") as file:
        file.write(traffic.FILE_HEAD)
        for first in range(0, len(made.flow), AT_ONCE // TURN):
            number = np.arange(first, min(first + AT_ONCE // TURN, len(made.flow)), dtype=np.int64)
            rows = np.tile(one, (len(number), 1))
            frames = [rows[:, a + traffic.RECORD_HEAD : b] for a, b in pairwise(begins)]
            varied(frames, first, number)
            for place in range(TURN):
                time_ns = (number * TURN + place) * STEP_NS
                times = np.stack([traffic.BEGIN_S + time_ns // 10**9, time_ns % 10**9], axis=1)
                octets = np.ascontiguousarray(times.astype("<u4")).view(np.uint8)
                rows[:, begins[place] : begins[place] + 8] = octets
            file.write(rows.tobytes())
