"""The hops that a flow may cross, by the topology: all of them, or path by path."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.datatypes import DataTypeClass

from pipeline.endpoint import NETWORK, tenants
from pipeline.groups import numbered, words
from pipeline.reserved import UNTOLD
from pipeline.topology import Hop, Host, Topology, distances

ENDS = ("src_hi", "src_lo", "dst_hi", "dst_lo")
WAYS = {"flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32, "way_length": pl.UInt32}
PATHS = {"flow": pl.UInt64, "path": pl.UInt32, "place": pl.UInt8, "node": pl.UInt32,
         "port": pl.UInt32, "via_node": pl.UInt32, "via_port": pl.UInt32}  # fmt: skip
MOST_PATHS = 64
"""Paths between two devices that are told apart; of more the first in order of ids."""
REMEMBERED = 1 << 14
"""Pairs of hosts of which is remembered what was told."""
Told = NDArray[np.uint32]
"""(column, row) of what is told of two hosts, in the order of `WAYS` or `PATHS`; `UNTOLD` where it
is not known."""


def ways(flows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops of every shortest way of each flow: flow, node, port, and way_length, hops of one way.

    `flows` has the columns flow and `ENDS`; a flow with an end that no host has gets no row.
    """
    if topology is None:
        return pl.DataFrame(schema=WAYS)

    return by_pair(flows, topology, WAYS, crossed)


def paths(flows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops of each possible path of each flow: flow, path (from 0), place, node, port, and via.

    A path is one of the shortest; place 0 is nearest the sender. `via_node`, `via_port` name the
    port by whose link the flow comes in: that of the hop before, at place 0 the sender's own port.
    Flows as in `ways`.
    """
    if topology is None:
        return pl.DataFrame(schema=PATHS)

    return by_pair(flows, topology, PATHS, laid_out)


def by_pair(
    flows: pl.DataFrame,
    topology: Topology,
    schema: Mapping[str, DataTypeClass],
    told: Callable[[Topology, Host, Host], Told],
) -> pl.DataFrame:
    """What is told of the hosts at the ends of each flow, the rows of a flow together."""
    ends = [*ENDS, *(name for name in NETWORK if name in flows.columns)]
    # There are fewer pairs of ends than flows between them.
    pair, first = numbered(words(flows, ends))
    number = pl.Series("flow", np.arange(len(first), dtype=np.uint64))
    rows = [np.zeros((len(schema) - 1, 0), np.uint32)] * (len(first) + 1)
    for place, source, destination in ends_of(flows[first].with_columns(number), topology):
        if source and destination:
            rows[place] = told(topology, source, destination)
    sizes = np.array([each.shape[1] for each in rows], np.int64)
    begins, counts = np.cumsum(sizes) - sizes, sizes[pair]
    at = np.arange(counts.sum()) + np.repeat(begins[pair] - (np.cumsum(counts) - counts), counts)
    flow = np.repeat(flows["flow"].to_numpy(), counts)
    columns = dict(zip(schema, (flow, *np.concatenate(rows, axis=1)[:, at]), strict=True))
    told_of = [pl.when(pl.col(name) != UNTOLD).then(name) for name in schema if name != "flow"]
    return pl.DataFrame(columns).with_columns(told_of).cast(pl.Schema(schema))


@lru_cache(REMEMBERED)
def crossed(topology: Topology, source: Host, destination: Host) -> Told:
    """Hops of all shortest ways between two hosts, and how many one way has."""
    length = topology.way_length(source, destination)
    hops = [(*hop, length) for hop in sorted(topology.hops(source, destination))]
    return np.array(hops, np.uint32).reshape(-1, len(WAYS) - 1).T


@lru_cache(REMEMBERED)
def laid_out(topology: Topology, source: Host, destination: Host) -> Told:
    """Hops of the possible paths between two hosts."""
    own = port_of(topology, source) or (UNTOLD, UNTOLD)
    hops = [
        (path, place, *hop, *via)
        for path, hops in enumerate(between(topology, source, destination))
        for place, (hop, via) in enumerate(zip(hops, (own, *hops), strict=False))
    ]
    return np.array(hops, np.uint32).reshape(-1, len(PATHS) - 1).T


def port_of(topology: Topology, host: Host) -> Hop | None:
    """The port that a host hangs on."""
    port = topology.port(host.device, host.interface)
    return port.hop if port else None


def ends_of(
    flows: pl.DataFrame, topology: Topology | None
) -> Iterator[tuple[int, Host | None, Host | None]]:
    """Each flow with the hosts at its ends, by its tenant where the flow's key tells one."""
    keyed = set(NETWORK) <= set(flows.columns)
    whose = tenants(flows, topology) if keyed else [""] * flows.height
    told = flows[["flow", *ENDS]].iter_rows()
    for (flow, *ends), tenant in zip(told, whose, strict=True):
        if topology is None:
            yield flow, None, None
            continue
        src_hi, src_lo, dst_hi, dst_lo = ends
        yield flow, topology.host(src_hi, src_lo, tenant), topology.host(dst_hi, dst_lo, tenant)


def between(topology: Topology, source: Host, destination: Host) -> tuple[tuple[Hop, ...], ...]:
    """The shortest paths between two hosts as their egress ports in order, at most MOST_PATHS."""
    hop = port_of(topology, destination)
    last = () if hop is None else (hop,)
    return tuple(path + last for path in _device_paths(topology, source.device, destination.device))


@lru_cache(1 << 16)
def _device_paths(topology: Topology, source: str, target: str) -> tuple[tuple[Hop, ...], ...]:
    """Egress ports of each shortest path between two devices; none where none leads there."""
    distance = distances(topology, target)
    if source not in distance:
        return ()
    found: list[tuple[str, tuple[Hop, ...]]] = [(source, ())]
    for left in range(distance[source], 0, -1):
        found = [
            (i.peer_device, (*hops, i.hop))
            for device, hops in found
            for i in sorted(topology.links.get(device, ()), key=lambda i: i.hop)
            if i.peer_interface and distance.get(i.peer_device, -1) == left - 1
        ][:MOST_PATHS]
    return tuple(hops for _, hops in found)
