"""What topology and settings know of the path of each row: line rates, round trip, capacities."""

from collections.abc import Iterator, Mapping

import polars as pl

from collector import repeated
from pipeline.cc.parameter import Value
from pipeline.endpoint import NETWORK
from pipeline.groups import numbered, words
from pipeline.hop_samples import MOST_QUEUE
from pipeline.placed import READERS, with_ports
from pipeline.settings import PipelineSettings
from pipeline.topology import Topology
from pipeline.unit import GIGABIT, MICROSECOND
from pipeline.versions import Versions

ASSUMED_RTT_NS = 10_000
"""HPCC++ T when neither topology nor settings know it."""


class Paths:
    """Adds to observations what they do not tell of themselves.

    Parameters of HPCC++ that were told win over settings, and these over the topology in force at
    the time of each row.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        versions: Versions,
        hpcc: Mapping[str, Value] | None = None,
    ) -> None:
        self.versions = versions
        own = hpcc or {}
        self.told_rtt_ns = int(own.get("T_ns", 0)) or round(
            (settings.base_rtt_us or 0) * MICROSECOND
        )
        self.nic_bps = int(own.get("B_nic_bps", 0)) or round((settings.nic_gbps or 0) * GIGABIT)
        self.reads_ports = bool(READERS & set(settings.companions))

    def base_rtt_ns(self, topology: Topology | None) -> int:
        """T that signals without a round trip of their own are measured against."""
        return self.known_rtt_ns(topology) or ASSUMED_RTT_NS

    def known_rtt_ns(self, topology: Topology | None) -> int:
        """T as it is known, 0 where it is not."""
        return self.told_rtt_ns or (topology.base_rtt_ns if topology else 0)

    def one_rtt_ns(self, topology: Topology | None) -> int:
        """T where it is known and the same of all paths, else 0."""
        several = topology is not None and topology.base_rtts and not self.told_rtt_ns
        return 0 if several else self.known_rtt_ns(topology)

    def along(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with base_rtt_ns, src_nic_bps, dst_nic_bps and missing capacities of hops."""
        return self.versions.across(rows, self._along)

    def _along(self, topology: Topology | None, rows: pl.DataFrame) -> pl.DataFrame:
        """The same of rows that one topology is in force for."""
        rtt = self.known_rtt_ns(topology)
        told = [repeated("base_rtt_ns", rtt, rows.height, pl.Int64)] if rtt else []
        rows = rows.with_columns(told)
        if topology and topology.base_rtts and not self.told_rtt_ns:
            rows = with_site_rtt(rows, topology)
        if self.nic_bps:
            ends = ("src_nic_bps", "dst_nic_bps")
            rows = rows.with_columns(
                repeated(name, self.nic_bps, rows.height, pl.Int64) for name in ends
            )
        elif topology and topology.hosts:
            for end in ("src", "dst"):
                rows = with_nic(rows, topology, end)
        if not topology:
            return rows
        rows = with_units(with_capacities(rows, topology), topology)
        return with_ports(rows, topology) if self.reads_ports else rows


def with_site_rtt(rows: pl.DataFrame, topology: Topology) -> pl.DataFrame:
    """The rows with the round trip between the sites of their ends, where the pair has its own."""
    ends = rows.select("src_hi", "src_lo", "dst_hi", "dst_lo", *owners(rows, topology)).unique()
    found = []
    for src_hi, src_lo, dst_hi, dst_lo, *key in ends.iter_rows():
        tenant = topology.tenant(*key)
        hosts = topology.host(src_hi, src_lo, tenant), topology.host(dst_hi, dst_lo, tenant)
        sites = [topology.site_of(host) if host else "" for host in hosts]
        found.append(topology.base_rtt(*sites) or None)
    known = ends.with_columns(pl.Series("base_rtt_ns", found, pl.Int64))
    return rows.drop("base_rtt_ns", strict=False).join(
        known, on=ends.columns, how="left", maintain_order="left", nulls_equal=True
    )


def owners(rows: pl.DataFrame, topology: Topology) -> list[str]:
    """Columns that tell whose addresses rows have, where the topology has tenants."""
    told = NETWORK if topology.tenants and set(NETWORK) <= set(rows.columns) else ()
    return list(told)


def with_units(rows: pl.DataFrame, topology: Topology) -> pl.DataFrame:
    """The rows with queues in bytes, of devices whose unit of occupancy is another one."""
    told = [(each.node_id, each.queue_unit_bytes) for each in topology.devices
            if each.queue_unit_bytes is not None]  # fmt: skip
    if not told:
        return rows
    nodes, units = (list(each) for each in zip(*told, strict=True))
    queues = []
    for name in [name for name in rows.columns if name.endswith("_qlen_bytes")]:
        node = pl.col(name.replace("_qlen_bytes", "_node"))
        if node.meta.output_name() in rows.columns:
            unit = node.replace_strict(nodes, units, default=1, return_dtype=pl.UInt64)
            queue = (pl.col(name).cast(pl.UInt64) * unit).clip(upper_bound=MOST_QUEUE)
            queues.append(queue.cast(rows.schema[name]).alias(name))
    return rows.with_columns(queues)


def with_nic(rows: pl.DataFrame, topology: Topology, end: str) -> pl.DataFrame:
    """The rows with the line rate of the host at one end (src or dst), null where unknown."""
    address = [f"{end}_hi", f"{end}_lo", *owners(rows, topology)]
    group, first = numbered(words(rows, address))
    found = [
        topology.host(high, low, topology.tenant(*key))
        for high, low, *key in rows[[*address]][first].iter_rows()
    ]
    rates = [host.nic_bps if host else None for host in found]
    return rows.with_columns(pl.Series(f"{end}_nic_bps", rates, pl.Int64)[group])


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
