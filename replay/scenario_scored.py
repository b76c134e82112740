"""Scenarios that are only scored: shapes that nobody looked at while developing.

See `scenario_hosts` for what they take. Only that they are played as they say is tested, never what
the pipeline makes of them.
"""

from dataclasses import replace
from itertools import chain

from replay.scenario import START
from replay.scenario_clos import clos
from replay.scenario_core import pairs
from replay.scenario_hosts import FRAME, MICE, Kinds, even, flows, spread, wide
from replay.world import GBPS, Phase, World

BURST_NS, PAUSE_NS = 400_000, 600_000


def two_ways_up(kinds: Kinds, duration_ns: int) -> World:
    """Leaf1's way up to spine1 and leaf2's to spine2 are full; two flows by spine3 are free."""
    one = flows("one", kinds, pairs("leaf1", "leaf3", range(1, 6)))
    other = flows("other", kinds, pairs("leaf2", "leaf4", range(1, 6)), Phase(START, spine=2))
    free = flows("free", kinds, pairs("leaf3", "leaf1", range(1, 3)), Phase(START, 2 * GBPS, 3))
    return even((*one, *other, *free), duration_ns)


def bursts_on_the_way_up(kinds: Kinds, duration_ns: int) -> World:
    """Six hosts of leaf2 burst together for 0.4 ms of each millisecond by spine3, then pause."""
    bursts = chain.from_iterable(
        (Phase(at, None, 3), Phase(at + BURST_NS, 0, 3))
        for at in range(START, duration_ns, BURST_NS + PAUSE_NS)
    )
    senders = " ".join(f"leaf2-h{host}>leaf{1 if host % 2 else 4}-h{host}" for host in range(1, 7))
    script = flows("burst", kinds, senders, *bursts)
    return even((replace(flow, steady=False) for flow in script), duration_ns)


def late_elephant(kinds: Kinds, duration_ns: int) -> World:
    """Six flows to leaf3 by spine2 fit; from half time on two elephants share its way down."""
    half = duration_ns // 2
    small = flows(
        "small", kinds,
        f"{pairs('leaf1', 'leaf3', range(1, 4))} {pairs('leaf2', 'leaf3', range(4, 7))}",
        Phase(START, GBPS, 2),
    )  # fmt: skip
    elephants = flows(
        "elephant", kinds, "leaf4-h1>leaf3-h1 leaf1-h5>leaf3-h2",
        Phase(START, MICE, 2), Phase(half, None, 2),
    )  # fmt: skip
    return even((*small, *elephants), duration_ns)


def faster_fabric(kinds: Kinds, duration_ns: int) -> World:
    """Six leaves, hosts of 25 Gb/s, links of 40: a way up is full, and an incast elsewhere."""
    hot = flows("hot", kinds, pairs("leaf5", "leaf6", range(1, 4)), Phase(START, spine=3))
    senders = "leaf1-h1>leaf2-h1 leaf3-h2>leaf2-h1 leaf4-h3>leaf2-h1 leaf6-h4>leaf2-h1"
    met = flows("incast", kinds, senders)
    free = flows("free", kinds, pairs("leaf3", "leaf4", range(3, 5)), Phase(START, 4 * GBPS, 2))
    return World(
        (*hot, *spread(met, 2), *free), duration_ns, leaves=6, spines=4, hosts_per_leaf=4,
        host_bps=25 * GBPS, link_bps=40 * GBPS, mark_bytes=90_000, payload_bytes=FRAME,
    )  # fmt: skip


def inside_a_rack(kinds: Kinds, duration_ns: int) -> World:
    """Three hosts of leaf4 send to one of their own rack, two from afar to another that is slow."""
    rack = flows("rack", kinds, "leaf4-h1>leaf4-h6 leaf4-h2>leaf4-h6 leaf4-h3>leaf4-h6")
    afar = flows("afar", kinds, "leaf1-h1>leaf4-h5 leaf2-h1>leaf4-h5")
    mice = flows("mouse", kinds, pairs("leaf3", "leaf2", range(2, 5)), Phase(START, MICE, 4))
    return wide((*rack, *spread(afar, 4), *mice), duration_ns, leaf4_h5=4 * GBPS)


def up_in_a_pod(kinds: Kinds, duration_ns: int) -> World:
    """In a Clos, leaf3's way up to spine4 is full of what stays in the pod and what leaves it."""
    near = flows("near", kinds, pairs("leaf3", "leaf4", range(1, 3)), Phase(START, None, 4))
    far = flows("far", kinds, pairs("leaf3", "leaf1", range(3, 5)), Phase(START, None, 4, 2))
    more = flows("far", kinds, "leaf3-h1>leaf2-h1", Phase(START, None, 4, 3))
    beside = flows("beside", kinds, pairs("leaf2", "leaf4", range(3, 5)), Phase(START, GBPS, 1, 1))
    return clos((*near, *far, *more, *beside), duration_ns)


def there_and_back(kinds: Kinds, duration_ns: int) -> World:
    """Two of five flows leave leaf2's full way up to spine1 after a third, and come back later."""
    third = duration_ns // 3
    moving = flows(
        "moving", kinds, pairs("leaf2", "leaf1", range(1, 3)),
        Phase(START), Phase(third, spine=3), Phase(2 * third),
    )  # fmt: skip
    staying = flows("staying", kinds, pairs("leaf2", "leaf3", range(3, 6)))
    there = flows(
        "there", kinds, pairs("leaf4", "leaf1", range(3, 6)),
        Phase(START, MICE, 3), Phase(third, 3 * GBPS, 3), Phase(2 * third, MICE, 3),
    )  # fmt: skip
    return even((*moving, *staying, *there), duration_ns)


def many_on_one_way(kinds: Kinds, duration_ns: int) -> World:
    """Eighteen flows of six hosts, no two alike, share spine4's way down to leaf2."""
    hot = chain.from_iterable(
        flows(f"from {leaf}", kinds, pairs(leaf, "leaf2", range(1, 7)), Phase(START, rate, 4))
        for leaf, rate in (("leaf1", 1_100_000_000), ("leaf3", 800_000_000), ("leaf4", None))
    )
    return even(hot, duration_ns)


def incast_and_core(kinds: Kinds, duration_ns: int) -> World:
    """In a Clos three hosts of both pods meet at leaf2-h1, and others at spine3's second core."""
    met = flows("incast", kinds, "leaf1-h1>leaf2-h1 leaf3-h1>leaf2-h1 leaf4-h1>leaf2-h1")
    across = f"{pairs('leaf1', 'leaf3', range(2, 4))} {pairs('leaf2', 'leaf4', range(2, 4))}"
    core = flows("core", kinds, across, Phase(START, 4 * GBPS, 3, 2))
    free = flows("free", kinds, "leaf3-h4>leaf1-h4 leaf4-h4>leaf3-h3", Phase(START, GBPS, 2, 3))
    return clos((*spread(met, 4), *core, *free), duration_ns, 10 * GBPS)
