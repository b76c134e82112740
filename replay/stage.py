"""The stage: a world's script laid out as the records that the compiled loop reads."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from collector import CollectorSettings
from pipeline import dctcp, hop_record, hpcc, swift
from replay import wiring
from replay.carriage import NAMES
from replay.control import NEVER
from replay.event import HEAP
from replay.layout import HPCC_BYTES, HPCC_QUEUE, Layouts
from replay.rogue import HONEST, code
from replay.state import (
    BIN_NS,
    BUCKETS,
    COUNTERS,
    DECISION,
    FLOW,
    HOPS,
    HOST,
    HPCC_INT,
    INT,
    NONE,
    PACKET,
    PATH,
    PHASE,
    PORT,
    RECEIVER_NS,
    ROCE,
    RULES,
    SIGNALS,
    SWITCH_NS,
    TELEMETRIES,
    State,
)  # fmt: skip
from replay.world import OVERLAYS, TELEMETRY, FlowScript, Phase, World

SPREAD_NS = 200_000
"""Flows that the script starts together start within this time of each other."""
COMPACT_LIMIT, EXPANDED_LIMIT = BUCKETS - 1, (1 << 20) - 1
"""Largest S of a tag (draft-ravi-ippm-csig-00, section 4)."""
TAGS = ("csig_compact", "csig_expanded")
"""Telemetry that Swift's senders read."""
QUEUES = ("one", "strict", "dwrr")
"""How ports serve classes, in the order of the simulator's codes."""
STOPPED, GREEDY = -1, 0
RECEIVE_WINDOW = 65535 << 2
"""Bytes that receivers advertise: a sender that its application limits does not burst beyond."""
ROOM = 1.1
"""Room for packets beyond what the receivers' links carry: those under way."""


def build(world: World, settings: CollectorSettings, order: Sequence[int]) -> State:
    """All state at time 0; flow row `i` is `world.flows[order[i]]`, hosts' flows side by side."""
    layouts = Layouts(settings)
    flows, phases, paths = cast_flows(world, [world.flows[row] for row in order])
    flows["around"] = [
        layouts.tunnel_octets(int(flow["form"]), int(flow["tunnel"])) if flow["tunnel"] else 0
        for flow in flows
    ]
    ports = cast_ports(world)
    links = {flow.dst: world.bps_of(flow.dst) for flow in world.flows}
    if world.lossy:  # what is sent again is not what receivers' links carry
        links |= {flow.src: world.bps_of(flow.src) for flow in world.flows}
    frames = int(sum(links.values()) * world.duration_ns / 8e9 / world.payload_bytes * ROOM) + 1000
    return State(
        heap=np.zeros(1, HEAP)[0],
        rules=rules(world, settings, layouts),
        ports=ports,
        hosts=cast_hosts(world, flows),
        flows=flows,
        phases=phases,
        paths=paths,
        packets=np.zeros(2 * frames, PACKET),
        decisions=np.zeros(frames, DECISION),
        hpcc=hpcc.state(len(flows)),
        links=hop_record.links(len(flows)),
        dctcp=dctcp.state(len(flows)),
        swift=swift.state(len(flows)),
        hpcc_parameters=hpcc.record({"T_ns": world.base_rtt_ns, **world.hpcc}),
        dctcp_parameters=dctcp.record({"mss": world.payload_bytes, **world.dctcp}),
        swift_parameters=swift.record({"packet_bytes": world.payload_bytes, **world.swift}),
        counters=np.zeros((COUNTERS, -(-world.duration_ns // BIN_NS), len(ports)), np.int64),
    )


def rules(world: World, settings: CollectorSettings, layouts: Layouts) -> np.void:
    """What holds for the whole fabric.

    INT of the HPCC simulator counts in units, and senders decide by what they are told.
    """
    carried = {TELEMETRY.index(flow.telemetry) for flow in world.flows}
    made: np.void = np.zeros(1, RULES)[0]
    for name in ("base_rtt_ns", "buffer_bytes", "payload_bytes"):
        made[name] = getattr(world, name)
    made["switch_ns"] = SWITCH_NS
    made["qlen_unit"] = made["tx_unit"] = 1
    if HPCC_INT in carried and not carried & {INT, ROCE}:
        made["qlen_unit"], made["tx_unit"] = HPCC_QUEUE, HPCC_BYTES
    made["hop_octets"] = [layouts.hop_octets(telemetry) for telemetry in range(TELEMETRIES)]
    made["sink_octets"] = layouts.sink_octets
    made["octets"] = [
        layouts.first_octets(world.payload_bytes, hops, carried) for hops in range(HOPS + 1)
    ]
    made["buckets"] = buckets(settings)
    made["lossy"] = world.lossy
    made["queues"] = QUEUES.index(world.queues)
    made["quanta"] = [settings.csig_quanta[t] for t in range(SIGNALS)]
    made["initial"] = [[COMPACT_LIMIT, COMPACT_LIMIT, 0], [EXPANDED_LIMIT, EXPANDED_LIMIT, 0]]
    return made


def buckets(settings: CollectorSettings) -> NDArray[np.float64]:
    """Lower edges of compact buckets by signal type, at most 32, padded with infinity."""
    edges = np.full((SIGNALS, BUCKETS), np.inf)
    for t in range(SIGNALS):
        row = settings.csig_buckets[t][:BUCKETS]
        edges[t, : len(row)] = row
    return edges


def cast_ports(world: World) -> NDArray[np.void]:
    """Egress ports, idle since time 0; links to hosts have no length (see fabric).

    ValueError when `World.rogues` or `World.failures` names a port or a class that there is not.
    """
    failing = failing_ports(world)
    breaks = {port: code(kind) for port, kind in world.rogues.items()}
    interfaces = wiring.interfaces(world)
    ports = np.zeros(len(interfaces), PORT)
    for port, interface in zip(ports, interfaces, strict=True):
        port.node_id = interface.node_id
        port.port_id = interface.port_id
        port.lm = interface.csig_lm or 0
        port.lm_compact = interface.csig_lm_compact or 0
        port.edge = interface.orientation == "host"
        port.rogue = breaks.pop(f"{interface.device}:{interface.name}", HONEST)
        port.bps = port.told_bps = interface.capacity_bps
        port.abw_bps = interface.capacity_bps
        port.prop_ns = 0 if port.edge else world.link_ns
        port.head[:] = port.tail[:] = -1
        port.down_ns = failing.pop(f"{interface.device}:{interface.name}", NEVER)
    ports["mark_bytes"] = world.mark_bytes
    ports["room_bytes"] = world.buffer_bytes if world.tail_drop else NEVER
    if failing:
        raise ValueError(f"failures: the fabric has no port {min(failing)}")
    if breaks:
        raise ValueError(f"rogues: the fabric has no port {min(breaks)}")
    return ports


def failing_ports(world: World) -> dict[str, int]:
    """When each port fails: those of `World.failures`, and those at the other ends of links."""
    peers = {f"{port.device}:{port.name}": f"{port.peer_device}:{port.peer_interface}"
             for port in wiring.interfaces(world) if port.peer_interface}  # fmt: skip
    behind = {peers[name]: at for name, at in world.failures.items() if name in peers}
    return {**behind, **world.failures}


def cast_flows(
    world: World, scripts: Sequence[FlowScript]
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void]]:
    """Flows with their phases and the paths that these take."""
    names = {name: row for row, name in enumerate(world.host_names())}
    random = np.random.default_rng(world.seed)
    flows = np.zeros(len(scripts), FLOW)
    phases = np.zeros(sum(len(script.phases) for script in scripts), PHASE)
    paths = np.zeros(len(phases), PATH)
    used = 0
    for flow, script in zip(flows, scripts, strict=True):
        carriage = NAMES[script.telemetry]
        flow.kind, flow.form = carriage.acts, TELEMETRY.index(script.telemetry)
        flow.tunnel = OVERLAYS.index(script.overlay)
        flow.established = carriage.transport != "tcp"
        flow.swift = script.swift and script.telemetry in TAGS
        flow.urgent = script.urgent
        flow.ecn = carriage.acts not in (INT, NONE) and not flow.swift
        flow.src, flow.dst = names[script.src], names[script.dst]
        flow.start_ns = script.phases[0].at_ns + random.integers(SPREAD_NS)
        flow.payload, flow.window = world.payload_bytes, RECEIVE_WINDOW
        if script.drain_bps:
            flow.drain_bps, flow.socket_bytes = script.drain_bps, world.socket_bytes
            flow.window = world.socket_bytes
        flow.t_ns, flow.answer_ns = world.base_rtt_ns, RECEIVER_NS
        flow.nic_bps = world.bps_of(script.src)
        flow.random = random.integers(1 << 62)
        flow.rotation = random.integers(SIGNALS)
        flow.phases = flow.phase = flow.path = used
        for phase in script.phases:
            rate = phase.rate_bps
            phases[used].at_ns = phase.at_ns
            phases[used].rate_bps = GREEDY if rate is None else rate or STOPPED
            phases[used].path = used
            phases[used].limit = NEVER
            lay_path(paths[used], world, (int(flow.src), int(flow.dst)), phase)
            used += 1
        flow.phases_end = used
    share_paths(phases, paths)
    return flows, phases, paths


def lay_path(path: np.void, world: World, ends: tuple[int, int], phase: Phase) -> None:
    """Write the ports of a path in both directions; acknowledgments return by the same switches."""
    src, dst = ends
    by = phase.spine, phase.core
    forward, back = wiring.route(world, src, dst, *by), wiring.route(world, dst, src, *by)
    path["hops"] = len(forward)
    path["port"][0, : len(forward)] = forward
    path["port"][1, : len(back)] = back


def share_paths(phases: NDArray[np.void], paths: NDArray[np.void]) -> None:
    """Give phases with the same path the same row: staying on a path is no change of path."""
    first: dict[bytes, int] = {}
    for phase in phases:
        phase["path"] = first.setdefault(paths[phase["path"]].tobytes(), int(phase["path"]))


def cast_hosts(world: World, flows: NDArray[np.void]) -> NDArray[np.void]:
    """Hosts with the flows that they send."""
    names = world.host_names()
    hosts = np.zeros(len(names), HOST)
    hosts["bps"] = [world.bps_of(name) for name in names]
    hosts["cpu_bps"] = [world.cpu_bps.get(name, 0) for name in names]
    hosts["wake_ns"] = NEVER
    hosts["head"] = hosts["tail"] = -1
    hosts["first"] = np.searchsorted(flows["src"], np.arange(len(names)))
    hosts["count"] = np.bincount(flows["src"], minlength=len(names))
    return hosts
