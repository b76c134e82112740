"""Wiring of a world: its egress ports and their identities, the hosts behind, the paths between."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pipeline import Host, Interface, Topology
from replay.state import SWITCH_NS
from replay.world import World

SPINE_NODE = 100
"""Node ids: leaves count from 1, spines from here on."""


PREFIX = 0xFD00
"""First 16 bits of the hosts' IPv6 addresses."""


def leaf_of(world: World, host: int) -> int:
    """Leaf of a host, counted from 0."""
    return host // world.hosts_per_leaf


def interfaces(world: World) -> tuple[Interface, ...]:
    """All egress ports: of each leaf the hosts' first, then the spines'; of each spine the leaves'.

    Every port has its own CSIG locators: node << 8 | port in expanded tags, its number here in
    compact ones (from 1: 0 is what senders write).
    """
    made = (*leaf_ports(world), *spine_ports(world))
    return tuple(replace(port, csig_lm_compact=row + 1) for row, port in enumerate(made))


def leaf_ports(world: World) -> Iterator[Interface]:
    """Ports of the leaves."""
    for leaf in range(1, world.leaves + 1):
        ends = [(f"leaf{leaf}-h{host}", "") for host in range(1, world.hosts_per_leaf + 1)]
        ends += [(f"spine{spine}", f"Ethernet{leaf}") for spine in range(1, world.spines + 1)]
        for port, (device, name) in enumerate(ends, start=1):
            way, bps = ("up", world.link_bps) if name else ("host", world.bps_of(device))
            yield egress(f"leaf{leaf}", leaf, port, bps, ("tor", way), (device, name))


def spine_ports(world: World) -> Iterator[Interface]:
    """Ports of the spines."""
    for spine in range(1, world.spines + 1):
        for leaf in range(1, world.leaves + 1):
            peer = (f"leaf{leaf}", f"Ethernet{world.hosts_per_leaf + spine}")
            node = SPINE_NODE + spine
            yield egress(f"spine{spine}", node, leaf, world.link_bps, ("spine", "down"), peer)


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


def route(world: World, src: int, dst: int, spine: int) -> list[int]:
    """Rows of the egress ports between two hosts by way of a spine (from 1), in order."""
    source, target = leaf_of(world, src), leaf_of(world, dst)
    if source == target:
        return [host_port(world, dst)]
    leaf_ports = world.hosts_per_leaf + world.spines
    up = source * leaf_ports + world.hosts_per_leaf + spine - 1
    down = world.leaves * leaf_ports + (spine - 1) * world.leaves + target
    return [up, down, host_port(world, dst)]


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
    )


def points(world: World) -> list[str]:
    """Observation points by row of the host behind them: every port that faces a host."""
    return [f"{host.device}:{host.interface}" for host in topology(world).hosts]


def ingress_ports(interfaces: tuple[Interface, ...], paths: NDArray[np.void]) -> NDArray[np.int64]:
    """Port ids by which data enters the devices of each path, [path, hop]."""
    own = {(port.device, port.name): port.port_id for port in interfaces}
    behind = np.array([own.get((port.peer_device, port.peer_interface), 0) for port in interfaces])
    entry = np.zeros(paths["port"].shape[::2], np.int64)
    entry[:, 1:] = behind[paths["port"][:, 0, :-1]]
    last_back = paths["port"][np.arange(len(paths)), 1, paths["hops"] - 1]
    entry[:, 0] = [interfaces[row].port_id for row in last_back]
    return entry
