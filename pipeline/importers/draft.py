"""A topology file in the making: what an importer finds, and what it could not tell.

What is not told stands in the file with a comment that begins with `unknown`, and is a warning.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_interface
from typing import Any

import yaml

from pipeline.stage import facing
from pipeline.topology_text import load
from pipeline.unit import GIGABIT

NUMBERED = "unknown: numbered here, telemetry may call it otherwise"
WIDE = 1 << 20
"""Columns of a line: none is broken."""
End = tuple[str, str]
"""Device or host, and interface."""


@dataclass
class DraftPort:
    """A port: its id in telemetry and capacity, None and 0 where they are not told."""

    number: int | None = None
    capacity_bps: int = 0
    peer: End | None = None


@dataclass
class DraftDevice:
    """A device and its ports; `guessed` says that the stage was read out of its name."""

    node: int | None = None
    stage: str = ""
    site: str = ""
    marks_ecn: bool | None = None
    guessed: bool = False
    ports: dict[str, DraftPort] = field(default_factory=dict)


@dataclass
class DraftHost:
    """An end host on one port."""

    at: End
    prefixes: tuple[str, ...] = ()
    nic_bps: int = 0
    tenant: str = ""
    site: str = ""


@dataclass
class Draft:
    """What was found; `source` is how the file's head names the description.

    `numbers` says of ids of ports that were found what they are.
    """

    source: str
    version: str = "1"
    numbers: str = ""
    devices: dict[str, DraftDevice] = field(default_factory=dict)
    hosts: dict[str, DraftHost] = field(default_factory=dict)
    tenants: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def warn(self, sentence: str) -> None:
        """Something that could not be told; once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def port(self, end: End) -> DraftPort:
        """A port of a device that is known."""
        return self.devices[end[0]].ports.setdefault(end[1], DraftPort())

    def host(self, name: str, nic: str, host: DraftHost) -> None:
        """A host on a port; one that hangs on several is told apart by its network cards."""
        plain = name.replace(":", "_")
        several = [known for known in self.hosts if known == plain or known.startswith(f"{plain}-")]
        own = f"{plain}-{nic}" if several else plain
        while own in self.hosts:
            own += "+"
        self.hosts[own] = host
        self.port(host.at).peer = (own, "")

    def text(self) -> str:
        """The topology file, with a comment wherever something is unknown."""
        comments: dict[str, str] = {}
        tree = {
            "version": self.version,
            "base_rtt_us": 0,
            **({"tenants": self.tenants} if self.tenants else {}),
            "devices": self._devices(comments),
            "hosts": {name: self._host(name, host, comments) for name, host in self.hosts.items()},
        }
        comments["base_rtt_us"] = "unknown: round trip of the longest way without queues"
        plain = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=WIDE)
        _, lines = load(plain)
        marked = plain.splitlines()
        for place, comment in comments.items():
            marked[lines[place] - 1] += f"  # {comment}"
        return "\n".join([f"# Made from {self.source}; what is unknown is marked.", *marked, ""])

    def _devices(self, comments: dict[str, str]) -> dict[str, Any]:
        """The devices as the file has them."""
        taken = {device.node for device in self.devices.values()}
        spare = iter(number for number in range(1, 1 << 31) if number not in taken)
        made = {}
        for name, device in self.devices.items():
            place = f"devices.{name}"
            told: dict[str, Any] = {"node": device.node, "stage": device.stage}
            if device.node is None:
                told["node"] = next(spare)
                comments[f"{place}.node"] = NUMBERED
            if not device.stage:
                comments[f"{place}.stage"] = "unknown"
                self.warn(f"{name}: its stage is unknown")
            elif device.guessed:
                comments[f"{place}.stage"] = "read out of its name"
            if device.site:
                told["site"] = device.site
            if device.marks_ecn is not None:
                told["marks_ecn"] = device.marks_ecn
            told["interfaces"] = self._ports(name, device, comments)
            made[name] = told
        if any(device.node is None for device in self.devices.values()):
            self.warn("ids by which telemetry names devices are unknown: they are numbered")
        return made

    def _ports(self, name: str, device: DraftDevice, comments: dict[str, str]) -> dict[str, Any]:
        """The ports of a device as the file has them."""
        numbers = [port.number for port in device.ports.values() if port.number is not None]
        own = len(set(numbers)) == len(numbers)
        if numbers and not own:
            self.warn(f"{name}: numbers of its ports are given twice: they are numbered here")
        spare = iter(number for number in range(1, 1 << 31) if not own or number not in numbers)
        made = {}
        for port_name, port in device.ports.items():
            place = f"devices.{name}.interfaces.{port_name}"
            told: dict[str, Any] = {"port": port.number}
            if port.number is None or not own:
                told["port"] = next(spare)
                comments[f"{place}.port"] = NUMBERED
            elif self.numbers:
                comments[f"{place}.port"] = self.numbers
            told["capacity_gbps"] = port.capacity_bps / GIGABIT
            if not port.capacity_bps:
                comments[f"{place}.capacity_gbps"] = "unknown"
                self.warn(f"{name}: capacities of its ports are unknown")
            told |= self._peer(name, device, port, place, comments)
            made[port_name] = told
        return made

    def _peer(
        self, name: str, device: DraftDevice, port: DraftPort, place: str, comments: dict[str, str]
    ) -> dict[str, str]:
        """What a port faces and leads to."""
        if port.peer is None:
            comments[place] = "unknown: where it leads"
            self.warn(f"{name}: it is unknown where some of its ports lead")
            return {}
        peer, interface = port.peer
        if not interface and peer in self.hosts:
            return {"orientation": "host", "peer": peer}
        told = {"peer": f"{peer}:{interface}" if interface else peer}
        other = self.devices.get(peer)
        if other is None:
            comments[f"{place}.peer"] = "unknown: nothing describes that device"
            self.warn(f"{peer}: links lead to it, nothing describes it")
        way = facing(device.stage, other.stage if other else "")
        if not way:
            comments[place] = "unknown: what it faces"
        return {"orientation": way, **told} if way else told

    def _host(self, name: str, host: DraftHost, comments: dict[str, str]) -> dict[str, Any]:
        """A host as the file has it."""
        place = f"hosts.{name}"
        if not host.prefixes:
            comments[f"{place}.prefixes"] = "unknown"
            self.warn(f"{name}: its addresses are unknown")
        told: dict[str, Any] = {
            "prefixes": list(host.prefixes),
            "attached": ":".join(host.at),
            "nic_gbps": host.nic_bps / GIGABIT,
        }
        if not host.nic_bps:
            comments[f"{place}.nic_gbps"] = "unknown"
        told |= {"tenant": host.tenant} if host.tenant else {}
        return told | ({"site": host.site} if host.site else {})


def single(addresses: Iterable[object]) -> tuple[str, ...]:
    """Single addresses of what is written as address and length; what is neither is left out."""
    found: dict[str, None] = {}
    for address in addresses:
        try:
            own = ip_interface(str(address)).ip
        except ValueError:
            continue
        if not own.is_link_local and not own.is_loopback:
            found[f"{own}/{own.max_prefixlen}"] = None
    return tuple(found)
