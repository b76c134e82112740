"""A topology as the text of its file."""

from collections.abc import Mapping
from typing import Any

import yaml

from pipeline.csig_file import csig_text
from pipeline.interface import Device, Interface
from pipeline.topology_key import DEVICE, HOST, INTERFACE, POINT, TENANT
from pipeline.topology_value import written
from pipeline.unit import MICROSECOND

DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""YAML's safe writer, the compiled one where there is one."""


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
