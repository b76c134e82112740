"""Figure 5 of draft-ravi-ippm-csig-00: three signals, three bottlenecks on one path, one headline.

The ports differ in capacity, so that the one with the least bandwidth left is not the one with the
least share of it, and neither is the one whose packets wait longest. Every packet is tagged by the
draft's rules (5.4: quantise, then compare and replace), written as octets and read again.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from struct import pack

import numpy as np
import polars as pl

from collector import CollectorSettings, Decoder, Frames
from pipeline import PipelineSettings, Topology, Worker

GBPS = 10**9
PORTS = {
    # device: (capacity, available bandwidth, delay a hop in ns)
    "leaf1": (10 * GBPS, 3 * GBPS, 2_000),
    "spine1": (100 * GBPS, 20 * GBPS, 3_000),
    "leaf2": (40 * GBPS, 12 * GBPS, 60_000),
}
BOTTLENECK = {"csig_abw": "leaf1", "csig_utilization": "spine1", "csig_delay": "leaf2"}
"""Least bandwidth left, least share of it left, longest wait."""
ABW, RATIO, DELAY = range(3)
EXPANDED = 0x9901
PACKETS = 90
STEP_NS = 10_000
SETTINGS = CollectorSettings(csig_expanded_tpids=(EXPANDED,))


def along(path: Topology, kind: int) -> tuple[int, int]:
    """S and LM of a packet at the end of the path."""
    largest = kind == DELAY
    value, locator = 0 if largest else (1 << 20) - 1, 0
    for device, (capacity, left, delay) in PORTS.items():
        own = int((left, left / capacity, delay)[kind] / SETTINGS.csig_quanta[kind])
        if own > value if largest else own < value:
            value, locator = own, lm_of(path, device)
    return value, locator


def lm_of(path: Topology, device: str) -> int:
    """Locator of the port that the path leaves a device by."""
    name = "host" if device == "leaf2" else "on"
    (port,) = (i for i in path.interfaces if (i.device, i.name) == (device, name))
    assert port.csig_lm is not None
    return port.csig_lm


def frame(path: Topology, number: int) -> bytes:
    """A packet with 1000 octets of payload; the types of signals take turns."""
    kind = number % 3
    value, locator = along(path, kind)
    tag = pack("!HHI", EXPANDED, locator, kind << 28 | value << 8)
    ip = pack("!BBHHHBBH4s4s", 0x45, 0, 1040, number, 0, 64, 6, 0, bytes([10, 1, 0, 1]),
              bytes([10, 2, 0, 1]))  # fmt: skip
    tcp = pack("!HHIIBBHHH", 1000, 2000, number * 1000, 1, 5 << 4, 16, 65535, 0, 0)
    return bytes(12) + tag + pack("!H", 0x0800) + ip + tcp + bytes(1000)


def capture(path: Topology) -> Frames:
    """The packets as a tap behind the last port saw them."""
    octets = [frame(path, number) for number in range(PACKETS)]
    sizes = np.array([len(each) for each in octets], np.int32)
    return Frames(
        data=np.frombuffer(b"".join(octets), np.uint8),
        offset=np.cumsum(sizes, dtype=np.int64) - sizes,
        captured=sizes,
        length=sizes,
        time_ns=np.arange(PACKETS, dtype=np.int64) * STEP_NS,
        link=np.ones(PACKETS, np.uint16),
        interface=np.zeros(PACKETS, np.uint16),
        first=1,
    )


def test_three_signals_name_three_ports_and_there_is_one_headline(
    chain_of: Callable[..., Topology],
) -> None:
    made = chain_of(*PORTS)
    fitted = (replace(port, capacity_bps=PORTS[port.device][0]) for port in made.interfaces)
    path = replace(made, interfaces=tuple(fitted), base_rtt_ns=30_000)
    rows = Decoder(SETTINGS).decode(capture(path), ["leaf2:host"], "figure 5")
    assert rows["csig_variant"].count() == PACKETS
    worker = Worker(PipelineSettings(interval_ms=1.0), path, ("figure 5",))
    parts = [worker.advance(rows), worker.finish()]
    verdicts = pl.concat(part.tables["verdicts"] for part in parts if "verdicts" in part.tables)
    (row,) = verdicts.to_dicts()
    named: dict[str, str] = {}
    for hop in json.loads(row["candidates"]):
        named.setdefault(hop["signal"], hop["device"])
    assert {signal: named[signal] for signal in BOTTLENECK} == BOTTLENECK
    assert named["headline"] == row["device"] == "leaf2"
    assert row["kind"] == "last_hop_elephant"
    assert row["confidence"] > 0.9
