"""Scenarios in which packets are lost: buffers that are too small, a link that fails.

See `scenario_hosts` for what they take. Senders find out by duplicate ACKs or silence, and send
again.
"""

from dataclasses import replace

from replay.scenario import START
from replay.scenario_core import pairs
from replay.scenario_hosts import Kinds, even, flows, incast
from replay.world import GBPS, MS, Phase, World

CONVERGENCE_NS = MS
"""From a link's failure until flows are routed around it."""


def shallow_buffers(kinds: Kinds, duration_ns: int) -> World:
    """The incast where ports hold 60 kB and drop the rest, little above K."""
    return replace(incast(kinds, duration_ns), tail_drop=True, buffer_bytes=60_000)


def broken_link(kinds: Kinds, duration_ns: int) -> World:
    """At half time leaf1's link to spine1 breaks; 1 ms later its flows go by spine2, now full.

    What was sent in between is lost. The topology still lists the link.
    """
    half = duration_ns // 2 // MS * MS
    moved = flows(
        "moved", kinds, pairs("leaf1", "leaf3", range(1, 6)),
        Phase(START, 3 * GBPS // 2), Phase(half + CONVERGENCE_NS, 3 * GBPS // 2, 2),
    )  # fmt: skip
    there = flows("there", kinds, pairs("leaf1", "leaf4", range(1, 6)), Phase(START, GBPS, 2))
    world = even((*moved, *there), duration_ns)
    up = f"leaf1:Ethernet{world.hosts_per_leaf + 1}"
    return replace(world, failures={up: half})
