"""What the telemetry of one frame says in words: hops by name, signals in their units."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from collector import HOPS, CollectorSettings, Decoder
from pipeline import Topology
from service.dissection import Found
from service.text import number

SIGNALS = {0: ("min(ABW)", "bit/s"), 1: ("min(ABW/C)", "of the capacity"), 2: ("max(PD)", "ns")}
"""CSIG signal types, as draft-ravi-ippm-csig-00 5.1 numbers them, with the unit of their values."""
ENDS = {"csig": "CSIG tag", "csig_echo": "CSIG reflection"}
TOLD = {"qlen_bytes": "bytes queued", "latency_ns": "ns in the hop", "b_bps": "bit/s line rate"}
"""What is told of a hop of a stack, in the units of observations."""
AECN = {"aecn_u": "inflight ratio", "aecn_congested_hops": "congested hops"}


def meanings(found: Found, settings: CollectorSettings, topology: Topology | None) -> list[str]:
    """Sentences of a frame's telemetry, by the topology in force then; none of most frames."""
    own = found.frames.part(found.row, found.row + 1)
    points = [found.point] * (int(own.interface[0]) + 1)
    seen = Decoder(settings).decode_plainly(own, points, "")
    return [said for row in seen.iter_rows(named=True) for said in sentences(row, topology)]


def sentences(row: Mapping[str, Any], topology: Topology | None) -> Iterator[str]:
    """Of each tag and reflection, each hop of a stack, and Advanced ECN."""
    for prefix, name in ENDS.items():
        kind, low = row.get(f"{prefix}_t"), row.get(f"{prefix}_low")
        if kind in SIGNALS and low is not None:
            signal, unit = SIGNALS[kind]
            value = between(low, row.get(f"{prefix}_high"))
            yield f"{name}: {signal} {value} {unit}, locator: {located(row, prefix, topology)}"
    for hop in range(HOPS):
        if row.get(f"h{hop}_node") is not None:
            place = hop_name(row[f"h{hop}_node"], row.get(f"h{hop}_port"), topology)
            values = [(row.get(f"h{hop}_{name}"), unit) for name, unit in TOLD.items()]
            words = ", ".join(f"{number(told)} {unit}" for told, unit in values if told is not None)
            yield f"stack, hop {hop}: {place}" + (f": {words}" if words else "")
    told = {name: row.get(key) for key, name in AECN.items()}
    words = ", ".join(
        f"{name} {number(value)}" for name, value in told.items() if value is not None
    )
    if words:
        yield f"Advanced ECN: {words}"


def between(low: float, high: float | None) -> str:
    """A value that is known by the ends of its bucket."""
    if high is None:
        return f"from {number(low)}"
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def located(row: Mapping[str, Any], prefix: str, topology: Topology | None) -> str:
    """The ports that a locator names, or the raw locator."""
    lm = row.get(f"{prefix}_lm")
    if topology is None:
        return f"{lm}, of which no topology tells"
    variant, kind = row[f"{prefix}_variant"], row[f"{prefix}_t"]
    here = (pl.col("variant") == variant) & (pl.col("t") == kind) & (pl.col("lm") == lm)
    ports = topology.locators.filter(here).select("node", "port").rows()
    if not ports:
        return f"{lm}, which is none of a port"
    return " or ".join(hop_name(node, port, topology) for node, port in ports)


def hop_name(node: int, port: int | None, topology: Topology | None) -> str:
    """A hop by the topology's names, or its raw ids."""
    raw = f"node {node} port {'not told' if port is None else port}"
    if topology is None:
        return raw
    here = (pl.col("node") == node) & pl.col("port").is_in([] if port is None else [port])
    names = topology.frame.filter(here).select("device", "interface").rows()
    return " ".join(names[0]) if names else f"{raw}, which the topology lacks"
