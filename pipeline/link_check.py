"""Checks of a topology's ports and links."""

from collections.abc import Iterator
from typing import Literal

from pipeline.interface import Interface
from pipeline.stage import RANKS, is_known
from pipeline.topology import Topology
from pipeline.unit import GIGABIT

Told = tuple[Literal["inconsistent", "unknown"], str, str]
FACING = {"up": "down", "down": "up", "side": "side"}
"""What the other end of a link faces."""


def place_of(port: Interface, key: str = "") -> str:
    """The place of a port, or of one of its keys, in the file."""
    own = f"devices.{port.device}.interfaces.{port.name}"
    return f"{own}.{key}" if key else own


def ports(topology: Topology) -> Iterator[Told]:
    """What devices and ports lack, and ids that two devices share."""
    owners: dict[int, str] = {}
    for device in topology.devices:
        place = f"devices.{device.name}"
        if (other := owners.setdefault(device.node_id, device.name)) != device.name:
            yield "inconsistent", f"{place}.node", f"{other} has node {device.node_id} too"
        if not device.stage:
            yield "unknown", place, "its stage is not told: kinds of bottlenecks rest on it"
        elif not is_known(device.stage):
            said = f"kinds of bottlenecks know no stage {device.stage}, but {', '.join(RANKS)}"
            yield "unknown", f"{place}.stage", f"{said} and words for them"
        if device.marks_ecn is None:
            yield "unknown", place, "whether it marks ECN is not told"
        if not topology.links.get(device.name):
            yield "unknown", place, "it has no interfaces"
    for port in topology.interfaces:
        if not port.orientation:
            yield "unknown", place_of(port), "its orientation is not told"
        if not port.capacity_bps:
            yield "unknown", place_of(port), "its capacity is not told"


def links(topology: Topology) -> Iterator[Told]:
    """Links whose ends disagree, and peers that do not exist."""
    known = {(port.device, port.name): port for port in topology.interfaces}
    ends = {host.name for host in topology.hosts}
    for port in topology.interfaces:
        place = place_of(port, "peer")
        if port.peer_interface:
            yield from far_end(port, known, topology)
        elif not port.peer_device:
            yield "unknown", place_of(port), "where it leads is not told"
        elif port.peer_device in topology.device_by_name:
            yield "inconsistent", place, f"{port.peer_device} is a device: which interface of it?"
        elif port.peer_device not in ends:
            yield "unknown", place, f"no host is called {port.peer_device}"
        elif port.orientation not in {"", "host"}:
            yield "inconsistent", place, f"it faces {port.orientation}, its peer is a host"


def far_end(
    port: Interface, known: dict[tuple[str, str], Interface], topology: Topology
) -> Iterator[Told]:
    """What is wrong between a port and the one that it leads to."""
    place, name = place_of(port, "peer"), f"{port.peer_device}:{port.peer_interface}"
    far = known.get((port.peer_device, port.peer_interface))
    if far is None:
        if port.peer_device in topology.device_by_name:
            said = f"{port.peer_device} has no interface {port.peer_interface}"
        else:
            said = f"there is no device {port.peer_device}"
        yield "inconsistent", place, said
        return
    if (far.peer_device, far.peer_interface) != (port.device, port.name):
        back = f"{far.peer_device}:{far.peer_interface}".strip(":") or "nowhere that is told"
        yield "inconsistent", place, f"{name} leads to {back}"
        return
    if (port.device, port.name) > (far.device, far.name):
        return  # the link was looked at from its other end
    if port.capacity_bps and far.capacity_bps and port.capacity_bps != far.capacity_bps:
        rates = f"{port.capacity_bps / GIGABIT:g} and {far.capacity_bps / GIGABIT:g} Gbit/s"
        yield "inconsistent", place_of(port, "capacity_gbps"), f"the ends of its link have {rates}"
    facing = (port.orientation, far.orientation)
    if all(facing) and FACING.get(port.orientation) != far.orientation:
        said = f"it faces {facing[0]} and {name} at its other end {facing[1]}"
        yield "inconsistent", place_of(port, "orientation"), said
