"""The fabric simulator: packets, queues and closed-loop senders; exact, the same for a seed.

Links and queues are FIFO, so nothing is overtaken; nothing is lost unless the world says that ports
drop what their buffers do not hold, or that links fail. A tap at a
host's port stamps the first bit of what the host sends and the last bit of what it receives, and
the cable to the host has no length: what a tap at the sender has seen is what the sender knows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings, inner, kernel
from pipeline import Interface, dctcp, hpcc, swift
from replay import arrival, egress, event, host, wiring
from replay.stage import build
from replay.state import SYN, State
from replay.world import World

ROOM = 8
"""Packets that one event may make, and more."""


@dataclass(frozen=True, slots=True)
class Run:
    """What happened in a world: packets, decisions of the senders, exact counters of the ports."""

    world: World
    interfaces: tuple[Interface, ...]
    """Egress ports; their rows number the columns of the counters and the ports of `paths`."""
    scripts: tuple[int, ...]
    """Number in `world.flows` of each row of `flows`."""
    flows: NDArray[Any]
    phases: NDArray[Any]
    paths: NDArray[Any]
    packets: NDArray[Any]
    """Rows of `state.PACKET` as created; first_ns -1: never left its NIC, last_ns 0: under way."""
    decisions: NDArray[Any]
    """Rows of `state.DECISION` in order of time."""
    ports: NDArray[Any]
    initial: NDArray[np.int64]
    """S as senders write it, by CSIG variant (compact, expanded) and signal type."""
    counters: NDArray[np.int64]
    """Exact counters: `state.AREA`, `STANDING`, `SENT` by bin of `state.BIN_NS` by port."""


def simulate(world: World, settings: CollectorSettings) -> Run:
    """Play a world to its end. `settings` say how CSIG is quantised and how headers lie."""
    order = tuple(
        sorted(
            range(len(world.flows)), key=lambda row: wiring.host_row(world, world.flows[row].src)
        )
    )
    s = build(world, settings, order)
    play(s, world.duration_ns)
    return Run(
        world=world,
        interfaces=wiring.interfaces(world),
        scripts=order,
        flows=s.flows,
        phases=s.phases,
        paths=s.paths,
        packets=s.packets[: s.rules.packets],
        decisions=s.decisions[: s.rules.decisions],
        ports=s.ports,
        initial=s.rules.initial,
        counters=s.counters,
    )


@inner
def begin(s: State) -> None:
    """Reset all senders and schedule their handshakes."""
    for row in range(len(s.flows)):
        flow = s.flows[row]
        hpcc.reset(s.hpcc[row], s.hpcc_parameters)
        p = s.hpcc_parameters
        hpcc.set_path(s.hpcc[row], p, flow.t_ns, flow.nic_bps, int(p.window_bytes))
        dctcp.reset(s.dctcp[row], s.dctcp_parameters)
        dctcp.establish(s.dctcp[row], s.dctcp_parameters, 0, flow.payload)
        swift.reset(s.swift[row], s.swift_parameters)
        if flow.established == 1 or flow.start_ns > event.SPAN_NS:
            flow.late = 1 - flow.established
            host.wake(s, flow.src, flow.start_ns)
        else:
            event.push(s.heap, flow.start_ns, event.ANSWER_READY, host.new_packet(s, row, SYN, 0))


@kernel
def play(s: State, until_ns: int) -> None:
    """Take events in their order up to `until_ns`, then close the exact counters."""
    begin(s)
    room = len(s.packets) - ROOM
    while s.heap.size > 0 and s.heap.full == 0:
        now, kind, item = event.pop(s.heap)
        if now >= until_ns:
            break
        if s.rules.packets > room:
            s.heap.full = 1
            break
        if kind == event.SWITCH_ARRIVE:
            egress.enqueue(s, item, now)
        elif kind == event.PORT_READY:
            egress.transmit(s, item, now)
        elif kind == event.HOST_ARRIVE:
            arrival.arrive(s, item, now)
        elif kind == event.ANSWER_READY:
            host.answer(s, item, now)
        else:
            host.nic_ready(s, item, now)
    for row in range(len(s.ports)):
        egress.account(s, row, until_ns)
