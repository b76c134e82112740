"""What a topology is made of: devices, their egress ports, end hosts, tenants and taps."""

from dataclasses import dataclass

from pipeline.csig_profile import Csig


@dataclass(frozen=True, slots=True)
class Device:
    """One device; telemetry names it by `node_id`. None and empty: not known.

    `csig` is its part in CSIG, `marks_ecn` whether its queues mark. `queue_unit_bytes` is the unit
    of queue occupancy that its INT reports. `t_ns` is the T of its own that Advanced ECN's inflight
    ratio is measured by. `base_delay_ns` is that of its ports which tell none of their own.
    """

    name: str
    node_id: int
    stage: str = ""
    site: str = ""
    csig: Csig | None = None
    marks_ecn: bool | None = None
    queue_unit_bytes: int | None = None
    t_ns: int | None = None
    base_delay_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Interface:
    """One egress port; telemetry names it by (`node_id`, `port_id`).

    `peer_interface` is empty where the peer is a host; a `capacity_bps` of 0 is unknown.
    `base_delay_ns` is what a packet takes through the device to the line when no queue is there;
    None where it is not known.
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
    base_delay_ns: int | None = None

    @property
    def hop(self) -> tuple[int, int]:
        """Node and port id, as telemetry names the hop."""
        return self.node_id, self.port_id


@dataclass(frozen=True, slots=True)
class Host:
    """An end host: its addresses and the port that it hangs on; a `nic_bps` of 0 is unknown.

    `tenant` owns the addresses, empty: they are the fabric's own. `site` is the host's own, empty:
    its device's.
    """

    name: str
    prefixes: tuple[str, ...]
    device: str
    interface: str
    nic_bps: int
    tenant: str = ""
    site: str = ""


@dataclass(frozen=True, slots=True)
class Tenant:
    """Who owns addresses, and the routing instances and virtual networks that carry them."""

    name: str
    vrfs: tuple[str, ...] = ()
    vnis: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """An observation point by its name in the column `point`; empty and None: not known.

    `side` is ingress or egress of the interface, `snaplen` the octets kept of a frame, `sampling`
    the frames of which one is seen, `clock_bound_ns` how far its clock may be off.
    """

    name: str
    device: str = ""
    interface: str = ""
    side: str = ""
    snaplen: int | None = None
    sampling: int | None = None
    clock_bound_ns: int | None = None


@dataclass(frozen=True, slots=True)
class SiteRtt:
    """Round trip without queues between two sites, either way; one site twice: within it."""

    sites: tuple[str, str]
    base_rtt_ns: int
