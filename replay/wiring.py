"""Wiring of a world: its egress ports and their identities, the hosts behind, the paths between."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pipeline import Csig, Host, Interface, Topology
from replay.carriage import NAMES
from replay.state import CSIG_WINDOW_NS, SWITCH_NS
from replay.world import SIDE, World

SPINE_NODE, CORE_NODE = 100, 200
"""Node ids: leaves count from 1, spines and cores from here on."""

COLLECTOR = 10 << 24 | 255 << 16
"""Address of the collector of reports; switches have those behind it, by their node ids."""
COLLECTOR_MAC = 0x02 << 40 | 255 << 16
REPORTS = "collector"
"""Where reports are captured."""
WINDOWED = ("abw", "utilization")
"""CSIG signals that ports measure over a window."""
PREFIX = 0xFD00
"""First 16 bits of the hosts' IPv6 addresses."""


def leaf_of(world: World, host: int) -> int:
    """Leaf of a host, counted from 0."""
    return host // world.hosts_per_leaf


def interfaces(world: World) -> tuple[Interface, ...]:
    """All egress ports: of leaves, of spines, of cores, down first, then up; from leaf to leaf.

    Every port has an expanded CSIG locator of its own, node << 8 | port. Compact ones are its
    number here (from 1: 0 is what senders write), or that of its place, which many ports share.
    """
    made = (*leaf_ports(world), *spine_ports(world), *core_ports(world), *side_ports(world))
    numbers = range(1, len(made) + 1)
    if world.locators == "place":
        places = [(port.stage, port.orientation, port.capacity_bps) for port in made]
        number = {place: at for at, place in enumerate(dict.fromkeys(places), start=1)}
        return tuple(
            replace(port, csig_lm_compact=number[place])
            for port, place in zip(made, places, strict=True)
        )
    return tuple(replace(port, csig_lm_compact=at) for port, at in zip(made, numbers, strict=True))


def leaf_ports(world: World) -> Iterator[Interface]:
    """Ports of the leaves: to hosts, and up to the spines of their pod."""
    for leaf in range(1, world.leaves + 1):
        pod, place = divmod(leaf - 1, world.leaves_per_pod)
        ends = [(f"leaf{leaf}-h{host}", "") for host in range(1, world.hosts_per_leaf + 1)]
        ends += [
            (f"spine{pod * world.spines + spine}", f"Ethernet{place + 1}")
            for spine in range(1, world.spines + 1)
        ]
        for port, (device, name) in enumerate(ends, start=1):
            way, bps = ("up", world.link_bps) if name else ("host", world.bps_of(device))
            yield egress(f"leaf{leaf}", leaf, port, bps, ("tor", way), (device, name))


def spine_ports(world: World) -> Iterator[Interface]:
    """Ports of the spines, pod by pod: down to the leaves of the pod, up to the cores of the plane.

    The spines of one number in all pods, and the cores that join them, are a plane.
    """
    for pod, spine in product(range(world.pods), range(world.spines)):
        number = pod * world.spines + spine + 1
        below = pod * world.leaves_per_pod
        ends = [
            (f"leaf{below + leaf}", f"Ethernet{world.hosts_per_leaf + spine + 1}", "down")
            for leaf in range(1, world.leaves_per_pod + 1)
        ]
        ends += [
            (f"core{spine * world.cores + core}", f"Ethernet{pod + 1}", "up")
            for core in range(1, world.cores + 1)
        ]
        for port, (device, name, way) in enumerate(ends, start=1):
            bps = world.core_bps if way == "up" else world.link_bps
            node = SPINE_NODE + number
            yield egress(f"spine{number}", node, port, bps, ("spine", way), (device, name))


def core_ports(world: World) -> Iterator[Interface]:
    """Ports of the cores, plane by plane: down to the pods."""
    for plane, core in product(range(world.spines), range(world.cores)):
        number = plane * world.cores + core + 1
        for pod in range(world.pods):
            peer = (
                f"spine{pod * world.spines + plane + 1}",
                f"Ethernet{world.leaves_per_pod + core + 1}",
            )
            node, place = CORE_NODE + number, ("core", "down")
            yield egress(f"core{number}", node, pod + 1, world.core_bps, place, peer)


def side_ports(world: World) -> Iterator[Interface]:
    """Ports of leaves to the others of their pod, if there are links between them."""
    if not world.side_bps:
        return
    for leaf in range(1, world.leaves + 1):
        for other in beside(world, leaf):
            port = first_side(world) + beside(world, leaf).index(other)
            back = first_side(world) + beside(world, other).index(leaf)
            peer = f"leaf{other}", f"Ethernet{back}"
            yield egress(f"leaf{leaf}", leaf, port, world.side_bps, ("tor", "side"), peer)


def beside(world: World, leaf: int) -> list[int]:
    """The other leaves of a leaf's pod, all from 1."""
    first = (leaf - 1) // world.leaves_per_pod * world.leaves_per_pod + 1
    return [other for other in range(first, first + world.leaves_per_pod) if other != leaf]


def first_side(world: World) -> int:
    """Number of a leaf's first port to another leaf."""
    return world.hosts_per_leaf + world.spines + 1


def egress(
    device: str, node: int, port: int, bps: int, place: tuple[str, str], peer: tuple[str, str]
) -> Interface:
    """One port; `place` is its stage and orientation."""
    return Interface(
        device=device,
        name=f"Ethernet{port}",
        node_id=node,
        port_id=port,
        capacity_bps=bps,
        stage=place[0],
        orientation=place[1],
        peer_device=peer[0],
        peer_interface=peer[1],
        csig_lm=node << 8 | port,
        base_delay_ns=SWITCH_NS,
    )


def host_row(world: World, name: str) -> int:
    """Row of a host by its name; ValueError when the world has no such host."""
    return world.host_names().index(name)


def host_port(world: World, host: int) -> int:
    """Row of the leaf port that faces a host."""
    leaf = leaf_of(world, host)
    return leaf * (world.hosts_per_leaf + world.spines) + host - leaf * world.hosts_per_leaf


def route(world: World, src: int, dst: int, spine: int, core: int = 1) -> list[int]:
    """Rows of the egress ports between two hosts by a spine and a core (from 1), in order."""
    source, target = leaf_of(world, src), leaf_of(world, dst)
    if source == target:
        return [host_port(world, dst)]
    if spine == SIDE:
        return [side_row(world, source, target), host_port(world, dst)]
    (here, _), (there, below) = (divmod(leaf, world.leaves_per_pod) for leaf in (source, target))
    leaf_ports, spine_ports = (
        world.hosts_per_leaf + world.spines,
        world.leaves_per_pod + world.cores,
    )
    first_spine = world.leaves * leaf_ports
    first_core = first_spine + world.pods * world.spines * spine_ports
    up = source * leaf_ports + world.hosts_per_leaf + spine - 1
    down = first_spine + (there * world.spines + spine - 1) * spine_ports + below
    if here == there:
        return [up, down, host_port(world, dst)]
    leaving = first_spine + (here * world.spines + spine - 1) * spine_ports
    leaving += world.leaves_per_pod + core - 1
    across = first_core + ((spine - 1) * world.cores + core - 1) * world.pods + there
    return [up, leaving, across, down, host_port(world, dst)]


def side_row(world: World, source: int, target: int) -> int:
    """Row of a leaf's port to another one, both from 0; ValueError when there is no such link."""
    name = f"leaf{target + 1}"
    for row, port in enumerate(interfaces(world)):
        if port.orientation == "side" and port.peer_device == name and port.node_id == source + 1:
            return row
    raise ValueError(f"side_bps: leaf{source + 1} has no link to {name}")


def address(world: World, host: int, version: int) -> str:
    """Address of a host, as text: 10.leaf.0.host or fd00:0:0:leaf::host."""
    leaf = leaf_of(world, host)
    number = host - leaf * world.hosts_per_leaf + 1
    by_version = {4: f"10.{leaf + 1}.0.{number}", 6: f"{PREFIX:x}:0:0:{leaf + 1}::{number}"}
    return by_version[version]


def topology(world: World) -> Topology:
    """The world as the pipeline's topology knows it, in force from the start."""
    hosts = tuple(
        Host(
            name=name,
            prefixes=(f"{address(world, row, 4)}/32", f"{address(world, row, 6)}/128"),
            device=f"leaf{leaf_of(world, row) + 1}",
            interface=f"Ethernet{row % world.hosts_per_leaf + 1}",
            nic_bps=world.bps_of(name),
        )
        for row, name in enumerate(world.host_names())
    )
    return Topology(
        version="fabric-1",
        valid_from_ns=0,
        base_rtt_ns=world.base_rtt_ns,
        interfaces=interfaces(world),
        hosts=hosts,
        csig=Csig(
            signals=tuple(
                replace(signal, delta_t_ns=CSIG_WINDOW_NS if signal.name in WINDOWED else None)
                for signal in Csig().signals
            )
        ),
    )


def points(world: World) -> list[str]:
    """Observation points: every port that faces a host, by the host's row, then the leaves' others.

    What hosts send and receive is seen at the first, what leaves send to spines at the others; the
    last one, where switches report, is the collector.
    """
    facing = [f"{host.device}:{host.interface}" for host in topology(world).hosts]
    up = [port for port in leaf_ports(world) if port.orientation == "up"] + [*side_ports(world)]
    reported = any(NAMES[flow.telemetry].reports for flow in world.flows)
    return [*facing, *(f"{port.device}:{port.name}" for port in up), *[REPORTS] * reported]


def point_of_port(world: World) -> list[int]:
    """Number in `points` of the tap at each egress port; -1: there is none."""
    number = {name: at for at, name in enumerate(points(world))}
    return [number.get(f"{port.device}:{port.name}", -1) for port in interfaces(world)]


def ingress_ports(interfaces: tuple[Interface, ...], paths: NDArray[np.void]) -> NDArray[np.int64]:
    """Port ids by which data enters the devices of each path, [path, hop]."""
    own = {(port.device, port.name): port.port_id for port in interfaces}
    behind = np.array([own.get((port.peer_device, port.peer_interface), 0) for port in interfaces])
    entry = np.zeros(paths["port"].shape[::2], np.int64)
    entry[:, 1:] = behind[paths["port"][:, 0, :-1]]
    last_back = paths["port"][np.arange(len(paths)), 1, paths["hops"] - 1]
    entry[:, 0] = [interfaces[row].port_id for row in last_back]
    return entry
