"""The parade of rogues: a leaf or a spine whose ports all break one rule, in traffic that shows it.

Both ends of every path are mirrored. Some flows stay in the leaf's rack, so that two taps have the
leaf alone between them; a spine is alone with a leaf between taps above leaves and at hosts.
"""

from dataclasses import replace

import numpy as np

from replay.fabric import Run
from replay.rogue import ROGUES
from replay.scenario import START, ends
from replay.world import GBPS, MS, FlowScript, Phase, Telemetry, World

LEAF, SPINE = "leaf1", "spine1"
FRAMES = 1_000
"""Frames through the device within which its class must be named."""
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


ABOVE = "leaf2-h1>leaf1-h3 leaf3-h1>leaf1-h4 leaf4-h1>leaf1-h5 leaf5-h1>leaf1-h6"
"""Ways by the spine that fill its port to leaf1, and neither leaves nor receivers."""
ASIDE = "leaf6-h1>leaf3-h2 leaf7-h1>leaf4-h2 leaf7-h2>leaf3-h3 leaf6-h2>leaf4-h3 leaf6-h3>leaf2-h2"
"""Quiet ways, by both spines in turn: two of them by the spine's port to leaf3, which has room."""
KINDS: tuple[Telemetry, ...] = ("csig_compact", "csig_expanded", "ecn")
CROWD: tuple[Telemetry, ...] = ("int", "csig_compact", "csig_expanded")


def parade(name: str, seed: int = 1, duration_ns: int = 6 * MS) -> World:
    """Quiet flows to leaf1-h2 and a crowd at leaf1-h4, with leaf1 of a class of `rogue.ROGUES`."""
    quiet = quietly(QUIET, seed)
    full = tuple(
        FlowScript("full", CROWD[(row + seed) % 3], src, dst, (Phase(START, spine=1 + row % 2),))
        for row, (src, dst) in enumerate(ends(FULL))
    )
    world = World(
        seed=seed, duration_ns=duration_ns, flows=(*quiet, *full), nic_bps={"leaf1-h4": 2 * GBPS}
    )
    return planted(world, name, LEAF, world.hosts_per_leaf + world.spines)


def parade_above(name: str, seed: int = 1, duration_ns: int = 6 * MS) -> World:
    """Quiet flows by both spines and a crowd at the port to leaf1 of spine1, which is the rogue."""
    full = tuple(
        FlowScript("full", CROWD[(row + seed) % 3], src, dst, (Phase(START),))
        for row, (src, dst) in enumerate(ends(ABOVE))
    )
    flows = (*quietly(ASIDE, seed), *full)
    world = World(seed=seed, duration_ns=duration_ns, flows=flows, leaves=7, link_bps=4 * GBPS)
    return planted(world, name, SPINE, world.leaves)


def quietly(ways: str, seed: int) -> tuple[FlowScript, ...]:
    """Flows that fill nothing, of three kinds each way."""
    return tuple(
        FlowScript("quiet", kind, src, dst, (Phase(START, rate * GBPS // 40, 1 + row % 2),))
        for row, (src, dst) in enumerate(ends(ways))
        for rate, kind in enumerate(KINDS, start=12 + seed % 5)
    )


def planted(world: World, name: str, device: str, ports: int) -> World:
    """The world with all ports of a device of a class."""
    numbers = range(1, ports + 1)
    rogues = {f"{device}:Ethernet{port}": name for port in numbers if name != ROGUES[0]}
    return replace(world, rogues=rogues)


def until(run: Run, device: str = LEAF, frames: int = FRAMES) -> int:
    """Virtual time by which so many packets have left one of a device's ports for good, ns."""
    ports = {row for row, port in enumerate(run.interfaces) if port.device == device}
    lines = np.array([[bool(ports & {int(p) for p in way[: path["hops"]]}) for way in path["port"]]
                      for path in run.paths])  # fmt: skip
    way = run.packets["kind"] & 1
    through = lines[run.packets["path"], way] & (run.packets["last_ns"] > 0)
    last = np.sort(run.packets["last_ns"][through])
    return int(last[min(frames, len(last)) - 1]) if len(last) else 0
