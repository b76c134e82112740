"""Scenarios whose limit is at an end, or on a link between equals: slow hosts, leaf to leaf.

See `scenario_hosts` for what they take. They are played by name, and are no part of the matrix:
what packets say of a host is less than what a fabric knows of it (`ends`).
"""

from dataclasses import replace

from replay.scenario import START
from replay.scenario_core import pairs
from replay.scenario_hosts import MICE, Kinds, even, flows, spread, wide
from replay.world import GBPS, SIDE, Phase, World

READS, HANDS = 5 * GBPS // 2, 3 * GBPS


def slow_application(kinds: Kinds, duration_ns: int) -> World:
    """Five receivers read at 2.5 Gb/s from sockets of 64 kB, and close their windows.

    No link is full. Two flows beside them are read at once.
    """
    senders = (
        "leaf2-h1>leaf1-h1 leaf2-h2>leaf1-h2 leaf3-h1>leaf1-h3 leaf3-h2>leaf1-h4 leaf4-h1>leaf1-h5"
    )
    slow = (replace(flow, drain_bps=READS) for flow in spread(flows("slow", kinds, senders), 4))
    free = flows("free", kinds, "leaf4-h3>leaf2-h5 leaf4-h4>leaf3-h5", Phase(START, 3 * GBPS))
    return wide((*slow, *spread(free, 4)), duration_ns)


def busy_sender(kinds: Kinds, duration_ns: int) -> World:
    """Two hosts of leaf1 hand 3 Gb/s to their NICs, whatever their five flows may send.

    Two flows of other hosts are free.
    """
    busy = (
        "leaf1-h1>leaf2-h1 leaf1-h1>leaf3-h1 leaf1-h2>leaf2-h2 leaf1-h2>leaf3-h2 leaf1-h2>leaf4-h2"
    )
    free = flows("free", kinds, "leaf4-h3>leaf2-h5 leaf4-h4>leaf3-h5", Phase(START, 3 * GBPS))
    world = wide((*spread(flows("busy", kinds, busy), 4), *spread(free, 4)), duration_ns)
    return replace(world, cpu_bps={"leaf1-h1": HANDS, "leaf1-h2": HANDS})


def leaf_to_leaf(kinds: Kinds, duration_ns: int) -> World:
    """Leaves are joined to each other; five hosts of leaf1 fill its link to leaf2."""
    hot = flows("hot", kinds, pairs("leaf1", "leaf2", range(1, 6)), Phase(START, spine=SIDE))
    cool = flows(
        "cool", kinds, pairs("leaf3", "leaf2", range(2, 4)), Phase(START, 4 * MICE, spine=SIDE)
    )
    return replace(even((*hot, *cool), duration_ns), side_bps=10 * GBPS)
