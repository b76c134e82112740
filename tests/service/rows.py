"""A small stored world whose answers are known: an incast, then an uplink, and an idle flow."""

import json
from dataclasses import dataclass
from ipaddress import ip_address

import polars as pl

START_NS = 1_760_000_000_000_000_000
INTERVAL_NS = 10_000_000
INTERVALS = 20
NANO = 1_000_000_000
GBPS = 1_000_000_000


@dataclass(frozen=True)
class Hop:
    node: int
    port: int
    device: str
    interface: str
    stage: str
    orientation: str
    peer: str


HOPS = (
    Hop(1, 9, "leaf1", "Ethernet48", "tor", "up", "spine1"),
    Hop(11, 2, "spine1", "Ethernet8", "spine", "down", "leaf2"),
    Hop(2, 1, "leaf2", "Ethernet4", "tor", "host", "leaf2-h1"),
)
SRC, DST = "10.0.1.{}", "10.0.2.1"
FLOWS = 4
"""Flows 1 to 3 meet at leaf2 Ethernet4, later at leaf1 Ethernet48; flow 4 is idle."""


def words(address: str) -> tuple[int, int]:
    number = int(ip_address(address))
    number += 0xFFFF_0000_0000 if ip_address(address).version == 4 else 0
    return number >> 64, number & (2**64 - 1)


def key(flow: int) -> dict[str, object]:
    src_hi, src_lo = words(SRC.format(flow))
    dst_hi, dst_lo = words(DST)
    return {
        "tenant": "",
        "vrf": "",
        "vni": None,
        "src_hi": src_hi,
        "src_lo": src_lo,
        "dst_hi": dst_hi,
        "dst_lo": dst_lo,
        "sport": 40000 + flow,
        "dport": 5001,
        "protocol": 6,
    }


def flow_hash(flow: int) -> int:
    return 2**63 + 1000 + flow


def load(hop: int, interval: int, flow: int) -> float:
    """Hop load u' of hop 0, 1, 2 in an interval: the last hop is full first, then the uplink."""
    if flow == FLOWS:
        return 0.2
    first_half = interval < INTERVALS // 2
    return (0.7, 0.6, 1.3)[hop] if first_half else (1.4, 0.6, 0.9)[hop]


def frames() -> dict[str, pl.DataFrame]:
    """Rows of every table."""
    cells = [
        (START_NS + i * INTERVAL_NS, i, flow)
        for i in range(INTERVALS)
        for flow in range(1, FLOWS + 1)
    ]
    return {
        "flows": pl.DataFrame([_flow(flow) for flow in range(1, FLOWS + 1)]),
        "hops": pl.DataFrame([_hop(hop) for hop in HOPS]),
        "hosts": pl.DataFrame([*map(_host, range(1, FLOWS + 1)), _rack()]),
        "hop_intervals": pl.DataFrame(
            [_hop_interval(hop, *cell) for cell in cells for hop in range(3)]
        ),
        "flow_intervals": pl.DataFrame([_flow_interval(*cell) for cell in cells]),
        "telemetry_health": pl.DataFrame([*map(_finding, range(INTERVALS))]),
        "verdicts": pl.DataFrame([_verdict(*cell) for cell in cells]),
    }


def _finding(interval: int) -> dict[str, object]:
    """leaf2 changes locators, which is sure from the second interval on."""
    return {
        "time_ns": START_NS + interval * INTERVAL_NS,
        "interval_ns": INTERVAL_NS,
        "kind": "device",
        "subject": "leaf2",
        "finding": "locator_without_signal",
        "class": "device",
        "verdict": "yes" if interval else "cannot_tell",
        "count": 5 * (interval + 1),
        "evidence": '{"first": {"frame": 7, "source": "a.pcap", "time_ns": 1}, "frames": 5}',
        "tells": "",
        "revision": 1,
    }


def _host(number: int) -> dict[str, object]:
    """A sender, whose site is told."""
    return {
        "prefix": f"{SRC.format(number)}/32",
        "valid_from_ns": 0,
        "topology": "v1",
        "host": f"leaf1-h{number}",
        "device": "leaf1",
        "interface": f"Ethernet{number}",
        "site": "east",
    }


def _rack() -> dict[str, object]:
    """The receivers, by a prefix alone; their site is not told."""
    told = {
        "prefix": "10.0.2.0/24",
        "host": "rack2",
        "device": "leaf2",
        "interface": "",
        "site": "",
    }
    return _host(0) | told


def _flow(flow: int) -> dict[str, object]:
    return {
        "flow": flow_hash(flow),
        **key(flow),
        "conversation": flow,
        "direction": 0,
        "first_ns": START_NS,
        "last_ns": START_NS + INTERVALS * INTERVAL_NS - 1,
        "cc": "hpcc",
    }


def _hop(hop: Hop) -> dict[str, object]:
    return {
        "node": hop.node,
        "port": hop.port,
        "valid_from_ns": 0,
        "topology": "v1",
        "device": hop.device,
        "interface": hop.interface,
        "stage": hop.stage,
        "orientation": hop.orientation,
        "capacity_bps": 10 * GBPS,
        "peer_device": hop.peer,
        "peer_interface": "",
    }


def _hop_interval(hop: int, time: int, i: int, flow: int) -> dict[str, object]:
    u = load(hop, i, flow)
    return {
        "time_ns": time,
        "interval_ns": INTERVAL_NS,
        "flow": flow_hash(flow),
        "point": "leaf1:Ethernet1",
        "node": HOPS[hop].node,
        "port": HOPS[hop].port,
        "hop_index": hop,
        "source": "int",
        "samples": 10,
        "u_sum_n": round(10 * u * NANO),
        "u_max_n": round(1.2 * u * NANO),
        "queue_sum_bytes": round(10 * 50_000 * u),
        "queue_max_bytes": round(90_000 * u),
    }


def _flow_interval(time: int, i: int, flow: int) -> dict[str, object]:
    u = max(load(hop, i, flow) for hop in range(3))
    return {
        "time_ns": time,
        "interval_ns": INTERVAL_NS,
        "flow": flow_hash(flow),
        "point": "leaf1:Ethernet1",
        "frames": 100,
        "bytes": 150_000,
        "data_bytes": 140_000,
        "acks": 50,
        "acked_bytes": 140_000,
        "marked_bytes": 14_000,
        "ce_frames": 10,
        "decisions": 50,
        "U": u,
        "W": 60_000 / u,
        "Wc": 58_000 / u,
        "R": 4e9 / u,
        "alpha": None,
        "inflight_bytes": 50_000,
        "aecn_samples": 0,
    }


def _verdict(time: int, i: int, flow: int) -> dict[str, object]:
    at = max(range(3), key=lambda hop: load(hop, i, flow))
    hop, u = HOPS[at], load(at, i, flow)
    idle = flow == FLOWS
    kind = "sender_limited" if idle else ("incast" if at == 2 else "uplink")
    evidence = {
        "signal": "int",
        "name": "hop load u'",
        "value": u,
        "unit": "ratio",
        "samples": 10,
        "point": "leaf1:Ethernet1",
    }
    candidate = {
        "signal": "int",
        "node": hop.node,
        "port": hop.port,
        "device": hop.device,
        "interface": hop.interface,
        "u_mean": u,
        "probability": 0.9,
        "samples": 10,
    }
    return {
        "time_ns": time,
        "interval_ns": INTERVAL_NS,
        "flow": flow_hash(flow),
        **key(flow),
        "kind": kind,
        "node": hop.node,
        "port": hop.port,
        "device": hop.device,
        "interface": hop.interface,
        "stage": hop.stage,
        "orientation": hop.orientation,
        "capacity_bps": 10 * GBPS,
        "u_mean": u,
        "u_max": 1.2 * u,
        "queue_mean_bytes": 50_000 * u,
        "samples": 10,
        "confidence": 0.9,
        "completeness": 1.0,
        "plausibility": [],
        "reroute_helps": "no" if at == 2 or idle else "yes",
        "contributors": 0 if idle else 3,
        "candidates": json.dumps([candidate]),
        "evidence": json.dumps([evidence]),
        "topology": "v1",
        "revision": 0,
    }
