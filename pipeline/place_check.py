"""Checks of what stands around a topology's links: hosts, sites, points."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal

from pipeline.topology import Topology, distances
from pipeline.unit import GIGABIT

Told = tuple[Literal["inconsistent", "unknown"], str, str]
MOST_DEVICES = 1000
"""Devices with hosts between which ways are looked for."""


def hosts(topology: Topology) -> Iterator[Told]:
    """Hosts without addresses, and ports that do not lead to the host on them."""
    known = {(port.device, port.name): port for port in topology.interfaces}
    owners: dict[tuple[str, str], list[str]] = {}
    for host in topology.hosts:
        owners.setdefault((host.device, host.interface), []).append(host.name)
    for host in topology.hosts:
        place, port = f"hosts.{host.name}", known[host.device, host.interface]
        if not host.prefixes:
            yield "unknown", place, "its addresses are not told"
        if not host.nic_bps:
            yield "unknown", place, "the line rate of its network card is not told"
        elif port.capacity_bps and host.nic_bps > port.capacity_bps:
            said = f"it sends {host.nic_bps / GIGABIT:g} Gbit/s into a port of"
            said = f"{said} {port.capacity_bps / GIGABIT:g}"
            yield "inconsistent", f"{place}.nic_gbps", said
        if port.peer_interface:
            said = f"{port.device}:{port.name} leads to {port.peer_device}:{port.peer_interface}"
            yield "inconsistent", f"{place}.attached", said
        elif port.peer_device not in {"", *owners[port.device, port.name]}:
            said = f"{port.device}:{port.name} leads to {port.peer_device}"
            yield "inconsistent", f"{place}.attached", said
        elif port.orientation not in {"", "host"}:
            said = f"{port.device}:{port.name} faces {port.orientation}"
            yield "inconsistent", f"{place}.attached", said


def overlaps(topology: Topology) -> Iterator[Told]:
    """Prefixes of a tenant inside those of another host of it: the longer one wins there."""
    owned = sorted(
        (
            (host.tenant, network.version, network.network_address, network.prefixlen, host.name,
             network)
            for host in topology.hosts
            for network in map(ip_network, host.prefixes)
        ),
        key=lambda row: row[:-1],
    )  # fmt: skip
    around: list[tuple[str, str, IPv4Network | IPv6Network]] = []
    for tenant, _, _, _, name, network in owned:
        while around and not (around[-1][0] == tenant and inside(network, around[-1][2])):
            around.pop()
        if around and around[-1][1] != name:
            said = f"{network} lies inside {around[-1][2]} of {around[-1][1]}"
            yield "inconsistent", f"hosts.{name}.prefixes", said
        around.append((tenant, name, network))


def inside(network: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> bool:
    """Whether a network is part of another one."""
    return network.version == other.version and (
        other.network_address <= network.network_address  # type: ignore[operator] # one version
        and network.broadcast_address <= other.broadcast_address  # type: ignore[operator] # same
    )


def reach(topology: Topology) -> Iterator[Told]:
    """Hosts between which no way leads."""
    first = {host.device: host.name for host in reversed(topology.hosts)}
    if len(first) > MOST_DEVICES:
        said = f"{len(first)} devices have hosts: only the first {MOST_DEVICES} were tried for ways"
        yield "unknown", "hosts", said
    tried = dict(list(first.items())[:MOST_DEVICES])
    for target, name in tried.items():
        near = distances(topology, target)
        apart = [host for device, host in tried.items() if device not in near]
        if apart:
            more = f" and from {len(apart) - 1} more devices' hosts" if len(apart) > 1 else ""
            said = f"no way leads to it from {apart[0]}{more}"
            yield "inconsistent", f"hosts.{name}.attached", said


def points(topology: Topology) -> Iterator[Told]:
    """Points at devices or interfaces that do not exist, and what they do not tell."""
    known = {(port.device, port.name) for port in topology.interfaces}
    for point in topology.points:
        place = f"points.{point.name}"
        if point.device and point.device not in topology.device_by_name:
            yield "inconsistent", f"{place}.device", f"there is no device {point.device}"
        elif point.interface and (point.device, point.interface) not in known:
            said = f"{point.device or 'it'} has no interface {point.interface}"
            yield "inconsistent", f"{place}.interface", said
        for key in ("device", "interface", "side", "clock_bound_ns"):
            if getattr(point, key) in {"", None}:
                name = key.replace("_ns", "_us")
                yield "unknown", place, f"{name} is not told"


def sites(topology: Topology) -> Iterator[Told]:
    """Round trips of sites that nothing stands at, and a round trip that is not told."""
    if not topology.base_rtt_ns:
        yield "unknown", "base_rtt_us", "the round trip without queues is not told"
    known = {device.site for device in topology.devices} | {host.site for host in topology.hosts}
    pairs: set[frozenset[str]] = set()
    for row, rtt in enumerate(topology.base_rtts):
        for site in sorted(set(rtt.sites) - known):
            yield "inconsistent", f"base_rtts.{row}.between", f"nothing stands at site {site}"
        if frozenset(rtt.sites) in pairs:
            yield "inconsistent", f"base_rtts.{row}.between", "this pair of sites was told before"
        pairs.add(frozenset(rtt.sites))
    if any(known - {""}):
        for device in topology.devices:
            if not device.site:
                yield "unknown", f"devices.{device.name}", "its site is not told"
