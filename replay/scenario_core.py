"""Scenarios whose bottleneck lies inside the fabric: uplinks, downlinks, hot spots that move.

See `scenario_hosts` for what they take.
"""

from dataclasses import replace

from replay.scenario import START
from replay.scenario_hosts import MICE, Kinds, even, flows, spread, wide
from replay.world import GBPS, Phase, World


def pairs(source: str, target: str, hosts: range) -> str:
    """Pairs of the hosts of one leaf with those of another, one by one."""
    return " ".join(f"{source}-h{host}>{target}-h{host}" for host in hosts)


def uplink_hot_spot(kinds: Kinds, duration_ns: int) -> World:
    """Five hosts of leaf1 send to five of leaf2 and leaf3 by spine1: leaf1's way up is full."""
    hot = f"{pairs('leaf1', 'leaf2', range(1, 4))} {pairs('leaf1', 'leaf3', range(4, 6))}"
    cool = flows("beside", kinds, pairs("leaf4", "leaf2", range(4, 6)), Phase(START, MICE, 1))
    return even((*flows("hot", kinds, hot), *cool), duration_ns)


def shared_locators(kinds: Kinds, duration_ns: int) -> World:
    """The same where compact locators name only stage, orientation and capacity of a port."""
    return replace(uplink_hot_spot(kinds, duration_ns), locators="place")


def two_classes(kinds: Kinds, duration_ns: int) -> World:
    """The same, and half of the flows urgent: their queue is served first as long as it holds any.

    What they leave is what the others have; their application offers 1 Gb/s each.
    """
    world = uplink_hot_spot(kinds, duration_ns)
    urgent = flows(
        "urgent", kinds, pairs("leaf1", "leaf4", range(1, 6)), Phase(START, 6 * GBPS // 5)
    )
    more = tuple(replace(flow, urgent=flow.telemetry != "int") for flow in urgent)
    return replace(world, flows=(*world.flows, *more), queues="strict")


def weighted_classes(kinds: Kinds, duration_ns: int) -> World:
    """The same with turns of three to one, and nobody held back by an application."""
    world = two_classes(kinds, duration_ns)
    free = tuple(
        replace(flow, phases=(Phase(START),)) if flow.urgent else flow for flow in world.flows
    )
    return replace(world, flows=free, queues="dwrr")


def core_hot_spot(kinds: Kinds, duration_ns: int) -> World:
    """Six hosts of three leaves send to six of leaf4 by spine1: its port to leaf4 is full."""
    hot = " ".join(
        pairs(f"leaf{leaf}", "leaf4", range(2 * leaf - 1, 2 * leaf + 1)) for leaf in (1, 2, 3)
    )
    return even(flows("hot", kinds, hot), duration_ns)


def ecmp_imbalance(kinds: Kinds, duration_ns: int) -> World:
    """Of ten flows of leaf1 the hash sends five by spine1 and the others by three more."""
    unlucky = flows("unlucky", kinds, pairs("leaf1", "leaf2", range(1, 6)), Phase(START, 4 * GBPS))
    lucky = flows("lucky", kinds, pairs("leaf1", "leaf3", range(1, 6)), Phase(START, 1 * GBPS, 2))
    return even((*unlucky, *spread(lucky, 3)), duration_ns)


def elephants_and_mice(kinds: Kinds, duration_ns: int) -> World:
    """Three elephants fill leaf1's way up to spine1, where ten mice have to follow them."""
    elephants = flows("elephant", kinds, pairs("leaf1", "leaf2", range(1, 4)))
    mice = f"{pairs('leaf1', 'leaf3', range(2, 7))} {pairs('leaf1', 'leaf4', range(2, 7))}"
    small = flows("mouse", kinds, mice, Phase(START, MICE))
    return even((*elephants, *small), duration_ns)


def oversubscribed(kinds: Kinds, duration_ns: int) -> World:
    """Five hosts of 10 Gb/s send by one way up of 25 Gb/s: the fast link is the full one."""
    return wide(flows("hot", kinds, pairs("leaf1", "leaf3", range(1, 6))), duration_ns)


def two_in_a_row(kinds: Kinds, duration_ns: int) -> World:
    """Seven flows share leaf1's full way up; two of them go on to a last hop that is fuller."""
    up = flows("up", kinds, pairs("leaf1", "leaf2", range(1, 6)))
    both = flows("both", kinds, "leaf1-h1>leaf3-h1 leaf1-h2>leaf3-h1")
    last = flows(
        "last",
        kinds,
        "leaf4-h1>leaf3-h1 leaf4-h2>leaf3-h1 leaf4-h3>leaf3-h1",
        Phase(START, spine=2),
    )
    return even((*up, *both, *last), duration_ns, leaf3_h1=4 * GBPS)


def path_change(kinds: Kinds, duration_ns: int) -> World:
    """Five flows meet five others on leaf1's way up, and from half time on five at another spine.

    There, at spine2's port to leaf4, they are what makes it full; the others then send little.
    """
    half = duration_ns // 2
    moving = flows(
        "moving", kinds, pairs("leaf1", "leaf4", range(1, 6)), Phase(START), Phase(half, spine=2)
    )
    staying = flows(
        "staying", kinds, pairs("leaf1", "leaf2", range(1, 6)), Phase(START), Phase(half, MICE)
    )
    there = flows(
        "there",
        kinds,
        pairs("leaf2", "leaf4", range(1, 6)),
        Phase(START, MICE, 2),
        Phase(half, spine=2),
    )
    return even((*moving, *staying, *there), duration_ns)


def two_places(kinds: Kinds, duration_ns: int) -> World:
    """An incast at leaf1-h1, and a full way down from spine2 to leaf3; two flows are free."""
    senders = " ".join(f"leaf2-h{host}>leaf1-h1" for host in range(1, 6))
    down = f"{pairs('leaf1', 'leaf3', range(2, 5))} {pairs('leaf4', 'leaf3', range(5, 7))}"
    return even(
        (
            *spread(flows("incast", kinds, senders), 4),
            *flows("down", kinds, down, Phase(START, spine=2)),
            *flows("free", kinds, "leaf4-h1>leaf2-h6 leaf4-h2>leaf2-h5", Phase(START, 2 * GBPS, 3)),
        ),
        duration_ns,
    )
