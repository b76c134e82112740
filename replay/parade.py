"""The parade of rogues: one leaf whose ports all break one rule, in traffic that shows each rule.

Both ends of every path are mirrored. Some flows stay in the leaf's rack, so that two taps have the
leaf alone between them.
"""

from dataclasses import replace

import numpy as np

from replay.fabric import Run
from replay.rogue import ROGUES
from replay.scenario import START, ends
from replay.world import GBPS, MS, FlowScript, Phase, Telemetry, World

LEAF = "leaf1"
FRAMES = 1_000
"""Frames through the leaf within which its class must be named."""
FINDINGS = {
    "pass_through": "pass_through",
    "impossible_locator": "unknown_locator",
    "constant_minimum": "constant_minimum",
    "foreign_locator": "foreign_locator",
    "locator_without_signal": "locator_without_signal",
    "tag_insertion": "tag_inserted",
    "under_reporting": "under_reporting",
}
"""How the health of the telemetry calls each class of `rogue.ROGUES`."""
QUIET = "leaf1-h1>leaf1-h2 leaf1-h3>leaf1-h2 leaf2-h2>leaf1-h2"
FULL = "leaf2-h1>leaf1-h4 leaf3-h1>leaf1-h4 leaf1-h5>leaf1-h4"


def parade(name: str, seed: int = 1, duration_ns: int = 6 * MS) -> World:
    """Quiet flows to leaf1-h2 and a crowd at leaf1-h4, with leaf1 of a class of `rogue.ROGUES`."""
    kinds: tuple[Telemetry, ...] = ("csig_compact", "csig_expanded", "ecn")
    quiet = tuple(
        FlowScript("quiet", kind, src, dst, (Phase(START, rate * GBPS // 40, 1 + row % 2),))
        for row, (src, dst) in enumerate(ends(QUIET))
        for rate, kind in enumerate(kinds, start=12 + seed % 5)
    )
    crowd: tuple[Telemetry, ...] = ("int", "csig_compact", "csig_expanded")
    full = tuple(
        FlowScript("full", crowd[(row + seed) % 3], src, dst, (Phase(START, spine=1 + row % 2),))
        for row, (src, dst) in enumerate(ends(FULL))
    )
    world = World(
        seed=seed, duration_ns=duration_ns, flows=(*quiet, *full), nic_bps={"leaf1-h4": 2 * GBPS}
    )
    ports = range(1, world.hosts_per_leaf + world.spines + 1)
    rogues = {f"{LEAF}:Ethernet{port}": name for port in ports if name != ROGUES[0]}
    return replace(world, rogues=rogues)


def until(run: Run, leaf: int = 0, frames: int = FRAMES) -> int:
    """Virtual time by which so many packets have left one of a leaf's ports for good, ns."""
    ports = {row for row, port in enumerate(run.interfaces) if port.device == f"leaf{leaf + 1}"}
    lines = np.array([[bool(ports & {int(p) for p in way[: path["hops"]]}) for way in path["port"]]
                      for path in run.paths])  # fmt: skip
    way = run.packets["kind"] & 1
    through = lines[run.packets["path"], way] & (run.packets["last_ns"] > 0)
    last = np.sort(run.packets["last_ns"][through])
    return int(last[min(frames, len(last)) - 1]) if len(last) else 0
