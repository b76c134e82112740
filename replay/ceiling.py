"""The ceiling: how often the best possible observer names the right hop, with what was received.

Spines that nothing received names are interchangeable: exchange two of them in the fabric and every
bit at every tap stays the same, while the hop that is the truth becomes another one. Seeds cast
spines at random, so whoever sees only these bits is right in one of as many cases as there are such
spines, however it reasons. Enumerated over the ports that a run's taps heard of; where the truth is
named, or lies at a host, the ceiling is 1. It is an upper bound: it leaves out noise.
"""

import numpy as np
import polars as pl

from replay.content import LAST
from replay.emit import sightings
from replay.fabric import Run
from replay.state import ACK, CSIG_COMPACT, CSIG_EXPANDED, DATA, INT
from replay.taps import Taps


def named_ports(run: Run, taps: Taps) -> set[int]:
    """Rows of the ports that INT stacks or CSIG locators named at some tap."""
    seen = sightings(run, taps)
    packets = run.packets[seen.rows]
    told = ((packets["kind"] == DATA) & (seen.edge == LAST)) | (packets["kind"] == ACK)
    data = run.packets[np.where(packets["kind"] == ACK, packets["echo"], seen.rows)[told]]
    kind = run.flows["kind"][data["flow"]]
    stacks = run.paths[np.unique(data["path"][kind == INT])]
    found = {int(row) for path in stacks for row in path["port"][0, : path["hops"]]}
    for variant, column in ((CSIG_COMPACT, "lm_compact"), (CSIG_EXPANDED, "lm")):
        told_lm = np.unique(data["csig_lm"][kind == variant])
        places = {int(lm): row for row, lm in enumerate(run.ports[column])}
        found |= {places[int(lm)] for lm in told_lm if lm}
    return found


def ceiling(run: Run, taps: Taps) -> pl.DataFrame:
    """device, interface, ceiling: of each port, how often it can be told from its like at best."""
    named = named_ports(run, taps)
    spines = [spine_of(port.device, port.peer_device) for port in run.interfaces]
    known = {spines[row] for row in named} - {""}
    unknown = run.world.spines - len(known)
    best = [1.0 if not spine or spine in known else 1 / unknown for spine in spines]
    return pl.DataFrame(
        {
            "device": [port.device for port in run.interfaces],
            "interface": [port.name for port in run.interfaces],
            "ceiling": best,
        }
    )


def spine_of(device: str, peer: str) -> str:
    """The spine at one end of a link; none of a link to a host."""
    return next((name for name in (device, peer) if name.startswith("spine")), "")
