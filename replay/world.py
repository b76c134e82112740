"""A world: a leaf-spine or 5-stage Clos and the script of its flows, before anything happened."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

GBPS = 1_000_000_000
MS = 1_000_000

Telemetry = Literal[
    "int", "csig_compact", "csig_expanded", "aecn", "ecn", "none",
    "ifa", "ioam", "int_sink", "int_reports",
    "int_1", "int_mx", "int_reports_1", "int_reports_05", "tcp_int", "int_roce", "hpcc_int",
    "accecn",
]  # fmt: skip
TELEMETRY: tuple[Telemetry, ...] = get_args(Telemetry)
"""What a flow's data carries, in the order of the simulator's codes.

`int` flows run HPCC++, the others DCTCP: `ecn` flows with marks alone, `none` flows, whose packets
are not even ECN capable, up to the window that their receivers advertise. `ifa` and `ioam` flows
carry stacks that their receivers see; of `int_sink` flows the first leaf inserts INT, and the last
one strips it and reports it; of `int_reports` flows every switch reports each packet of data.

Others of their kind: `int_1` is INT 1.0, seen by receivers; of `int_mx` flows every switch reports,
because the data asks for it; `int_reports_1` and `int_reports_05` are reports of older versions;
`tcp_int` tells of the worst hop in a TCP option, and echoes it; `int_roce` is INT over RoCEv2,
`hpcc_int` that of the HPCC authors' simulator, both with HPCC++; `accecn` counts marks (RFC 9768).
"""
Overlay = Literal["none", "vxlan", "geneve", "gre"]
OVERLAYS: tuple[Overlay, ...] = get_args(Overlay)
"""Tunnels in which hosts may put what they send."""


SIDE = 0
"""Spine of a phase that goes from leaf to leaf."""


@dataclass(frozen=True, slots=True)
class Phase:
    """From `at_ns` on a flow offers `rate_bps` by way of a spine, and of a core to another pod.

    None is all that congestion control lets through, 0 is nothing. Spines of a pod and cores of a
    plane count from 1; within a rack none is used.
    """

    at_ns: int
    rate_bps: int | None = None
    spine: int = 1
    core: int = 1


@dataclass(frozen=True, slots=True)
class FlowScript:
    """One flow: who sends to whom, with which telemetry, in which role, and what it does when.

    Hosts are named "leaf2-h3". The first phase begins with the handshake.
    """

    role: str
    telemetry: Telemetry
    src: str
    dst: str
    phases: tuple[Phase, ...]
    steady: bool = True
    """False: its phases are bursts, which is how it is, not changes that the script makes."""
    swift: bool = False
    """Its sender runs Swift by what CSIG reflects, not DCTCP, and is not ECN capable."""
    urgent: bool = False
    """Its data is of the class that `World.queues` serves first or more."""
    overlay: Overlay = "none"
    """Its hosts put its packets into a tunnel; switches read and write what stands outside."""
    drain_bps: int | None = None
    """Its receiver's application reads no faster from the socket; none: all at once."""


@dataclass(frozen=True, slots=True)
class World:
    """A fabric and its flows. Links of a kind are equal unless `nic_bps` names a host.

    With one pod it is a leaf-spine. With more, `leaves` are shared out among them, each pod has
    `spines` of its own, and `cores` join the spines of one number in all pods: a 5-stage Clos.
    `mark_bytes` is K of the step marking (RFC 8257 section 3.1), `base_rtt_ns` the T of HPCC++ and
    of u'; `transitions` are the times at which the script changes the traffic.
    """

    flows: tuple[FlowScript, ...]
    duration_ns: int
    seed: int = 1
    leaves: int = 4
    spines: int = 2
    pods: int = 1
    cores: int = 0
    hosts_per_leaf: int = 6
    host_bps: int = 10 * GBPS
    link_bps: int = 10 * GBPS
    core_bps: int = 10 * GBPS
    nic_bps: Mapping[str, int] = field(default_factory=dict)
    cpu_bps: Mapping[str, int] = field(default_factory=dict)
    """Hosts that hand data to their NICs at a lower rate than these send."""
    side_bps: int = 0
    """Rate of links between each two leaves of a pod, taken by phases whose spine is `SIDE`."""
    socket_bytes: int = 64_000
    """What a socket holds of data that its application has not read."""
    rogues: Mapping[str, str] = field(default_factory=dict)
    """Ports ("leaf1:Ethernet7") that break the rules of CSIG, and how: a name of `rogue.ROGUES`."""
    queues: Literal["one", "strict", "dwrr"] = "one"
    """Of two classes, told apart by DSCP: in one queue; the urgent first; the urgent three of four
    octets. The DSCP of INT flows announces INT, and their shims tell their class."""
    tail_drop: bool = False
    """Ports drop what `buffer_bytes` does not hold; else no buffer is ever full."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Ports ("leaf1:Ethernet7") of links that fail, and when, ns: from then on both ends lose all
    that is sent there, until flows are routed elsewhere by their phases."""
    locators: Literal["port", "place"] = "port"
    """Compact CSIG tags name a port, or only its stage, orientation and capacity."""
    link_ns: int = 2_500
    base_rtt_ns: int = 30_000
    mark_bytes: int = 40_000
    buffer_bytes: int = 400_000
    payload_bytes: int = 4_000
    start_ns: int = 1_760_000_000 * 1_000_000_000
    """Receive time of virtual time 0, ns since 1970: the edge of every interval up to 1000 s."""
    hpcc: Mapping[str, float | int | str] = field(default_factory=lambda: {"N": 4})
    dctcp: Mapping[str, float | int | str] = field(default_factory=lambda: {"dialect": "linux"})
    swift: Mapping[str, float | int | str] = field(
        default_factory=lambda: {"delay_source": "least", "fs_range_ns": 0, "ramp": "abw_or_ai"}
    )
    """Parameters of the senders; T_ns, B_nic_bps, mss and packet_bytes follow from the world."""

    @property
    def transitions(self) -> tuple[int, ...]:
        """Times of the phases of all steady flows, ns of virtual time, ascending."""
        steady = (flow for flow in self.flows if flow.steady)
        return tuple(sorted({phase.at_ns for flow in steady for phase in flow.phases}))

    @property
    def lossy(self) -> bool:
        """Whether packets may be lost."""
        return self.tail_drop or bool(self.failures)

    @property
    def leaves_per_pod(self) -> int:
        """Leaves of each pod."""
        return self.leaves // self.pods

    def host_names(self) -> tuple[str, ...]:
        """All hosts, leaf by leaf."""
        return tuple(
            f"leaf{leaf}-h{host}"
            for leaf in range(1, self.leaves + 1)
            for host in range(1, self.hosts_per_leaf + 1)
        )

    def bps_of(self, host: str) -> int:
        """Rate of a host's link."""
        return self.nic_bps.get(host, self.host_bps)
