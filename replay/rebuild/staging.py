"""Staging: a scene laid out for the packet-by-packet simulator, played, and seen as by a tap.

What a run shows has the columns of sightings, so one measure is taken of both. Queues are counted
at each port, packet by packet: what waits behind a packet as it leaves, and how long it waited.
"""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline import dctcp, hop_record, hpcc, swift
from replay.control import NEVER
from replay.event import CAPACITY, HEAP
from replay.fabric import ROOM, play
from replay.rebuild.scene import DCTCP, HPCC, SWIFT, UNTOLD, Scene
from replay.stage import share_paths
from replay.state import (
    BIN_NS,
    COUNTERS,
    DATA,
    DECISION,
    ECN,
    FLOW,
    HOST,
    INT,
    KINDS,
    NONE,
    PACKET,
    PATH,
    PHASE,
    PORT,
    RULES,
    State,
)  # fmt: skip

NS, BITS = 1_000_000_000, 8
KIND = {HPCC: INT, DCTCP: ECN, SWIFT: ECN, UNTOLD: NONE}
PATIENCE_NS = 500_000
"""For so long a receiver waits for more segments before it acknowledges."""
MOST_PACKETS = 6_000_000
"""A scene of more is too long for memory: about half a kilobyte each."""
TRIES = 3
LONGER = 8
"""Times the captured time that a change may need to send what was offered."""


class TooLargeError(ValueError):
    """A scene that cannot be played: too many packets, or too many on the wire."""


class Played(NamedTuple):
    """What a run shows.

    `sends` and `acks` as in sightings; `passed` has a row a packet of data and port: flow,
    port, time_ns, octets, qlen_bytes, wait_ns; `dropped` counts packets that ports lost.
    """

    sends: pl.DataFrame
    acks: pl.DataFrame
    passed: pl.DataFrame
    dropped: int


def until_ns(scene: Scene) -> int:
    """When a run ends: where all offers are known, only once all is sent, or after long enough."""
    endless = scene.flows["total"].null_count() > 0
    return scene.duration_ns if endless else LONGER * scene.duration_ns


def played(scene: Scene) -> Played:
    """Play a scene to its end. Raises TooLargeError."""
    packets, end_ns = expected(scene), until_ns(scene)
    for _ in range(TRIES):
        if packets > MOST_PACKETS:
            raise TooLargeError(
                f"about {packets:,} packets: more than {MOST_PACKETS:,}; take a shorter part"
            )
        s = staged(scene, packets, end_ns)
        play(s, end_ns)
        if not s.heap.full:
            return shown(s, scene)
        if s.rules.packets <= len(s.packets) - ROOM:
            raise TooLargeError(
                f"more than {CAPACITY:,} packets are on the wire at once: links are too fast for"
                " such long ways"
            )
        packets *= 2
    raise TooLargeError(f"more than {packets:,} packets: take a shorter part")


def expected(scene: Scene) -> int:
    """About how many packets a scene makes, by what its last links carry and what is offered."""
    flows = scene.flows
    last = scene.ports["bps"].to_numpy()[flows["forward"].list.last().to_numpy()]
    payload = flows["payload"].to_numpy()
    seconds = np.maximum(scene.duration_ns - flows["start_ns"].to_numpy(), 0) / NS
    by_link = last * seconds / BITS / payload
    offered = (
        scene.offers.group_by("flow").agg(pl.col("limit").max()).sort("flow")["limit"].to_numpy()
    )
    by_port: dict[int, float] = {}
    whole = 0.0
    for port, most, own in zip(
        flows["forward"].list.last(), by_link, offered / payload, strict=True
    ):
        left = max(most, by_port.get(port, 0.0))
        by_port[port] = left
        whole += min(own, most)
    return 2 * round(min(whole, sum(by_port.values())) * 1.1) + 4 * flows.height + 1000


def staged(scene: Scene, packets: int, end_ns: int) -> State:
    """All state at time 0."""
    order = scene.flows.with_row_index("number").sort("src", "number", maintain_order=True)
    flows, phases, paths = flows_of(scene, order)
    given = scene.parameters
    largest = int(scene.flows["payload"].to_numpy().max())
    rules = np.zeros(1, RULES)[0]
    rules.base_rtt_ns = int(scene.flows["t_ns"].to_numpy().max())
    rules.payload_bytes, rules.buffer_bytes = largest, 1
    rules.lossy = scene.ports["room_bytes"].drop_nulls().len() > 0
    rules.quanta[:] = 1
    rules.qlen_unit, rules.tx_unit = scene.units
    count = len(flows)
    return State(
        heap=np.zeros(1, HEAP)[0],
        rules=rules,
        ports=ports_of(scene),
        hosts=hosts_of(scene, order),
        flows=flows,
        phases=phases,
        paths=paths,
        packets=np.zeros(packets, PACKET),
        decisions=np.zeros(packets, DECISION),
        hpcc=hpcc.state(count),
        links=hop_record.links(count),
        dctcp=dctcp.state(count),
        swift=swift.state(count),
        hpcc_parameters=hpcc.record(given.get(HPCC)),
        dctcp_parameters=dctcp.record({"mss": largest, **given.get(DCTCP, {})}),
        swift_parameters=swift.record({"packet_bytes": largest, **given.get(SWIFT, {})}),
        counters=np.zeros((COUNTERS, -(-end_ns // BIN_NS) + 1, scene.ports.height), np.int64),
    )


def ports_of(scene: Scene) -> NDArray[np.void]:
    """Egress ports, idle."""
    ports = np.zeros(scene.ports.height, PORT)
    table = scene.ports
    ports["bps"] = ports["abw_bps"] = table["line_bps"].to_numpy()
    ports["told_bps"] = table["bps"].to_numpy()
    ports["edge"] = table["edge"].to_numpy()
    ports["node_id"] = table["node"].fill_null(0).to_numpy()
    ports["port_id"] = (table["port"].fill_null(0) & 0xFFFF).to_numpy()
    ports["head"] = ports["tail"] = -1
    ports["down_ns"] = NEVER
    ports["mark_bytes"] = table["mark_bytes"].fill_null(NEVER).to_numpy()
    ports["room_bytes"] = table["room_bytes"].fill_null(NEVER).to_numpy()
    return ports


def hosts_of(scene: Scene, order: pl.DataFrame) -> NDArray[np.void]:
    """Hosts with the flows that they send, which lie side by side."""
    src = order["src"].to_numpy()
    hosts = np.zeros(scene.hosts.height, HOST)
    hosts["bps"] = scene.hosts["line_bps"].to_numpy()
    hosts["wake_ns"] = NEVER
    hosts["head"] = hosts["tail"] = -1
    hosts["first"] = np.searchsorted(src, np.arange(len(hosts)))
    hosts["count"] = np.bincount(src, minlength=len(hosts))
    return hosts


def flows_of(
    scene: Scene, order: pl.DataFrame
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void]]:
    """Flows in the order of their hosts, the phases of their offers, their ways."""
    count = order.height
    flows, paths = np.zeros(count, FLOW), np.zeros(count, PATH)
    place = np.argsort(order["number"].to_numpy())
    offers = scene.offers.with_columns(row=pl.Series(place).gather(scene.offers["flow"]))
    start = scene.flows.select("start_ns", flow=pl.int_range(pl.len(), dtype=pl.Int64))
    idle = offers.group_by("flow", "row").agg(pl.col("at_ns").min()).join(start, on="flow")
    idle = idle.filter(pl.col("at_ns") > pl.col("start_ns")).select(
        "flow", "row", at_ns="start_ns", limit=pl.lit(0, pl.Int64)
    )
    offers = pl.concat([offers.select(idle.columns), idle]).sort("row", "at_ns", "limit")
    phases = np.zeros(offers.height, PHASE)
    phases["at_ns"], phases["path"] = offers["at_ns"].to_numpy(), offers["row"].to_numpy()
    phases["limit"] = offers["limit"].to_numpy()
    rows = offers["row"].to_numpy()
    flows["phases"] = np.searchsorted(rows, np.arange(count))
    flows["phases_end"] = np.searchsorted(rows, np.arange(count), side="right")
    flows["phase"] = flows["phases"]
    flows["path"] = np.arange(count)
    for name in ("src", "dst", "start_ns", "payload", "window", "each", "t_ns"):
        flows[name] = order[name].to_numpy()
    for row, (flow, told) in enumerate(zip(flows, order.iter_rows(named=True), strict=True)):
        algorithm = told["algorithm"]
        flow.kind = flow.form = KIND[algorithm]
        flow.swift, flow.ecn = algorithm == SWIFT, algorithm == DCTCP
        flow.repaced = algorithm == HPCC
        flow.established = not told["handshake"]
        flow.nic_bps = scene.hosts["nic_bps"][told["src"]]
        flow.held, flow.patience_ns = -1, PATIENCE_NS
        flow.octets[:] = [told["data_octets"]] + [told["ack_octets"]] * (KINDS - 1)
        paths[row].hops = len(told["forward"])
        paths[row].port[0, : len(told["forward"])] = told["forward"]
        paths[row].port[1, : len(told["back"])] = told["back"]
        rest = told["base_ns"] - bare_ns(scene, told)
        flow.out_ns = max(rest, 0) // 2
        flow.back_ns = max(rest, 0) - flow.out_ns
    share_paths(phases, paths)
    flows["path"] = phases["path"][flows["phases"]]
    return flows, phases, paths


def bare_ns(scene: Scene, flow: dict[str, Any]) -> int:
    """What a full frame and its ACK take on the lines of their ways when these are empty."""
    ports, nics = scene.ports["line_bps"], scene.hosts["line_bps"]
    data = [nics[flow["src"]], *ports.gather(flow["forward"])]
    back = [nics[flow["dst"]], *ports.gather(flow["back"])]
    return sum(
        -(-int(flow[octets]) * BITS * NS // int(bps))
        for octets, lines in (("data_octets", data), ("ack_octets", back))
        for bps in lines
    )


def shown(s: State, scene: Scene) -> Played:
    """What taps at the hosts and ports would have seen."""
    order = scene.flows.with_row_index("number").sort("src", "number", maintain_order=True)
    number = order["number"].cast(pl.Int64).to_numpy()
    packets = s.packets[: s.rules.packets]
    data = packets[(packets["kind"] == DATA) & (packets["first_ns"] >= 0)]
    sends = pl.DataFrame({
        "flow": number[data["flow"]], "time_ns": data["first_ns"], "begin": data["seq"],
        "end": data["seq"] + data["payload"], "octets": data["size"],
    })  # fmt: skip
    made = s.decisions[: s.rules.decisions]
    heard = packets[made["packet"]]
    acks = pl.DataFrame({
        "flow": number[made["flow"]], "time_ns": made["time_ns"], "ack": made["ack"],
        "ece": heard["ece"] == 1,
    })  # fmt: skip
    highest = pl.col("end").cum_max().shift(1).over("flow", order_by="time_ns")
    sends = sends.sort("time_ns", maintain_order=True).with_columns(
        again=(pl.col("begin") < highest).fill_null(value=False)
    )
    parts = []
    for hop in range(int(s.paths["hops"].max())):
        there = data[data["hop"] > hop]
        parts.append(pl.DataFrame({
            "flow": number[there["flow"]], "port": s.paths["port"][there["path"], 0, hop],
            "time_ns": there["queued_ns"] if hop else there["first_ns"],
            "octets": there["size"], "qlen_bytes": there["qlen"][:, hop],
            "wait_ns": there["wait_ns"][:, hop].astype(np.int64),
        }))  # fmt: skip
    dropped = int(s.counters[COUNTERS - 1].sum())
    return Played(sends, acks, pl.concat(parts), dropped)
