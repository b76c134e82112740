"""The ceiling: how often the best possible observer names the right hop, with what was received.

Spines that nothing received names are interchangeable, with the cores behind them, and so are such
cores of one spine: exchange two of them in the fabric and every bit at every tap stays the same,
while the hop that is the truth becomes another one. Seeds cast spines and cores at random, so
whoever sees only these bits is right in one of as many cases as there are such switches, however it
reasons. Enumerated over the ports that a run's taps heard of; where the truth is named, or lies at
a host, the ceiling is 1. A locator that many ports share names none of them. It is an upper bound:
it leaves out noise.
"""

import numpy as np
import polars as pl

from pipeline import Interface
from replay.carriage import NAMING
from replay.emit import sightings
from replay.fabric import Run
from replay.state import ABOVE, ACK, CSIG_COMPACT, CSIG_EXPANDED, DATA, LAST, REPORTED
from replay.taps import Taps
from replay.world import World


def named_ports(run: Run, taps: Taps) -> set[int]:
    """Rows of the ports that INT stacks or CSIG locators named at some tap."""
    seen = sightings(run, taps)
    packets = run.packets[seen.rows]
    told = (packets["kind"] == DATA) & ((seen.edge == LAST) | (seen.edge >= REPORTED))
    told |= packets["kind"] == ACK
    data = run.packets[np.where(packets["kind"] == ACK, packets["echo"], seen.rows)[told]]
    kind = run.flows["kind"][data["flow"]]
    stacked = np.isin(run.flows["form"][data["flow"]], NAMING) | (seen.edge[told] >= REPORTED)
    stacks = run.paths[np.unique(data["path"][stacked])]
    found = {int(row) for path in stacks for row in path["port"][0, : path["hops"]]}
    above = run.packets[seen.rows[(seen.edge == ABOVE) & (packets["kind"] == DATA)]]
    found |= {int(row) for row in np.unique(run.paths["port"][above["path"], 0, 0])}
    for variant, column in ((CSIG_COMPACT, "lm_compact"), (CSIG_EXPANDED, "lm")):
        told_lm = np.unique(data["csig_lm"][kind == variant])
        lms, row, count = np.unique(run.ports[column], return_index=True, return_counts=True)
        found |= {int(at) for lm, at in zip(lms[count == 1], row[count == 1], strict=True)
                  if lm in told_lm}  # fmt: skip
    return found


def ceiling(run: Run, taps: Taps) -> pl.DataFrame:
    """device, interface, ceiling, like: of each port, how often it is told from its like at best.

    Ports with the same `like` are interchangeable.
    """
    world = run.world
    beside = [(plane_of(world, port), core_of(world, port)) for port in run.interfaces]
    named = [beside[row] for row in named_ports(run, taps)]
    planes = {plane for plane, _ in named if plane is not None}
    cores = {pair for pair in named if None not in pair}
    rows = []
    for port, (plane, core) in zip(run.interfaces, beside, strict=True):
        alike, like = 1, [port.stage, port.orientation, *ends(world, port), plane, core]
        if plane is not None and plane not in planes:
            alike, like[-2] = world.spines - len(planes), None
        if core is not None and (plane, core) not in cores:
            alike *= world.cores - sum(at == plane for at, _ in cores)
            like[-1] = None
        rows.append((port.device, port.name, 1 / alike, " ".join(map(str, like))))
    return pl.DataFrame(rows, schema=["device", "interface", "ceiling", "like"], orient="row")


def ends(world: World, port: Interface) -> list[str]:
    """What tells a port from those of other leaves, hosts and pods, whatever its plane and core."""
    told = [port.device, port.peer_device]
    if port.orientation == "host":
        return [port.device, port.name]
    pods = [f"pod{(int(name[5:]) - 1) // world.spines}" for name in told if name[:5] == "spine"]
    return [*pods, *(name for name in told if name.startswith("leaf"))]


def plane_of(world: World, port: Interface) -> int | None:
    """Number of the spine at one end of a link, from 0, the same in all pods; none: to a host."""
    for name in (port.device, port.peer_device):
        if name.startswith("spine"):
            return (int(name.removeprefix("spine")) - 1) % world.spines
    return None


def core_of(world: World, port: Interface) -> int | None:
    """Number in its plane of the core at one end of a link, from 0; none: there is none."""
    for name in (port.device, port.peer_device):
        if name.startswith("core"):
            return (int(name.removeprefix("core")) - 1) % world.cores
    return None
