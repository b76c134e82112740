"""The topology as a YAML file: written, and read with every error naming its place."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from math import isfinite
from typing import Any

import yaml

from pipeline.interface import Host, Interface
from pipeline.reserved import MOST_ID
from pipeline.unit import GIGABIT, MICROSECOND

ORIENTATIONS = ("", "up", "down", "side", "host")
"""What a port may face; empty: not told."""
MOST = 1 << 62
MOST_KNOWN = {"csig_lm": 0xFFFF, "csig_lm_compact": 0xFFFF, "base_delay_ns": 1_000_000_000}
"""What an interface may be given beside what it must, and the largest value."""
Tree = Mapping[Any, Any]


class TopologyError(ValueError):
    """A topology that cannot be used; the text names the place."""


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, which takes a key that is given twice for the mistake it is."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT002 - the signature is the loader's
        """See yaml.SafeLoader."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and isinstance(key, yaml.ScalarNode):
                place = f"line {key.start_mark.line + 1}"
                raise TopologyError(f"{place}: {key.value} is given twice")
            seen.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


def parse(text: str) -> dict[str, Any]:
    """The fields of a Topology from a file's text. Raises TopologyError with the place."""
    try:
        tree = yaml.load(text, _Loader)  # noqa: S506 - the loader is a safe one
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TopologyError(f"line {mark.line + 1 if mark else 1}: not YAML") from None
    except RecursionError:
        raise TopologyError("line 1: nested too deeply") from None
    if not isinstance(tree, Mapping):
        raise TopologyError("a topology is a mapping with the keys version, devices and hosts")
    rtt = _number(tree, "base_rtt_us", "topology", 0, MOST / MICROSECOND, 0)
    interfaces = tuple(_interfaces(_mapping(tree, "devices", "topology")))
    return {
        "version": str(tree.get("version", "1")),
        "valid_from_ns": _whole(tree, "valid_from_ns", "topology", -MOST, MOST, 0),
        "base_rtt_ns": round(rtt * MICROSECOND),
        "interfaces": interfaces,
        "hosts": tuple(_hosts(_mapping(tree, "hosts", "topology"), interfaces)),
    }


def dump(head: Mapping[str, Any], interfaces: Sequence[Interface], hosts: Sequence[Host]) -> str:
    """The text that `parse` reads; `head` holds what stands above the devices."""
    devices: dict[str, Any] = {}
    for i in interfaces:
        device = devices.setdefault(
            i.device, {"node": i.node_id, "stage": i.stage, "interfaces": {}}
        )
        peer = f"{i.peer_device}:{i.peer_interface}" if i.peer_interface else i.peer_device
        known = {name: getattr(i, name) for name in MOST_KNOWN}
        device["interfaces"][i.name] = {
            "port": i.port_id, "capacity_gbps": i.capacity_bps / GIGABIT,
            "orientation": i.orientation, "peer": peer,
            **{name: value for name, value in known.items() if value is not None},
        }  # fmt: skip
    ends = {
        h.name: {"prefixes": list(h.prefixes), "attached": f"{h.device}:{h.interface}",
                 "nic_gbps": h.nic_bps / GIGABIT}
        for h in hosts
    }  # fmt: skip
    tree = {**head, "devices": devices, "hosts": ends}
    text: str = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    return text


def _interfaces(devices: Tree) -> Iterator[Interface]:
    """The interfaces of the file's devices; no two may have one id."""
    named: dict[tuple[int, int], str] = {}
    for device in devices:
        if ":" in str(device):
            raise TopologyError(
                f"devices.{device}: a name has no colon; peers are DEVICE:INTERFACE"
            )
        tree = _mapping(devices, device, "devices")
        node = _whole(tree, "node", f"devices.{device}", 0, MOST_ID)
        ports = _mapping(tree, "interfaces", f"devices.{device}")
        for name in ports:
            place = f"devices.{device}.interfaces.{name}"
            port = _mapping(ports, name, f"devices.{device}.interfaces")
            made = _interface(str(device), str(name), node, str(tree.get("stage", "")), port, place)
            if made.hop in named:
                raise TopologyError(f"{place}.port: {named[made.hop]} has the same node and port")
            named[made.hop] = place
            yield made


def _interface(device: str, name: str, node: int, stage: str, port: Tree, place: str) -> Interface:
    """One interface of the file."""
    peer, _, peer_interface = str(port.get("peer", "")).partition(":")
    orientation = str(port.get("orientation", ""))
    if orientation not in ORIENTATIONS:
        raise TopologyError(f"{place}.orientation: must be one of {', '.join(ORIENTATIONS[1:])}")
    least = 1 / GIGABIT
    known = {
        key: _whole(port, key, place, 0, most)
        for key, most in MOST_KNOWN.items()
        if port.get(key) is not None
    }
    return Interface(
        device=device,
        name=name,
        node_id=node,
        port_id=_whole(port, "port", place, 0, MOST_ID),
        capacity_bps=round(_number(port, "capacity_gbps", place, least, MOST / GIGABIT) * GIGABIT),
        stage=stage,
        orientation=orientation,
        peer_device=peer,
        peer_interface=peer_interface,
        **known,
    )


def _hosts(hosts: Tree, interfaces: Sequence[Interface]) -> Iterator[Host]:
    """The hosts of the file; each hangs on a port that exists and has its prefixes alone."""
    ports = {(i.device, i.name) for i in interfaces}
    owners: dict[str, str] = {}
    for name in hosts:
        place = f"hosts.{name}"
        tree = _mapping(hosts, name, "hosts")
        device, _, interface = str(tree.get("attached", "")).partition(":")
        if (device, interface) not in ports:
            raise TopologyError(f"{place}.attached: must be DEVICE:INTERFACE of the devices above")
        prefixes = tuple(_prefixes(tree, place))
        for prefix in prefixes:
            if prefix in owners:
                raise TopologyError(f"{place}.prefixes: {prefix} is also of {owners[prefix]}")
            owners[prefix] = place
        nic = _number(tree, "nic_gbps", place, 0, MOST / GIGABIT, 0)
        yield Host(str(name), prefixes, device, interface, round(nic * GIGABIT))


def _prefixes(tree: Tree, place: str) -> Iterator[str]:
    """The prefixes of a host, each written as the network that it is."""
    listed = tree.get("prefixes") or []
    if not isinstance(listed, list):
        raise TopologyError(f"{place}.prefixes: must be a list")
    for prefix in listed:
        try:
            yield str(ip_network(str(prefix)))
        except ValueError as error:
            raise TopologyError(f"{place}.prefixes: {error}") from None


def _mapping(tree: Tree, key: Any, place: str) -> Tree:
    """A mapping below `key`, empty when absent."""
    value = tree.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TopologyError(f"{place}.{key}: must be a mapping")
    return value


def _number(
    tree: Tree, key: str, place: str, least: float, most: float, default: float | None = None
) -> float:
    """A number below `key`, from `least` to `most`."""
    value = tree.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise TopologyError(f"{place}.{key}: must be a number")
    if not least <= value <= most:
        raise TopologyError(f"{place}.{key}: must be from {least:g} to {most:g}")
    return value


def _whole(
    tree: Tree, key: str, place: str, least: int, most: int, default: int | None = None
) -> int:
    """A whole number below `key`, from `least` to `most`."""
    value = tree.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TopologyError(f"{place}.{key}: must be a whole number")
    if not least <= value <= most:
        raise TopologyError(f"{place}.{key}: must be from {least} to {most}")
    return value
