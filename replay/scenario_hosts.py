"""Scenarios whose bottleneck is at a host, or nowhere: last hops, slow ends, senders that pause.

Each takes the kinds of telemetry that its flows carry in turn, and how long it plays. The names of
leaves, hosts and spines are parts: a seed casts them (`cast`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from replay.scenario import START, ends
from replay.world import GBPS, FlowScript, Phase, Telemetry, World

Kinds = Sequence[Telemetry]
MICE = GBPS // 4
BURST_NS, PAUSE_NS = 300_000, 700_000
FRAME = 1000
"""Payload of the data: so small that a flow of 0.2 Gb/s shows 25 frames in a millisecond."""


def wide(flows: Iterable[FlowScript], duration_ns: int, **nic_bps: int) -> World:
    """A fabric whose links between switches (25 Gb/s, four spines) are faster than its hosts'."""
    return world(flows, duration_ns, 25 * GBPS, nic_bps)


def even(flows: Iterable[FlowScript], duration_ns: int, **nic_bps: int) -> World:
    """A fabric of four spines whose links are all of 10 Gb/s."""
    return world(flows, duration_ns, 10 * GBPS, nic_bps)


def world(
    flows: Iterable[FlowScript], duration_ns: int, link_bps: int, nic_bps: Mapping[str, int]
) -> World:
    """A fabric with four ways between any two leaves; `nic_bps` names hosts as in leaf1_h1."""
    slow = {host.replace("_", "-"): bps for host, bps in nic_bps.items()}
    return World(
        tuple(flows), duration_ns, spines=4, link_bps=link_bps, nic_bps=slow, payload_bytes=FRAME
    )


def flows(role: str, kinds: Kinds, pairs: str, *phases: Phase) -> Iterator[FlowScript]:
    """Flows of "src>dst" pairs; telemetry goes round the kinds, spines round from the phases'."""
    for row, (src, dst) in enumerate(ends(pairs)):
        yield FlowScript(role, kinds[row % len(kinds)], src, dst, phases or (Phase(START),))


def spread(flows: Iterator[FlowScript], spines: int) -> Iterator[FlowScript]:
    """The flows one after the other by all spines, as ECMP spreads them on a good day."""
    for row, flow in enumerate(flows):
        phases = tuple(
            Phase(phase.at_ns, phase.rate_bps, 1 + (row + phase.spine - 1) % spines)
            for phase in flow.phases
        )
        yield FlowScript(flow.role, flow.telemetry, flow.src, flow.dst, phases, flow.steady)


def incast(kinds: Kinds, duration_ns: int) -> World:
    """Ten hosts of three leaves send to one: its port is full, the fabric behind is not."""
    senders = (
        "leaf2-h1 leaf2-h2 leaf2-h3 leaf2-h4 leaf3-h1 leaf3-h2 leaf3-h3 leaf4-h1 leaf4-h2 leaf4-h3"
    )
    pairs = " ".join(f"{sender}>leaf1-h1" for sender in senders.split())
    return wide(spread(flows("incast", kinds, pairs), 4), duration_ns)


def swift_incast(kinds: Kinds, duration_ns: int) -> World:
    """The same with Swift, steered by what is reflected, at the senders of flows with CSIG."""
    world = incast(kinds, duration_ns)
    return replace(world, flows=tuple(replace(flow, swift=True) for flow in world.flows))


def last_hop_elephant(kinds: Kinds, duration_ns: int) -> World:
    """Five pairs, each with a receiver slower than its sender, each alone at its last hop."""
    pairs = (
        "leaf2-h1>leaf1-h1 leaf2-h2>leaf1-h2 leaf3-h1>leaf1-h3 leaf3-h2>leaf1-h4 leaf4-h1>leaf1-h5"
    )
    slow = {f"leaf1_h{host}": 5 * GBPS for host in range(1, 6)}
    return wide(spread(flows("elephant", kinds, pairs), 4), duration_ns, **slow)


def slow_receiver(kinds: Kinds, duration_ns: int) -> World:
    """Two receivers with 2.5 Gb/s, two senders each; another pair beside them is free to send."""
    pairs = (
        "leaf2-h1>leaf1-h1 leaf3-h1>leaf1-h1 leaf2-h2>leaf1-h2 leaf3-h2>leaf1-h2 leaf4-h3>leaf1-h1"
    )
    free = flows("free", kinds, "leaf4-h1>leaf2-h5 leaf4-h2>leaf3-h5", Phase(START, 3 * GBPS))
    script = (*spread(flows("slow", kinds, pairs), 4), *spread(free, 4))
    return wide(script, duration_ns, leaf1_h1=5 * GBPS // 2, leaf1_h2=5 * GBPS // 2)


def application_limited(kinds: Kinds, duration_ns: int) -> World:
    """Ten senders that offer 0.8 Gb/s each, two to a receiver: no port is half full."""
    pairs = " ".join(
        f"leaf{2 + row % 3}-h{1 + row // 3}>leaf1-h{1 + row // 2}" for row in range(10)
    )
    script = spread(flows("limited", kinds, pairs, Phase(START, 8 * GBPS // 10)), 4)
    return wide(script, duration_ns)


def calm(kinds: Kinds, duration_ns: int) -> World:
    """Traffic in all directions, much of it small, some at 3 Gb/s: nothing is full."""
    small = (
        "leaf1-h1>leaf2-h1 leaf2-h2>leaf3-h2 leaf3-h3>leaf4-h3 leaf4-h4>leaf1-h4 leaf1-h5>leaf3-h5"
    )
    large = (
        "leaf2-h1>leaf4-h1 leaf4-h2>leaf2-h3 leaf3-h1>leaf1-h2 leaf1-h6>leaf4-h6 leaf4-h5>leaf3-h6"
    )
    script = (
        *spread(flows("small", kinds, small, Phase(START, 7 * GBPS // 10)), 4),
        *spread(flows("large", kinds, large, Phase(START, 3 * GBPS)), 4),
    )
    return wide(script, duration_ns)


def microbursts(kinds: Kinds, duration_ns: int) -> World:
    """Ten senders burst together for 0.3 ms of each millisecond into one port, then pause."""
    bursts = tuple(
        Phase(at + offset, rate)
        for at in range(START, duration_ns, BURST_NS + PAUSE_NS)
        for offset, rate in ((0, None), (BURST_NS, 0))
    )
    pairs = " ".join(
        f"leaf{2 + row % 3}-h{1 + row // 3}>leaf1-h{1 + row // 5}" for row in range(10)
    )
    script = (
        FlowScript(flow.role, flow.telemetry, flow.src, flow.dst, flow.phases, steady=False)
        for flow in spread(flows("burst", kinds, pairs, *bursts), 4)
    )
    return wide(script, duration_ns)
