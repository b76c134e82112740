"""The hops that a flow may cross, by the topology."""

import polars as pl

from pipeline.topology import Topology

ENDS = ("src_hi", "src_lo", "dst_hi", "dst_lo")
WAYS = {"flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32, "way_length": pl.UInt32}


def ways(flows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops of every shortest way of each flow: flow, node, port, and way_length, hops of one way.

    `flows` has the columns flow and `ENDS`; a flow with an end that no host has gets no row.
    """
    if topology is None:
        return pl.DataFrame(schema=WAYS)
    rows = []
    for flow, *words in flows.select("flow", *ENDS).iter_rows():
        source, destination = topology.host(*words[:2]), topology.host(*words[2:])
        if source and destination:
            length = topology.way_length(source, destination)
            rows += [(flow, *hop, length) for hop in sorted(topology.hops(source, destination))]
    return pl.DataFrame(rows, schema=WAYS, orient="row")
