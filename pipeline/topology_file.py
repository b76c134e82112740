"""The topology as a YAML file: written, and read with every error naming its place and line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Any

import yaml

from pipeline.csig_file import csig_of, csig_text, over
from pipeline.csig_profile import Csig
from pipeline.interface import Device, Host, Interface, Point, SiteRtt, Tenant
from pipeline.topology_key import DEVICE, FILE, HOST, INTERFACE, POINT, RTT, TENANT
from pipeline.topology_text import TopologyError, Tree, line_of, load
from pipeline.topology_value import read, rows, section, sections, written
from pipeline.unit import MICROSECOND

DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""YAML's safe writer, the compiled one where there is one."""


@dataclass(frozen=True)
class Parsed:
    """One version of a file: the fields of its Topology, and where it stands in the text."""

    fields: Mapping[str, Any]
    own: Tree
    row: int
    lines: Mapping[str, int]

    def place(self, place: str) -> str:
        """A place of the version as the file's place."""
        first = place.partition(".")[0]
        return f"versions.{self.row}.{place}" if first in self.own else place

    def line(self, place: str) -> int:
        """The line on which a place of the version stands, or the nearest one around it."""
        return line_of(self.place(place), self.lines)


def parse(text: str) -> list[Parsed]:
    """The versions of a file's text, the oldest first.

    Raises TopologyError with the place and its line.
    """
    tree, lines = load(text)
    found: list[Parsed] = []
    try:
        for version, own, row in versions_of(tree):
            here = Parsed({}, own, row, lines)
            try:
                found.append(replace(here, fields=fields(version)))
            except TopologyError as error:
                place = error.place.removeprefix("topology.")
                if place.partition(".")[0] not in own:
                    raise
                raise TopologyError(error.text, here.place(place)) from None
    except TopologyError as error:
        raise error.at(lines) from None
    begun = [one.fields["valid_from_ns"] for one in found]
    for row, since in enumerate(begun):
        if since in begun[:row]:
            raise TopologyError("two versions begin at once", f"versions.{row}").at(lines)
    return sorted(found, key=lambda one: int(one.fields["valid_from_ns"]))


def versions_of(tree: Tree) -> Iterator[tuple[Tree, Tree, int]]:
    """Each version of a file, with what is its own and its number.

    What a version does not tell is that of the file's top; a file without versions is one.
    """
    if tree.get("versions") is None:
        yield tree, {}, 0
        return
    top = {name: value for name, value in tree.items() if name != "versions"}
    for row, (own, _) in enumerate(rows(tree, "versions", "topology")):
        yield {**top, **own}, own, row


def fields(tree: Tree) -> dict[str, Any]:
    """The fields of one Topology."""
    shared = section(tree, "csig", "topology")
    csig = csig_of(shared, "csig") if shared else None
    tenants = tuple(
        Tenant(name, **read(TENANT, own, place))
        for name, own, place in sections(tree, "tenants", "topology")
    )
    devices, interfaces = devices_of(tree, csig)
    owners = {tenant.name for tenant in tenants}
    hosts = tuple(hosts_of(tree, interfaces, owners, ends_in(tree)))
    points = tuple(
        Point(name, **read(POINT, own, place))
        for name, own, place in sections(tree, "points", "topology")
    )
    return {
        **read(FILE, tree, "topology"),
        "interfaces": interfaces,
        "hosts": hosts,
        "devices": devices,
        "points": points,
        "tenants": tenants,
        "base_rtts": tuple(rtts_of(tree)),
        "csig": csig,
    }


def devices_of(
    tree: Tree, csig: Csig | None
) -> tuple[tuple[Device, ...], tuple[Interface, ...]]:  # fmt: skip
    """The devices and interfaces of a file; no two interfaces may have one id."""
    shared = section(tree, "csig", "topology")
    ends = ends_in(tree)
    devices: list[Device] = []
    ports: list[Interface] = []
    named: dict[tuple[int, int], str] = {}
    for name, own, place in sections(tree, "devices", "topology"):
        mine = section(own, "csig", place)
        part = csig_of(over(mine, shared), f"{place}.csig") if mine else csig
        device = Device(name, **read(DEVICE, own, place), csig=part)
        devices.append(device)
        for port, told, at in sections(own, "interfaces", place):
            made = interface_of(device, port, told, at, ends)
            if made.hop in named:
                raise TopologyError(f"{named[made.hop]} has the same node and port", f"{at}.port")
            named[made.hop] = at
            ports.append(made)
    return tuple(devices), tuple(ports)


def ends_in(tree: Tree) -> Mapping[str, Tree]:
    """Devices, with their interfaces, and hosts whose names have a colon: no end is cut there."""
    made: dict[str, Tree] = {}
    for key in ("hosts", "devices"):
        named = section(tree, key, "topology")
        for name in named:
            if ":" in str(name):
                inner = section(named, name, key) if key == "devices" else {}
                made[str(name)] = section(inner, "interfaces", f"{key}.{name}")
    return made


def split_end(text: str, ends: Mapping[str, Tree]) -> tuple[str, str]:
    """Device and interface of DEVICE:INTERFACE; without a colon the whole is the device.

    Of devices with colons in their names the longest counts, one that has the interface first.
    """
    found = [name for name in ends if text.startswith(f"{name}:") or text == name]
    if not found:
        device, _, interface = text.partition(":")
        return device, interface
    told = {name: text[len(name) + 1 :] for name in found}
    device = max(found, key=lambda name: (told[name] in map(str, ends[name]), len(name)))
    plain, _, rest = text.partition(":")
    if told[device] and told[device] not in map(str, ends[device]) and plain not in told:
        return plain, rest
    return device, told[device]


def interface_of(
    device: Device, name: str, tree: Tree, place: str, ends: Mapping[str, Tree]
) -> Interface:
    """One interface of the file; `ends` as `ends_in` has them."""
    told = read(INTERFACE, tree, place)
    peer, peer_interface = split_end(told.pop("peer"), ends)
    return Interface(
        device=device.name,
        name=name,
        node_id=device.node_id,
        stage=device.stage,
        peer_device=peer,
        peer_interface=peer_interface,
        **told,
    )


def hosts_of(
    tree: Tree, interfaces: Sequence[Interface], tenants: set[str], ends: Mapping[str, Tree]
) -> Iterator[Host]:
    """The hosts of the file; each hangs on a port that exists and has its prefixes alone."""
    ports = {(i.device, i.name) for i in interfaces}
    owners: dict[tuple[str, str], str] = {}
    for name, own, place in sections(tree, "hosts", "topology"):
        told = read(HOST, own, place)
        device, interface = split_end(told.pop("attached"), ends)
        if (device, interface) not in ports:
            reason = "must be DEVICE:INTERFACE of the devices above"
            raise TopologyError(reason, f"{place}.attached")
        tenant = told["tenant"]
        if tenant and tenant not in tenants:
            raise TopologyError(f"{tenant} is none of the tenants", f"{place}.tenant")
        prefixes = tuple(prefix_of(prefix, place) for prefix in told.pop("prefixes"))
        for prefix in prefixes:
            if (tenant, prefix) in owners:
                reason = f"{prefix} is also of {owners[tenant, prefix]}"
                raise TopologyError(reason, f"{place}.prefixes")
            owners[tenant, prefix] = place
        yield Host(name, prefixes, device, interface, **told)


def prefix_of(prefix: str, place: str) -> str:
    """A prefix, written as the network that it is."""
    try:
        return str(ip_network(prefix))
    except ValueError as error:
        raise TopologyError(str(error), f"{place}.prefixes") from None


def rtts_of(tree: Tree) -> Iterator[SiteRtt]:
    """Round trips by pair of sites."""
    for own, place in rows(tree, "base_rtts", "topology"):
        told = read(RTT, own, place)
        if len(told["sites"]) != 2:  # noqa: PLR2004 - a pair
            raise TopologyError("must be two sites", f"{place}.between")
        yield SiteRtt(**told)


def dump(made: Any) -> str:
    """The text that `parse` reads, of a Topology."""
    text: str = yaml.dump(tree_of(made), Dumper=DUMPER, sort_keys=False, allow_unicode=True)
    return text


def tree_of(made: Any) -> dict[str, Any]:
    """A Topology as the tree of its file."""
    shared = {} if made.csig is None else {"csig": csig_text(made.csig)}
    listed = {
        "tenants": {tenant.name: written(TENANT, tenant) for tenant in made.tenants},
        "points": {point.name: written(POINT, point) for point in made.points},
        "base_rtts": [
            {"between": list(rtt.sites), "base_rtt_us": rtt.base_rtt_ns / MICROSECOND}
            for rtt in made.base_rtts
        ],
    }
    hosts = {
        host.name: {"attached": f"{host.device}:{host.interface}",
                    **written([key for key in HOST if key.name != "attached"], host)}
        for host in made.hosts
    }  # fmt: skip
    return {
        "version": made.version,
        "valid_from_ns": made.valid_from_ns,
        "base_rtt_us": made.base_rtt_ns / MICROSECOND,
        **shared,
        **{name: value for name, value in listed.items() if value},
        "devices": {device.name: device_text(device, made) for device in made.devices},
        "hosts": hosts,
    }


def device_text(device: Device, made: Any) -> dict[str, Any]:
    """A device as its section of the file."""
    own = {} if device.csig == made.csig or device.csig is None else {"csig": device.csig}
    return {
        **written(DEVICE, device),
        **{name: csig_text(csig) for name, csig in own.items()},
        "interfaces": {port.name: interface_text(port) for port in made.links.get(device.name, ())},
    }


def interface_text(port: Interface) -> Mapping[str, Any]:
    """An interface as its section of the file."""
    peer = f"{port.peer_device}:{port.peer_interface}" if port.peer_interface else port.peer_device
    keys = [key for key in INTERFACE if key.name != "peer"]
    return {**written(keys, port), **({"peer": peer} if peer else {})}
