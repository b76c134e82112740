"""What topology and settings know of the path of each row: line rates, round trip, capacities."""

from collections.abc import Iterator, Mapping

import polars as pl

from pipeline.cc.parameter import Value
from pipeline.placed import READERS, with_ports
from pipeline.settings import PipelineSettings
from pipeline.topology import Topology
from pipeline.unit import GIGABIT, MICROSECOND

ASSUMED_RTT_NS = 10_000
"""HPCC++ T when neither topology nor settings know it."""


class Paths:
    """Adds to observations what they do not tell of themselves.

    Parameters of HPCC++ that were told win over settings, and these over the topology.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        topology: Topology | None,
        hpcc: Mapping[str, Value] | None = None,
    ) -> None:
        self.topology = topology
        own = hpcc or {}
        told = round((settings.base_rtt_us or 0) * MICROSECOND)
        self.known_rtt_ns = (
            int(own.get("T_ns", 0)) or told or (topology.base_rtt_ns if topology else 0)
        )
        self.nic_bps = int(own.get("B_nic_bps", 0)) or round((settings.nic_gbps or 0) * GIGABIT)
        self.reads_ports = bool(READERS & set(settings.companions))
        self.base_rtt_ns = self.known_rtt_ns or ASSUMED_RTT_NS
        """T that signals without a round trip of their own are measured against."""

    def along(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with base_rtt_ns, src_nic_bps, dst_nic_bps and missing capacities of hops."""
        known = [pl.lit(self.known_rtt_ns, pl.Int64).alias("base_rtt_ns")] * bool(self.known_rtt_ns)
        rows = rows.with_columns(known)
        if self.nic_bps:
            nic = pl.lit(self.nic_bps, pl.Int64)
            rows = rows.with_columns(nic.alias("src_nic_bps"), nic.alias("dst_nic_bps"))
        elif self.topology and self.topology.hosts:
            for end in ("src", "dst"):
                rows = with_nic(rows, self.topology, end)
        if not self.topology:
            return rows
        rows = with_capacities(rows, self.topology)
        return with_ports(rows, self.topology) if self.reads_ports else rows


def with_nic(rows: pl.DataFrame, topology: Topology, end: str) -> pl.DataFrame:
    """The rows with the line rate of the host at one end (src or dst), null where unknown."""
    words = rows.select(f"{end}_hi", f"{end}_lo").unique()
    found = [topology.host(*pair) for pair in words.iter_rows()]
    rates = pl.Series(
        f"{end}_nic_bps", [host.nic_bps if host else None for host in found], pl.Int64
    )
    return rows.join(words.with_columns(rates), on=words.columns, how="left", maintain_order="left")


def with_capacities(rows: pl.DataFrame, topology: Topology) -> pl.DataFrame:
    """The rows with the topology's capacity of every hop that does not tell its own."""
    capacities = topology.frame.select("node", "port", pl.col("capacity_bps").cast(pl.UInt64))
    for told, node, port in lacking(rows):
        rows = rows.join(
            capacities.rename({"node": node, "port": port}),
            on=[node, port],
            how="left",
            maintain_order="left",
        )
        own = [told] if told in rows.columns else []
        rows = rows.with_columns(pl.coalesce(*own, "capacity_bps").alias(told)).drop("capacity_bps")
    return rows


def lacking(rows: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Columns (b_bps, node, port) of hops that name themselves somewhere but lack a capacity."""
    for node in [name for name in rows.columns if name.endswith("_node")]:
        hop = node.removesuffix("_node")
        told, port = f"{hop}_b_bps", f"{hop}_port"
        if port not in rows.columns:
            continue
        named = rows[node].count()
        if named and (told not in rows.columns or rows[told].count() < named):
            yield told, node, port
