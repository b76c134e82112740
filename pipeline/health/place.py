"""Places: where observation points stand, which devices lie between two, which locators they have.

Names of points are DEVICE:INTERFACE. At a port that faces a host, what is seen first on the way
enters there and what is seen last leaves there.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from ipaddress import IPv6Address

import polars as pl

from pipeline.endpoint import NETWORK
from pipeline.groups import numbered, words
from pipeline.interface import Interface
from pipeline.question import HALF
from pipeline.topology import REMEMBERED, Topology
from pipeline.ways import ENDS, ends_of

Tag = tuple[int, int, int]
"""Variant, signal type and locator."""
MOST_HOPS = 8
"""Routers of the longest way that is looked for."""
PATH = " > "
"""Stands between the two ends of a path."""
HOST = "host"
"""Orientation of ports that face hosts."""


@dataclass(frozen=True)
class Places:
    """What a topology, or none, knows of points, ports and flows."""

    topology: Topology | None

    @cached_property
    def ports(self) -> dict[str, Interface]:
        """Interfaces by DEVICE:INTERFACE."""
        return {name_of(port): port for port in self.topology.interfaces} if self.topology else {}

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """Ports by the ids that telemetry has for them: node, number, port (its name), bps."""
        return pl.DataFrame(
            [(p.node_id, p.port_id, name, float(p.capacity_bps)) for name, p in self.ports.items()],
            schema={"node": pl.UInt32, "number": pl.UInt32, "port": pl.String, "bps": pl.Float64},
            orient="row",
        )

    @cached_property
    def named(self) -> pl.DataFrame:
        """Ports that a locator names alone: variant, t, lm, port (its name), bps."""
        if self.topology is None:
            return pl.DataFrame()
        locators = self.topology.locators.filter(pl.col("ports") == 1)
        known = locators.rename({"port": "number"}).join(self.numbers, on=["node", "number"])
        return known[["variant", "t", "lm", "port", "bps"]].unique(["variant", "t", "lm"])

    @cached_property
    def devices(self) -> frozenset[str]:
        """Names of all devices."""
        return frozenset(port.device for port in self.ports.values())

    @cached_property
    def neighbours(self) -> dict[str, frozenset[str]]:
        """Devices at the other end of the ports of each device."""
        found: dict[str, set[str]] = {device: set() for device in self.devices}
        for port in self.ports.values():
            if port.peer_device in self.devices:
                found[port.device].add(port.peer_device)
        return {device: frozenset(near) for device, near in found.items()}

    @cached_property
    def facing(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Ports that lead from one device to another."""
        found: dict[tuple[str, str], list[str]] = {}
        for name, port in self.ports.items():
            found.setdefault((port.device, port.peer_device), []).append(name)
        return {ends: tuple(names) for ends, names in found.items()}

    @cached_property
    def locators(self) -> dict[Tag, frozenset[str]]:
        """Ports by variant and type of a tag and its locator."""
        if self.topology is None:
            return {}
        names = {port.hop: name for name, port in self.ports.items()}
        found: dict[Tag, set[str]] = {}
        table = self.topology.locators[["variant", "t", "lm", "node", "port"]]
        for variant, t, lm, *hop in table.iter_rows():
            found.setdefault((variant, t, lm), set()).add(names[hop[0], hop[1]])
        return {tag: frozenset(ports) for tag, ports in found.items()}

    @cached_property
    def complete(self) -> frozenset[tuple[int, int]]:
        """Variants and types of which every port has a locator, so that no other can exist."""
        named: dict[tuple[int, int], set[str]] = {}
        for (variant, t, _), ports in self.locators.items():
            named.setdefault((variant, t), set()).update(ports)
        return frozenset(kind for kind, ports in named.items() if len(ports) == len(self.ports))

    def device_of(self, tag: Tag) -> str | None:
        """The device that a locator names; None where it is none or not one alone."""
        return self.device_by_tag.get(tag)

    @cached_property
    def device_by_tag(self) -> dict[Tag, str]:
        """The devices of locators that name one alone."""
        found = {
            tag: {self.ports[name].device for name in ports} for tag, ports in self.locators.items()
        }
        return {tag: devices.pop() for tag, devices in found.items() if len(devices) == 1}

    def fastest_bps(self, tag: Tag) -> int | None:
        """Largest capacity of the ports that a locator names; None where it names none."""
        ports = self.locators.get(tag, ())
        return max((self.ports[name].capacity_bps for name in ports), default=None)

    @cached_property
    def slowest_bps(self) -> int | None:
        """Smallest capacity of a port."""
        return min((port.capacity_bps for port in self.ports.values()), default=None)

    def attached(self, flows: pl.DataFrame) -> pl.DataFrame:
        """Ports of both ends of flows: flow, src, dst (DEVICE:INTERFACE or null), sender."""
        owners = [name for name in NETWORK if name in flows.columns]
        pair, first = numbered(words(flows, [*ENDS, *owners]))
        few = flows[first]
        rows = []
        sources = few.select(ENDS[:2]).iter_rows()
        for (_, *ends), (high, low) in zip(ends_of(few, self.topology), sources, strict=True):
            ports = [f"{host.device}:{host.interface}" if host else None for host in ends]
            rows.append((*ports, text_of(high, low)))
        kinds = dict.fromkeys(("src", "dst", "sender"), pl.String)
        told = pl.DataFrame(rows, schema=kinds, orient="row")
        return flows[["flow"]].hstack(told[pair])

    def after(self, point: str) -> frozenset[str]:
        """The device that a packet comes to next behind a point, or each that it may be."""
        return self._beside(point, "egress")

    def before(self, point: str) -> frozenset[str]:
        """The device that a packet left last before a point, or each that it may be."""
        return self._beside(point, "ingress")

    def _beside(self, point: str, far: str) -> frozenset[str]:
        """The point's own device or, where its side is `far`, the one at the other end."""
        told = self.topology.point_by_name.get(point) if self.topology else None
        name = f"{told.device}:{told.interface}" if told and told.device else point
        port = self.ports.get(name)
        if port is None:
            return frozenset((told.device,)) & self.devices if told else frozenset()
        if port.orientation == HOST:
            return frozenset((port.device,))
        ends = {"": (port.device, port.peer_device), far: (port.peer_device,)}
        return frozenset(ends.get(told.side if told else "", (port.device,))) & self.devices

    def between(self, start: str, end: str, hops: int) -> frozenset[str]:
        """Devices that a packet may have crossed between two points with `hops` routers."""
        found: set[str] = set()
        for first in self.after(start):
            for last in self.before(end):
                found |= self._chain(first, last, hops)
        return frozenset(found)

    def on_the_way(self, start: str | None, end: str | None) -> frozenset[str]:
        """Devices on the shortest ways between the ports of two hosts."""
        if start not in self.ports or end not in self.ports:
            return frozenset()
        for hops in range(1, MOST_HOPS + 1):
            if found := self.between(start, end, hops):
                return found
        return frozenset()

    def writable(self, start: str, end: str, hops: int, tag: Tag) -> bool | None:
        """Whether a device between two points may write a locator; None: it is not known."""
        devices = self.between(start, end, hops)
        if not devices or tag[:2] not in self.complete:
            return None
        out = self.ports.get(end)
        last = out.device if out is not None and out.orientation == HOST else None
        return any(
            self.ports[name].device in devices and (self.ports[name].device != last or name == end)
            for name in self.locators.get(tag, ())
        )

    def _chain(self, first: str, last: str, hops: int) -> set[str]:
        """Devices on walks of `hops` devices from one to another."""
        ahead, back = self._reach(first, hops), self._reach(last, hops)
        return {device for step in range(hops) for device in ahead[step] & back[hops - 1 - step]}

    def _reach(self, start: str, steps: int) -> list[frozenset[str]]:
        """Devices that are reached from one by just 0, 1, … steps."""
        reached = [frozenset((start,))]
        for _ in range(1, steps):
            border = frozenset().union(*(self.neighbours[device] for device in reached[-1]))
            reached.append(border)
        return reached


@lru_cache(REMEMBERED)
def text_of(high: int, low: int) -> str:
    """An address in two words as it is written."""
    address = IPv6Address(high << HALF | low)
    return str(address.ipv4_mapped or address)


def name_of(port: Interface) -> str:
    """DEVICE:INTERFACE."""
    return f"{port.device}:{port.name}"


def path(start: str | None, end: str | None) -> str:
    """The name of a path."""
    return f"{start or 'unknown'}{PATH}{end or 'unknown'}"
