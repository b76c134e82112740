"""The topology: what the ids in telemetry are called, and which ways a flow can take.

One YAML file; every version says from when it holds, and an answer uses the one in force at its
time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from ipaddress import IPv6Address, ip_network

import polars as pl

from pipeline.interface import Host, Interface
from pipeline.question import HALF, address_words
from pipeline.topology_file import TopologyError, dump, parse
from pipeline.unit import MICROSECOND

__all__ = ["Host", "Interface", "Topology", "TopologyError", "in_force"]

Hop = tuple[int, int]
"""Node and port id."""
COMPACT, EXPANDED = 1, 2
"""Variants of a CSIG tag; each has locators of its own."""
REMEMBERED = 1 << 16
"""Look-ups of each kind that are remembered."""


@dataclass(frozen=True)
class Topology:
    """Devices, links and hosts in force from `valid_from_ns` on.

    `base_rtt_ns` is HPCC++'s T, 0 where it is not known.
    """

    version: str
    valid_from_ns: int
    base_rtt_ns: int
    interfaces: tuple[Interface, ...]
    hosts: tuple[Host, ...] = ()

    def __hash__(self) -> int:
        """Two topologies are one when version and time are."""
        return hash((self.version, self.valid_from_ns, len(self.interfaces)))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row an interface: the columns of the store's table `hops`, and CSIG locators."""
        texts = ("device", "interface", "stage", "orientation", "peer_device", "peer_interface")
        return pl.DataFrame(
            [
                {"node": i.node_id, "port": i.port_id, "device": i.device, "interface": i.name,
                 "stage": i.stage, "orientation": i.orientation, "capacity_bps": i.capacity_bps,
                 "peer_device": i.peer_device, "peer_interface": i.peer_interface,
                 "csig_lm": i.csig_lm, "csig_lm_compact": i.csig_lm_compact}
                for i in self.interfaces
            ],
            schema={"node": pl.UInt32, "port": pl.UInt32, "capacity_bps": pl.Int64,
                    "csig_lm": pl.UInt16, "csig_lm_compact": pl.UInt16,
                    **dict.fromkeys(texts, pl.String)},
        )  # fmt: skip

    @cached_property
    def locators(self) -> pl.DataFrame:
        """CSIG locators: variant, lm, node, port, capacity_bps, and `ports` that share the lm."""
        named = pl.concat(
            self.frame.select(
                pl.lit(variant, pl.UInt8).alias("variant"),
                pl.col(column).alias("lm"),
                "node",
                "port",
                "capacity_bps",
            )
            for variant, column in ((COMPACT, "csig_lm_compact"), (EXPANDED, "csig_lm"))
        ).drop_nulls("lm")
        return named.with_columns(pl.len().over("variant", "lm").alias("ports"))

    @cached_property
    def base_delays(self) -> pl.DataFrame:
        """Ports whose delay without a queue is known: node, port, base_ns."""
        known = [(*i.hop, i.base_delay_ns) for i in self.interfaces if i.base_delay_ns is not None]
        kinds = {"node": pl.UInt32, "port": pl.UInt32, "base_ns": pl.Int64}
        return pl.DataFrame(known, schema=kinds, orient="row")

    @cached_property
    def host_by_address(self) -> dict[tuple[int, int], Host]:
        """Hosts by the two words of a single address; wider prefixes are looked through."""
        networks = ((ip_network(p), host) for host in self.hosts for p in host.prefixes)
        return {
            address_words(network.network_address): host
            for network, host in networks
            if network.num_addresses == 1
        }

    @cached_property
    def links(self) -> dict[str, list[Interface]]:
        """Interfaces of each device."""
        found: dict[str, list[Interface]] = {}
        for interface in self.interfaces:
            found.setdefault(interface.device, []).append(interface)
        return found

    def host(self, high: int, low: int) -> Host | None:
        """The host of an address in two words; the longest prefix wins."""
        return _host(self, high, low)

    def hops(self, source: Host, destination: Host) -> frozenset[Hop]:
        """Egress ports of every shortest way between two hosts; none where none leads there."""
        between = _ways(self, source.device, destination.device)
        last = (
            i.hop for i in self.links.get(destination.device, ()) if i.name == destination.interface
        )
        return frozenset() if between is None else between | frozenset(last)

    def way_length(self, source: Host, destination: Host) -> int:
        """Number of egress ports on a shortest way; 0 where none leads there."""
        links = _distances(self, destination.device).get(source.device)
        return 0 if links is None else links + 1

    def to_yaml(self) -> str:
        """The topology as the file that `from_yaml` reads."""
        head = {"version": self.version, "valid_from_ns": self.valid_from_ns,
                "base_rtt_us": self.base_rtt_ns / MICROSECOND}  # fmt: skip
        return dump(head, self.interfaces, self.hosts)

    @staticmethod
    def from_yaml(text: str) -> "Topology":
        """Read a topology file. Raises TopologyError with the place that is wrong."""
        return Topology(**parse(text))


def in_force(topologies: Iterable[Topology], time_ns: int) -> Topology | None:
    """The topology that holds at a time: the youngest that has begun."""
    begun = [topology for topology in topologies if topology.valid_from_ns <= time_ns]
    return max(begun, key=lambda topology: topology.valid_from_ns, default=None)


@lru_cache(REMEMBERED)
def _host(topology: Topology, high: int, low: int) -> Host | None:
    """See Topology.host."""
    if (high, low) in topology.host_by_address:
        return topology.host_by_address[high, low]
    address = IPv6Address(high << HALF | low)
    plain = address.ipv4_mapped or address
    matches = [
        (network.prefixlen, host)
        for host in topology.hosts
        for network in map(ip_network, host.prefixes)
        if plain in network
    ]
    return max(matches, key=lambda match: match[0])[1] if matches else None


@lru_cache(REMEMBERED)
def _distances(topology: Topology, target: str) -> dict[str, int]:
    """Links from each device to `target`, of devices that it can be reached from."""
    distance, border = {target: 0}, {target}
    while border:
        step = max(distance.values()) + 1
        border = {
            i.device
            for i in topology.interfaces
            if i.peer_interface and i.peer_device in border and i.device not in distance
        }
        distance |= dict.fromkeys(border, step)
    return distance


@lru_cache(REMEMBERED)
def _ways(topology: Topology, source: str, target: str) -> frozenset[Hop] | None:
    """Egress ports on every shortest way between two devices; None where none leads there."""
    distance = _distances(topology, target)
    if source not in distance:
        return None
    hops: set[Hop] = set()
    border = {source}
    while target not in border:
        nearer = [
            i
            for device in border
            for i in topology.links.get(device, ())
            if i.peer_interface and distance.get(i.peer_device, -1) == distance[device] - 1
        ]
        hops |= {i.hop for i in nearer}
        border = {i.peer_device for i in nearer}
    return frozenset(hops)
