"""What a topology knows of the ports that telemetry names, for the companions that read it."""

import polars as pl

from pipeline.groups import HOP
from pipeline.reserved import LOCATOR
from pipeline.signals import place, values
from pipeline.topology import Topology

PREFIXES = ("csig", "csig_echo")
"""Columns of CSIG tags and of their reflections."""
READERS = {"hpcc_csig", "hpcc_latency", "hpcc_qos"}
"""The companions that it is for."""


def with_ports(rows: pl.DataFrame, topology: Topology) -> pl.DataFrame:
    """The rows with the port of each locator, and with what a port's delay is without a queue.

    `csig_hop_node`, `_port`, `_b_bps` and `_base_ns` (and `csig_echo_hop_…`) are those of the tag's
    locator, node `LOCATOR` where it names none; `h{i}_base_ns` is that of a hop.
    """
    for prefix in PREFIXES:
        if f"{prefix}_variant" in rows.columns:
            rows = with_locators(rows, prefix, topology)
    if not topology.base_delays.height:
        return rows
    hops = [name.removesuffix("_node") for name in rows.columns if name.endswith("_node")]
    for hop in hops:
        names = {name: f"{hop}_{name}" for name in ("node", "port", "base_ns")}
        if names["port"] in rows.columns:
            delays = topology.base_delays.rename(names)
            on = [names[name] for name in HOP]
            rows = rows.join(delays, on=on, how="left", maintain_order="left")
    return rows


def with_locators(rows: pl.DataFrame, prefix: str, topology: Topology) -> pl.DataFrame:
    """The rows with the ports that the locators of tags or of reflections name."""
    numbered = rows.with_columns(time_ns=pl.int_range(rows.height))
    found = place(values(numbered, prefix, topology), topology).select(
        pl.col("time_ns").alias("row"),
        *(pl.col(name).alias(f"{prefix}_hop_{name}") for name in HOP),
        pl.when(pl.col("node") != LOCATOR).then("capacity_bps").alias(f"{prefix}_hop_b_bps"),
    )
    joined = rows.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    return joined.join(found, on="row", how="left", maintain_order="left").drop("row")
