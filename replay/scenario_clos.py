"""Scenarios in a 5-stage Clos: two pods, four ways up from each leaf and four from each spine.

See `scenario_hosts` for what they take. Links to the cores are of 25 Gb/s, all others of 10.
"""

from collections.abc import Iterable

from replay.scenario import START
from replay.scenario_core import pairs
from replay.scenario_hosts import FRAME, MICE, Kinds, flows
from replay.world import GBPS, FlowScript, Phase, World


def clos(flows: Iterable[FlowScript], duration_ns: int, core_bps: int = 25 * GBPS) -> World:
    """Pods of two leaves with four hosts each, four spines a pod, four cores a plane."""
    return World(
        tuple(flows), duration_ns, pods=2, cores=4, spines=4, leaves=4, hosts_per_leaf=4,
        core_bps=core_bps, base_rtt_ns=45_000, payload_bytes=FRAME,
    )  # fmt: skip


def core_link(kinds: Kinds, duration_ns: int) -> World:
    """Six flows from one pod to the other meet where spine1 goes up to its first core, of 10 Gb/s.

    They come from both leaves; a flow by the second core and one inside the pod are free.
    """
    hot = f"{pairs('leaf1', 'leaf3', range(1, 4))} {pairs('leaf2', 'leaf4', range(1, 4))}"
    free = (
        *flows("free", kinds, "leaf1-h4>leaf4-h4", Phase(START, 2 * GBPS, 2, 2)),
        *flows("free", kinds, "leaf2-h4>leaf1-h4", Phase(START, 2 * GBPS, 3)),
    )
    return clos((*flows("hot", kinds, hot, Phase(START, 3 * GBPS)), *free), duration_ns, 10 * GBPS)


def between_pods(kinds: Kinds, duration_ns: int) -> World:
    """Seven flows of both pods meet where spine2 of the other pod goes down to leaf3."""
    far = f"{pairs('leaf1', 'leaf3', range(1, 3))} {pairs('leaf2', 'leaf3', range(3, 5))}"
    hot = (
        *flows("far", kinds, far, Phase(START, spine=2, core=3)),
        *flows("near", kinds, pairs("leaf4", "leaf3", range(1, 4)), Phase(START, spine=2)),
    )
    beside = flows("beside", kinds, pairs("leaf4", "leaf2", range(1, 4)), Phase(START, MICE, 4, 4))
    return clos((*hot, *beside), duration_ns)


def failed_link(kinds: Kinds, duration_ns: int) -> World:
    """At half time leaf1 loses its link to spine1: what went there is hashed to spine2, now full.

    The topology still lists the link.
    """
    half = duration_ns // 2
    rate = 4 * GBPS
    moved = flows(
        "moved", kinds, pairs("leaf1", "leaf3", range(1, 3)),
        Phase(START, rate, 1, 1), Phase(half, rate, 2, 2),
    )  # fmt: skip
    there = flows("there", kinds, pairs("leaf1", "leaf4", range(3, 5)), Phase(START, rate, 2, 3))
    other = flows("other", kinds, pairs("leaf2", "leaf3", range(3, 5)), Phase(START, 2 * GBPS, 3))
    return clos((*moved, *there, *other), duration_ns)


def incast_from_afar(kinds: Kinds, duration_ns: int) -> World:
    """Eight hosts of three leaves send to leaf4-h1 by all ways: only its port is full."""
    senders = [f"leaf{leaf}-h{host}" for leaf in (1, 2) for host in range(1, 4)]
    senders += ["leaf3-h1", "leaf3-h2"]
    script = [
        FlowScript(
            "incast", kinds[row % len(kinds)], sender, "leaf4-h1",
            (Phase(START, None, 1 + row % 4, 1 + row // 2 % 4),),
        )
        for row, sender in enumerate(senders)
    ]  # fmt: skip
    return clos(script, duration_ns)
