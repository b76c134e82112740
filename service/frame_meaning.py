"""What the telemetry of one frame says in words: hops by name, signals in their units."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from collector import HOPS, CollectorSettings, Decoder
from pipeline import Topology
from service.dissection import Found
from service.text import duration, number, rate

Words = Callable[[float], str]


def capacity(value: float) -> str:
    """A share of a port's rate."""
    return f"{number(value)} of the capacity"


def exact(value: float) -> str:
    """A whole number, whatever its size."""
    return f"{value:,.12g}"


SIGNALS: dict[int, tuple[str, Words]] = {
    0: ("min(ABW)", rate), 1: ("min(ABW/C)", capacity), 2: ("max(PD)", duration),
}  # fmt: skip
"""CSIG signal types, as draft-ravi-ippm-csig-00 5.1 numbers them, with how values are told."""
ENDS = {"csig": "CSIG tag", "csig_echo": "CSIG reflection"}
TOLD: dict[str, tuple[Words, str]] = {
    "qlen_bytes": (exact, "bytes queued"), "latency_ns": (duration, "in the hop"),
    "b_bps": (rate, "line rate"),
}  # fmt: skip
"""What is told of a hop of a stack: its columns, how their values are written, and what follows."""
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
            signal, words = SIGNALS[kind]
            value = between(low, row.get(f"{prefix}_high"), words)
            yield f"{name}: {signal} {value}, locator: {located(row, prefix, topology)}"
    for hop in range(HOPS):
        if row.get(f"h{hop}_node") is not None:
            place = hop_name(row[f"h{hop}_node"], row.get(f"h{hop}_port"), topology)
            values = [(row.get(f"h{hop}_{name}"), *how) for name, how in TOLD.items()]
            said = ", ".join(f"{words(told)} {what}" for told, words, what in values
                             if told is not None)  # fmt: skip
            yield f"stack, hop {hop}: {place}" + (f": {said}" if said else "")
    told = {name: row.get(key) for key, name in AECN.items()}
    listed = ", ".join(
        f"{name} {number(value)}" for name, value in told.items() if value is not None
    )
    if listed:
        yield f"Advanced ECN: {listed}"


def between(low: float, high: float | None, words: Words) -> str:
    """A value that is known by the ends of its bucket."""
    if high is None:
        return f"from {words(low)}"
    return words(low) if low == high else f"{words(low)} to {words(high)}"


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
