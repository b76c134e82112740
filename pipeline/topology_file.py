"""The topology as a YAML file: read, with every error naming its place and line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Any

from pipeline.csig_file import csig_of, over
from pipeline.csig_profile import Csig
from pipeline.interface import Device, Host, Interface, Point, SiteRtt, Tenant
from pipeline.topology_key import DEVICE, FILE, HOST, INTERFACE, POINT, RTT, TENANT
from pipeline.topology_text import STRICT, Faults, TopologyError, Tree, line_of, load
from pipeline.topology_value import read, rows, section, sections


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

    def told(self, error: TopologyError) -> TopologyError:
        """A fault of the version at the file's place."""
        place = error.place.removeprefix("topology.")
        if place.partition(".")[0] not in self.own:
            return error
        return TopologyError(error.text, self.place(place))

    def line(self, place: str) -> int:
        """The line on which a place of the version stands, or the nearest one around it."""
        return line_of(self.place(place), self.lines)


def parse(text: str, faults: Faults = STRICT) -> list[Parsed]:
    """The versions of a file's text, the oldest first; what is wrong has its place and line.

    Of what is wrong without being raised the rest of the version is made.
    """
    tree, lines = load(text, faults)
    found: list[Parsed] = []
    inner = Faults(every=faults.every)
    try:
        for version, own, row in versions_of(tree, inner):
            here = Parsed({}, own, row, lines)
            met = Faults(every=faults.every)
            try:
                made = met.tried(fields, version, met)
            except TopologyError as error:
                raise here.told(error) from None
            inner.found += [here.told(fault) for fault in met.found]
            found += [] if made is None else [replace(here, fields=made)]
    except TopologyError as error:
        raise error.at(lines) from None
    begun = [one.fields["valid_from_ns"] for one in found]
    for row, since in enumerate(begun):
        if since in begun[:row]:
            inner.found.append(TopologyError("two versions begin at once", f"versions.{row}"))
    for fault in inner.found:
        faults.add(fault.at(lines))
    return sorted(found, key=lambda one: int(one.fields["valid_from_ns"]))


def versions_of(tree: Tree, faults: Faults = STRICT) -> Iterator[tuple[Tree, Tree, int]]:
    """Each version of a file, with what is its own and its number.

    What a version does not tell is that of the file's top; a file without versions is one.
    """
    if tree.get("versions") is None:
        yield tree, {}, 0
        return
    top = {name: value for name, value in tree.items() if name != "versions"}
    for own, place in rows(tree, "versions", "topology", faults):
        yield {**top, **own}, own, int(place.rpartition(".")[2])


def fields(tree: Tree, faults: Faults = STRICT) -> dict[str, Any]:
    """The fields of one Topology."""
    shared = faults.tried(section, tree, "csig", "topology")
    csig = csig_of(shared, "csig", faults) if shared else None
    tenants = tuple(
        Tenant(name, **read(TENANT, own, place, faults))
        for name, own, place in sections(tree, "tenants", "topology", faults)
    )
    devices, interfaces = devices_of(tree, csig, faults)
    owners = {tenant.name for tenant in tenants}
    hosts = tuple(hosts_of(tree, interfaces, owners, faults))
    points = tuple(
        Point(name, **read(POINT, own, place, faults))
        for name, own, place in sections(tree, "points", "topology", faults)
    )
    return {
        **read(FILE, tree, "topology", faults),
        "interfaces": interfaces,
        "hosts": hosts,
        "devices": devices,
        "points": points,
        "tenants": tenants,
        "base_rtts": tuple(rtts_of(tree, faults)),
        "csig": csig,
    }


def devices_of(
    tree: Tree, csig: Csig | None, faults: Faults = STRICT
) -> tuple[tuple[Device, ...], tuple[Interface, ...]]:  # fmt: skip
    """The devices and interfaces of a file; no two interfaces may have one id."""
    ends = ends_in(tree, faults)
    devices: list[Device] = []
    ports: list[Interface] = []
    named: dict[tuple[int, int], tuple[str, str]] = {}
    for name, own, place in sections(tree, "devices", "topology", faults):
        device = faults.tried(device_of, tree, name, own, place, csig, faults)
        if device is None:  # what is wrong below it is told all the same
            for _, told, at in sections(own, "interfaces", place, faults):
                faults.tried(read, INTERFACE, told, at, faults)
            continue
        devices.append(device)
        for port, told, at in sections(own, "interfaces", place, faults):
            made = faults.tried(interface_of, device, port, told, at, ends, faults)
            if made is not None:
                other, before = named.setdefault(made.hop, (name, at))
                if before != at:
                    faults.add(clash(made, other, before, place))
                ports.append(made)
    return tuple(devices), tuple(ports)


def device_of(
    tree: Tree, name: str, own: Tree, place: str, csig: Csig | None, faults: Faults
) -> Device:
    """One device; its part in CSIG is laid over that of the file, whose faults are told there."""
    part = csig
    if mine := faults.tried(section, own, "csig", place):
        shared = tree.get("csig")
        laid = over(mine, shared if isinstance(shared, Mapping) else {})
        met = Faults(every=faults.every)
        part = csig_of(laid, f"{place}.csig", met)
        for error in met.found:
            path = error.place.removeprefix(f"{place}.csig.").split(".")
            if has(mine, path) or not has(laid, path):
                faults.add(error)
    return Device(name, **read(DEVICE, own, place, faults), csig=part)


def has(tree: Any, path: Sequence[str]) -> bool:
    """Whether something stands at the end of these keys, or of the first that has no keys."""
    for key in path:
        if not isinstance(tree, Mapping):
            return True
        found = [inner for name, inner in tree.items() if str(name) == key]
        if not found:
            return False
        tree = found[0]
    return True


def clash(made: Interface, other: str, before: str, place: str) -> TopologyError:
    """What is wrong with an interface whose id another one has: the port or the device's node."""
    if other == made.device:
        at = f"{place}.interfaces.{made.name}.port"
        return TopologyError(f"{before} has the same node and port", at)
    return TopologyError(f"{other} has node {made.node_id} too", f"{place}.node")


def ends_in(tree: Tree, faults: Faults = STRICT) -> Mapping[str, Tree]:
    """Devices, with their interfaces, and hosts whose names have a colon: no end is cut there."""
    made: dict[str, Tree] = {}
    for key in ("hosts", "devices"):
        for name, own, place in sections(tree, key, "topology", faults):
            if ":" in name:
                inner = own if key == "devices" else {}
                made[name] = faults.tried(section, inner, "interfaces", place) or {}
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
    device: Device, name: str, tree: Tree, place: str, ends: Mapping[str, Tree], faults: Faults
) -> Interface:
    """One interface of the file; `ends` as `ends_in` has them."""
    told = read(INTERFACE, tree, place, faults)
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
    tree: Tree, interfaces: Sequence[Interface], tenants: set[str], faults: Faults
) -> Iterator[Host]:
    """The hosts of the file; each hangs on a port that exists and has its prefixes alone."""
    ports = {(i.device, i.name) for i in interfaces}
    owners: dict[tuple[str, str], str] = {}
    ends = ends_in(tree, faults)
    for name, own, place in sections(tree, "hosts", "topology", faults):
        told = faults.tried(read, HOST, own, place, faults)
        if told is None:
            continue
        device, interface = split_end(told.pop("attached"), ends)
        here = (device, interface) in ports
        if not here:
            reason = "must be DEVICE:INTERFACE of the devices above"
            faults.add(TopologyError(reason, f"{place}.attached"))
        tenant = told["tenant"]
        if tenant and tenant not in tenants:
            faults.add(TopologyError(f"{tenant} is none of the tenants", f"{place}.tenant"))
        made = [faults.tried(prefix_of, prefix, place) for prefix in told.pop("prefixes")]
        prefixes = [prefix for prefix in made if prefix]
        for prefix in prefixes:
            if (tenant, prefix) in owners:
                reason = f"{prefix} is also of {owners[tenant, prefix]}"
                faults.add(TopologyError(reason, f"{place}.prefixes"))
            owners.setdefault((tenant, prefix), place)
        if here:
            yield Host(name, tuple(prefixes), device, interface, **told)


def prefix_of(prefix: str, place: str) -> str:
    """A prefix, written as the network that it is."""
    try:
        return str(ip_network(prefix))
    except ValueError as error:
        raise TopologyError(str(error), f"{place}.prefixes") from None


def rtts_of(tree: Tree, faults: Faults) -> Iterator[SiteRtt]:
    """Round trips by pair of sites."""
    for own, place in rows(tree, "base_rtts", "topology", faults):
        told = faults.tried(read, RTT, own, place, faults)
        if told is not None and len(told["sites"]) != 2:  # noqa: PLR2004 - a pair
            faults.add(TopologyError("must be two sites", f"{place}.between"))
        elif told is not None:
            yield SiteRtt(**told)
