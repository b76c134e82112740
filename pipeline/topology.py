"""The topology: what the ids in telemetry are called, and which ways a flow can take.

One YAML file; every version says from when it holds, and an answer uses the one in force at its
time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

import polars as pl

from pipeline.csig_profile import SIGNALS as CSIG_SIGNALS
from pipeline.csig_profile import VARIANTS, Csig
from pipeline.interface import Device, Host, Interface, Point, SiteRtt, Tenant
from pipeline.locator_table import locator_table
from pipeline.prefix_table import PrefixTable
from pipeline.stage import stage_named
from pipeline.topology_dump import dump
from pipeline.topology_file import parse
from pipeline.topology_text import TopologyError

__all__ = ["Csig", "Device", "Host", "Interface", "Point", "SiteRtt", "Tenant", "Topology",
           "TopologyError", "in_force"]  # fmt: skip

Hop = tuple[int, int]
"""Node and port id."""
COMPACT, EXPANDED = VARIANTS.values()
"""Variants of a CSIG tag; each has locators of its own."""
REMEMBERED = 1 << 16
"""Look-ups of each kind that are remembered."""


@dataclass(frozen=True, eq=False)
class Topology:
    """Devices, links and hosts in force from `valid_from_ns` on.

    `base_rtt_ns` is HPCC++'s T, 0 where it is not known; `base_rtts` are those of pairs of sites.
    `csig` is what holds of CSIG where a device says nothing else; None: nothing is known of it.
    """

    version: str
    valid_from_ns: int
    base_rtt_ns: int
    interfaces: tuple[Interface, ...]
    hosts: tuple[Host, ...] = ()
    devices: tuple[Device, ...] = ()
    points: tuple[Point, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    base_rtts: tuple[SiteRtt, ...] = ()
    csig: Csig | None = None

    def __post_init__(self) -> None:
        """Devices of which only ports were given become devices too."""
        told = {device.name: device for device in self.devices}
        for port in self.interfaces:
            if port.device not in told:
                told[port.device] = Device(port.device, port.node_id, port.stage, csig=self.csig)
        object.__setattr__(self, "devices", tuple(told.values()))

    def __hash__(self) -> int:
        """Hash of all that is told; what is remembered of a topology is asked for often."""
        return self.digest

    def __eq__(self, other: object) -> bool:
        """Whether the same is told: by digest, since a large fabric takes long to compare."""
        return self is other or (isinstance(other, Topology) and self.digest == other.digest)

    @cached_property
    def digest(self) -> int:
        """Stands for everything that the topology tells, in this process."""
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row an interface: the columns of the store's table `hops`, and CSIG locators."""
        texts = ("device", "interface", "stage", "orientation", "peer_device", "peer_interface")
        return pl.DataFrame(
            [
                {"node": i.node_id, "port": i.port_id, "device": i.device, "interface": i.name,
                 "stage": stage_named(i.stage), "orientation": i.orientation,
                 "capacity_bps": i.capacity_bps or None, "peer_device": i.peer_device,
                 "peer_interface": i.peer_interface,
                 "csig_lm": i.csig_lm, "csig_lm_compact": i.csig_lm_compact}
                for i in self.interfaces
            ],
            schema={"node": pl.UInt32, "port": pl.UInt32, "capacity_bps": pl.Int64,
                    "csig_lm": pl.UInt16, "csig_lm_compact": pl.UInt16,
                    **dict.fromkeys(texts, pl.String)},
        )  # fmt: skip

    @cached_property
    def device_by_name(self) -> dict[str, Device]:
        """Each device by its name."""
        return {device.name: device for device in self.devices}

    @cached_property
    def point_by_name(self) -> dict[str, Point]:
        """Each observation point by its name in the column `point`."""
        return {point.name: point for point in self.points}

    @cached_property
    def locators(self) -> pl.DataFrame:
        """CSIG locators: variant, t, lm, node, port, capacity_bps, and `ports` that share the lm.

        `t` is the type of the signal.
        """
        return locator_table(self.interfaces, self.device_by_name)

    @cached_property
    def base_delays(self) -> pl.DataFrame:
        """Ports whose delay without a queue is known: node, port, base_ns."""
        delays = {device.name: device.base_delay_ns for device in self.devices}
        told = [(*i.hop, delays[i.device] if i.base_delay_ns is None else i.base_delay_ns)
                for i in self.interfaces]  # fmt: skip
        known = [row for row in told if row[-1] is not None]
        kinds = {"node": pl.UInt32, "port": pl.UInt32, "base_ns": pl.Int64}
        return pl.DataFrame(known, schema=kinds, orient="row")

    @cached_property
    def delta_ts(self) -> pl.DataFrame:
        """Times over which devices measure CSIG signals: device, signal_type, delta_t_ns."""
        told = [
            (device.name, signal.name, signal.delta_t_ns)
            for device in self.devices
            for signal in (device.csig.signals if device.csig else ())
            if signal.delta_t_ns
        ]
        kinds = {"device": pl.String, "signal_type": pl.String, "delta_t_ns": pl.Int64}
        return pl.DataFrame(told, schema=kinds, orient="row")

    @cached_property
    def slowest_ns(self) -> dict[str, int]:
        """The longest of `delta_ts` by signal; 0: none is known."""
        slowest = self.delta_ts.group_by("signal_type").agg(pl.col("delta_t_ns").max())
        return dict.fromkeys(CSIG_SIGNALS, 0) | dict(slowest.iter_rows())

    @cached_property
    def measured_ns(self) -> int:
        """The longest of `delta_ts` and of the devices' own T; 0: none is known."""
        own = [device.t_ns or 0 for device in self.devices]
        return max([*self.delta_ts["delta_t_ns"].to_list(), *own], default=0)

    @cached_property
    def prefixes(self) -> PrefixTable:
        """Hosts by their prefixes."""
        return PrefixTable(self.hosts)

    @cached_property
    def neighbours(self) -> dict[str, list[str]]:
        """Devices with a link towards each device."""
        found: dict[str, dict[str, None]] = {}
        for port in self.interfaces:
            if port.peer_interface:
                found.setdefault(port.peer_device, {})[port.device] = None
        return {device: list(near) for device, near in found.items()}

    @cached_property
    def links(self) -> dict[str, list[Interface]]:
        """Interfaces of each device."""
        found: dict[str, list[Interface]] = {}
        for interface in self.interfaces:
            found.setdefault(interface.device, []).append(interface)
        return found

    def port(self, device: str, name: str) -> Interface | None:
        """A port by its device and its name there."""
        return next((port for port in self.links.get(device, ()) if port.name == name), None)

    def host(self, high: int, low: int, tenant: str = "") -> Host | None:
        """The host of an address in two words; the longest prefix wins.

        The addresses of a tenant are looked for first, then those of the fabric itself. Without a
        tenant, an address that one tenant alone has is that one's.
        """
        return _host(self, high, low, tenant)

    def tenant(self, name: str = "", vrf: str = "", vni: int | None = None) -> str:
        """The tenant of a flow, by what its key tells; empty: none is known."""
        return _tenant(self, name, vrf, vni)

    def site_of(self, host: Host) -> str:
        """Site of a host: its own, or that of the device it hangs on; empty: not known."""
        device = self.device_by_name.get(host.device)
        return host.site or (device.site if device else "")

    def base_rtt(self, source: str, destination: str) -> int:
        """Round trip between two sites, ns; that of the whole where the pair has none."""
        return self.rtt_by_sites.get(frozenset((source, destination)), self.base_rtt_ns)

    @cached_property
    def rtt_by_sites(self) -> dict[frozenset[str], int]:
        """Round trips of the pairs of sites that have one of their own."""
        return {frozenset(rtt.sites): rtt.base_rtt_ns for rtt in self.base_rtts}

    @cached_property
    def least_rtt_ns(self) -> int | None:
        """The least of these; None where none is told."""
        return min(filter(None, self.rtt_by_sites.values()), default=None)

    def hops(self, source: Host, destination: Host) -> frozenset[Hop]:
        """Egress ports of every shortest way between two hosts; none where none leads there."""
        between = _ways(self, source.device, destination.device)
        last = self.port(destination.device, destination.interface)
        return frozenset() if between is None else between | frozenset((last.hop,) if last else ())

    def way_length(self, source: Host, destination: Host) -> int:
        """Number of egress ports on a shortest way; 0 where none leads there."""
        links = distances(self, destination.device).get(source.device)
        return 0 if links is None else links + 1

    def collector_settings(self) -> dict[str, Any]:
        """What the topology tells of CSIG tags, as settings of the collector."""
        return {} if self.csig is None else self.csig.settings()

    def to_yaml(self) -> str:
        """The topology as the file that `from_yaml` reads."""
        return dump(self)

    @staticmethod
    def from_yaml(text: str) -> "Topology":
        """Read a file of one version. Raises TopologyError with the place that is wrong."""
        made = Topology.versions_of(text)
        if len(made) > 1:
            raise TopologyError("a topology of one version is wanted here", "versions")
        return made[0]

    @staticmethod
    def versions_of(text: str) -> "tuple[Topology, ...]":
        """Read all versions of a file, the oldest first; else as `from_yaml`."""
        return tuple(Topology(**parsed.fields) for parsed in parse(text))


def in_force(topologies: Iterable[Topology], time_ns: int) -> Topology | None:
    """The topology that holds at a time: the youngest that has begun."""
    begun = [topology for topology in topologies if topology.valid_from_ns <= time_ns]
    return max(begun, key=lambda topology: topology.valid_from_ns, default=None)


@lru_cache(REMEMBERED)
def _host(topology: Topology, high: int, low: int, tenant: str) -> Host | None:
    """See Topology.host."""
    known = topology.prefixes
    if tenant and (own := known.find(high, low, tenant)):
        return own
    return known.find(high, low, "") or (None if tenant else known.only(high, low))


@lru_cache(REMEMBERED)
def _tenant(topology: Topology, name: str, vrf: str, vni: int | None) -> str:
    """See Topology.tenant."""
    for tenant in topology.tenants:
        if tenant.name == name or vni in tenant.vnis or vrf in tenant.vrfs:
            return tenant.name
    return ""


@lru_cache(REMEMBERED)
def distances(topology: Topology, target: str) -> dict[str, int]:
    """Links from each device to `target`, of devices that it can be reached from."""
    distance, border = {target: 0}, [target]
    for device in border:
        for near in topology.neighbours.get(device, ()):
            if near not in distance:
                distance[near] = distance[device] + 1
                border.append(near)
    return distance


@lru_cache(REMEMBERED)
def _ways(topology: Topology, source: str, target: str) -> frozenset[Hop] | None:
    """Egress ports on every shortest way between two devices; None where none leads there."""
    distance = distances(topology, target)
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
