"""The topology: what the ids in telemetry are called, and which ways a flow can take.

One YAML file; every version says from when it holds, and an answer uses the one in force at its
time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from ipaddress import IPv6Address, ip_network
from typing import Any

import polars as pl
import yaml

from pipeline.question import HALF, address_words
from pipeline.unit import GIGABIT, MICROSECOND


class TopologyError(ValueError):
    """A topology that cannot be used; the text names the place."""


@dataclass(frozen=True, slots=True)
class Interface:
    """One egress port; telemetry names it by (`node_id`, `port_id`).

    `peer_interface` is empty where the peer is a host.
    """

    device: str
    name: str
    node_id: int
    port_id: int
    capacity_bps: int
    stage: str
    orientation: str
    peer_device: str
    peer_interface: str
    csig_lm: int | None = None
    csig_lm_compact: int | None = None

    @property
    def hop(self) -> tuple[int, int]:
        """Node and port id, as telemetry names the hop."""
        return self.node_id, self.port_id


@dataclass(frozen=True, slots=True)
class Host:
    """An end host: its addresses and the port that it hangs on."""

    name: str
    prefixes: tuple[str, ...]
    device: str
    interface: str
    nic_bps: int


@dataclass(frozen=True)
class Topology:
    """Devices, links and hosts in force from `valid_from_ns` on; `base_rtt_ns` is HPCC++'s T."""

    version: str
    valid_from_ns: int
    base_rtt_ns: int
    interfaces: tuple[Interface, ...]
    hosts: tuple[Host, ...] = ()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row an interface, with columns as the store's table `hops` names them."""
        rows = [
            {"node": i.node_id, "port": i.port_id, "device": i.device, "interface": i.name,
             "stage": i.stage, "orientation": i.orientation, "capacity_bps": i.capacity_bps,
             "peer_device": i.peer_device, "peer_interface": i.peer_interface,
             "csig_lm": i.csig_lm, "csig_lm_compact": i.csig_lm_compact}
            for i in self.interfaces
        ]  # fmt: skip
        types = {"node": pl.UInt32, "port": pl.UInt32, "capacity_bps": pl.Int64,
                 "csig_lm": pl.UInt16, "csig_lm_compact": pl.UInt16}  # fmt: skip
        texts = dict.fromkeys(
            ("device", "interface", "stage", "orientation", "peer_device", "peer_interface"),
            pl.String,
        )
        return (
            pl.DataFrame(rows, schema={**types, **texts})
            if rows
            else pl.DataFrame(schema={**types, **texts})
        )

    @cached_property
    def host_by_address(self) -> dict[tuple[int, int], Host]:
        """Hosts by the two words of a single address; wider prefixes are looked through."""
        networks = ((ip_network(p), host) for host in self.hosts for p in host.prefixes)
        return {
            address_words(network.network_address): host
            for network, host in networks
            if network.num_addresses == 1
        }

    def host(self, high: int, low: int) -> Host | None:
        """The host of an address in two words; the longest prefix wins."""
        if (high, low) in self.host_by_address:
            return self.host_by_address[high, low]
        address = IPv6Address(high << HALF | low)
        plain = address.ipv4_mapped or address
        matches = [
            (network.prefixlen, host)
            for host in self.hosts
            for network in map(ip_network, host.prefixes)
            if plain in network
        ]
        return max(matches, key=lambda match: match[0])[1] if matches else None

    @cached_property
    def links(self) -> dict[str, list[Interface]]:
        """Interfaces of each device."""
        found: dict[str, list[Interface]] = {}
        for interface in self.interfaces:
            found.setdefault(interface.device, []).append(interface)
        return found

    def hops(self, source: Host, destination: Host) -> frozenset[tuple[int, int]]:
        """Egress ports of every shortest way between two hosts, the last hop among them."""
        between = _ways(self, source.device, destination.device)
        last = (
            i.hop for i in self.links.get(destination.device, ()) if i.name == destination.interface
        )
        return between | frozenset(last)

    def way_length(self, source: Host, destination: Host) -> int:
        """Number of egress ports on a shortest way."""
        return _distances(self, destination.device).get(source.device, 0) + 1

    def __hash__(self) -> int:
        """Two topologies are one when version and time are."""
        return hash((self.version, self.valid_from_ns, len(self.interfaces)))

    def to_yaml(self) -> str:
        """The topology as the file that `from_yaml` reads."""
        devices: dict[str, Any] = {}
        for i in self.interfaces:
            device = devices.setdefault(
                i.device, {"node": i.node_id, "stage": i.stage, "interfaces": {}}
            )
            peer = f"{i.peer_device}:{i.peer_interface}" if i.peer_interface else i.peer_device
            marks = {"csig_lm": i.csig_lm, "csig_lm_compact": i.csig_lm_compact}
            device["interfaces"][i.name] = {
                "port": i.port_id, "capacity_gbps": i.capacity_bps / GIGABIT,
                "orientation": i.orientation, "peer": peer,
                **{name: lm for name, lm in marks.items() if lm is not None},
            }  # fmt: skip
        hosts = {
            h.name: {"prefixes": list(h.prefixes), "attached": f"{h.device}:{h.interface}",
                     "nic_gbps": h.nic_bps / GIGABIT}
            for h in self.hosts
        }  # fmt: skip
        head = {"version": self.version, "valid_from_ns": self.valid_from_ns,
                "base_rtt_us": self.base_rtt_ns / MICROSECOND}  # fmt: skip
        text: str = yaml.safe_dump({**head, "devices": devices, "hosts": hosts}, sort_keys=False)
        return text

    @staticmethod
    def from_yaml(text: str) -> "Topology":
        """Read a topology file. Raises TopologyError with the place that is wrong."""
        try:
            tree = yaml.safe_load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            raise TopologyError(f"line {line}: not YAML") from None
        if not isinstance(tree, Mapping):
            raise TopologyError("a topology is a mapping with the keys version, devices and hosts")
        return Topology(
            version=str(tree.get("version", "1")),
            valid_from_ns=_number(tree, "valid_from_ns", "topology", 0),
            base_rtt_ns=round(_number(tree, "base_rtt_us", "topology", 0.0) * MICROSECOND),
            interfaces=tuple(_interfaces(_mapping(tree, "devices", "topology"))),
            hosts=tuple(_hosts(_mapping(tree, "hosts", "topology"))),
        )


def in_force(topologies: Iterable[Topology], time_ns: int) -> Topology | None:
    """The topology that holds at a time: the youngest that has begun."""
    begun = [topology for topology in topologies if topology.valid_from_ns <= time_ns]
    return max(begun, key=lambda topology: topology.valid_from_ns, default=None)


@cache
def _distances(topology: Topology, target: str) -> dict[str, int]:
    """Links from each device to `target`."""
    distance, border = {target: 0}, [target]
    while border:
        found = [
            i.device
            for i in topology.interfaces
            if i.peer_interface and i.peer_device in border and i.device not in distance
        ]
        step = distance[border[0]] + 1
        border = list(dict.fromkeys(found))
        distance |= dict.fromkeys(border, step)
    return distance


@cache
def _ways(topology: Topology, source: str, target: str) -> frozenset[tuple[int, int]]:
    """Egress ports on every shortest way between two devices."""
    distance = _distances(topology, target)
    hops: set[tuple[int, int]] = set()
    border = {source}
    while border and target not in border:
        nearer = [
            i
            for device in border
            for i in topology.links.get(device, ())
            if i.peer_interface and distance.get(i.peer_device, -1) == distance.get(device, 0) - 1
        ]
        hops |= {i.hop for i in nearer}
        border = {i.peer_device for i in nearer}
    return frozenset(hops)


def _mapping(tree: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    """A mapping below `key`, empty when absent."""
    value = tree.get(key) or {}
    if not isinstance(value, Mapping):
        raise TopologyError(f"{place}.{key}: must be a mapping")
    return value


def _number(tree: Mapping[str, Any], key: str, place: str, default: Any = None) -> Any:
    """A number below `key`."""
    value = tree.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TopologyError(f"{place}.{key}: must be a number")
    return value


def _interfaces(devices: Mapping[str, Any]) -> Iterable[Interface]:
    """The interfaces of the file's devices."""
    for device in devices:
        tree = _mapping(devices, device, "devices")
        ports = _mapping(tree, "interfaces", f"devices.{device}")
        for name in ports:
            place = f"devices.{device}.interfaces.{name}"
            port = _mapping(ports, name, f"devices.{device}.interfaces")
            peer, _, peer_interface = str(port.get("peer", "")).partition(":")
            yield Interface(
                device=str(device),
                name=str(name),
                node_id=int(_number(tree, "node", f"devices.{device}")),
                port_id=int(_number(port, "port", place)),
                capacity_bps=round(_number(port, "capacity_gbps", place) * GIGABIT),
                stage=str(tree.get("stage", "")),
                orientation=str(port.get("orientation", "")),
                peer_device=peer,
                peer_interface=peer_interface,
                csig_lm=port.get("csig_lm"),
                csig_lm_compact=port.get("csig_lm_compact"),
            )


def _hosts(hosts: Mapping[str, Any]) -> Iterable[Host]:
    """The hosts of the file."""
    for name in hosts:
        place = f"hosts.{name}"
        tree = _mapping(hosts, name, "hosts")
        device, _, interface = str(tree.get("attached", "")).partition(":")
        prefixes = tuple(str(prefix) for prefix in tree.get("prefixes") or ())
        for prefix in prefixes:
            try:
                ip_network(prefix)
            except ValueError as error:
                raise TopologyError(f"{place}.prefixes: {error}") from None
        nic = round(_number(tree, "nic_gbps", place, 0) * GIGABIT)
        yield Host(str(name), prefixes, device, interface, nic)
