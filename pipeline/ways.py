"""The hops that a flow may cross, by the topology: all of them, or path by path."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline.endpoint import tenants
from pipeline.topology import Hop, Host, Topology, distances

ENDS = ("src_hi", "src_lo", "dst_hi", "dst_lo")
OWNERS = ("tenant", "vrf", "vni")
"""Columns that tell whose addresses a flow has."""
WAYS = {"flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32, "way_length": pl.UInt32}
PATHS = {"flow": pl.UInt64, "path": pl.UInt32, "place": pl.UInt8, "node": pl.UInt32,
         "port": pl.UInt32, "via_node": pl.UInt32, "via_port": pl.UInt32}  # fmt: skip
MOST_PATHS = 64
"""Paths between two devices that are told apart; of more the first in order of ids."""


def ways(flows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops of every shortest way of each flow: flow, node, port, and way_length, hops of one way.

    `flows` has the columns flow and `ENDS`; a flow with an end that no host has gets no row.
    """
    if topology is None:
        return pl.DataFrame(schema=WAYS)

    def told(source: Host, destination: Host) -> Iterator[tuple[int, ...]]:
        length = topology.way_length(source, destination)
        return ((*hop, length) for hop in sorted(topology.hops(source, destination)))

    return by_pair(flows, topology, WAYS, told)


def paths(flows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops of each possible path of each flow: flow, path (from 0), place, node, port, and via.

    A path is one of the shortest; place 0 is nearest the sender. `via_node`, `via_port` name the
    port by whose link the flow comes in: that of the hop before, at place 0 the sender's own port.
    Flows as in `ways`.
    """
    if topology is None:
        return pl.DataFrame(schema=PATHS)

    def told(source: Host, destination: Host) -> Iterator[tuple[int | None, ...]]:
        own = port_of(topology, source) or (None, None)
        for path, hops in enumerate(between(topology, source, destination)):
            for place, (hop, via) in enumerate(zip(hops, (own, *hops), strict=False)):
                yield path, place, *hop, *via

    return by_pair(flows, topology, PATHS, told)


def by_pair(
    flows: pl.DataFrame,
    topology: Topology,
    schema: Mapping[str, DataTypeClass],
    told: Callable[[Host, Host], Iterable[tuple[int | None, ...]]],
) -> pl.DataFrame:
    """What is told of the hosts at the ends of each flow, worked out once for each pair of them."""
    key = [*ENDS, *OWNERS] if set(OWNERS) <= set(flows.columns) else [*ENDS]
    number = pl.int_range(pl.len(), dtype=pl.UInt64)
    pairs = flows.select(key).unique(maintain_order=True).with_columns(number.alias("flow"))
    rows = [
        (pair, *row)
        for pair, source, destination in ends_of(pairs, topology)
        if source and destination
        for row in told(source, destination)
    ]
    known = pl.DataFrame(rows, schema=schema, orient="row").rename({"flow": "pair"})
    numbered = flows.select("flow", *key).join(
        pairs.rename({"flow": "pair"}), on=key, how="inner", nulls_equal=True, maintain_order="left"
    )
    return numbered.join(known, on="pair", how="inner", maintain_order="left_right").select(
        list(schema)
    )


def port_of(topology: Topology, host: Host) -> Hop | None:
    """The port that a host hangs on."""
    own = topology.links.get(host.device, ())
    return next((i.hop for i in own if i.name == host.interface), None)


def ends_of(
    flows: pl.DataFrame, topology: Topology | None
) -> Iterator[tuple[int, Host | None, Host | None]]:
    """Each flow with the hosts at its ends, by its tenant where the flow's key tells one."""
    keyed = set(OWNERS) <= set(flows.columns)
    whose = tenants(flows, topology) if keyed else [""] * flows.height
    told = flows.select("flow", *ENDS).iter_rows()
    for (flow, *words), tenant in zip(told, whose, strict=True):
        if topology is None:
            yield flow, None, None
            continue
        src_hi, src_lo, dst_hi, dst_lo = words
        yield flow, topology.host(src_hi, src_lo, tenant), topology.host(dst_hi, dst_lo, tenant)


@lru_cache(1 << 16)
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
