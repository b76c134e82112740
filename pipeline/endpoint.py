"""Where an address is: its prefix, the device that it hangs on, its site."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import NamedTuple

import polars as pl

from pipeline.question import HALF
from pipeline.tables import TABLES
from pipeline.topology import Topology

PLAIN = {4: 24, 6: 64}
"""Length of the prefix that an address counts to when no topology has one, by version of IP."""
REMEMBERED = 1 << 17


class Endpoint(NamedTuple):
    """One end of a path by each scope; what is not known has the narrower name."""

    site: str
    prefix: str
    device: str


@lru_cache(REMEMBERED)
def endpoint(topology: Topology | None, high: int, low: int, tenant: str) -> Endpoint:
    """The end that an address of a tenant, in two words, belongs to."""
    wide = IPv6Address(high << HALF | low)
    address: IPv4Address | IPv6Address = wide.ipv4_mapped or wide
    host = topology.host(high, low, tenant) if topology else None
    told = [ip_network(text) for text in (host.prefixes if host else ())]
    around = [network for network in told if address in network]
    wider = [network for network in around if network.num_addresses > 1]
    plain = ip_network((address, PLAIN[address.version]), strict=False)
    prefix = str(max(wider, key=lambda network: network.prefixlen, default=plain))
    device = host.device if host else prefix
    site = topology.site_of(host) if topology and host else ""
    return Endpoint(site or device, prefix, device)


def endpoints(flows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """The ends of flows (rows of the table `flows`): flow, and src_ and dst_ of each scope."""
    made = flows.select("flow").with_columns(
        pl.Series("owner", tenants(flows, topology), pl.String)
    )
    for end in ("src", "dst"):
        key = [f"{end}_hi", f"{end}_lo", "owner"]
        made = made.with_columns(flows.select(key[:2]))
        known = made.select(key).unique(maintain_order=True)
        found = [endpoint(topology, *words) for words in known.iter_rows()]
        scopes = [
            pl.Series(f"{end}_{scope}", [each[place] for each in found], pl.String)
            for place, scope in enumerate(Endpoint._fields)
        ]
        told = known.with_columns(scopes)
        made = made.join(told, on=key, how="left", maintain_order="left").drop(key[:2])
    return made.drop("owner")


def tenants(flows: pl.DataFrame, topology: Topology | None) -> list[str]:
    """The tenant of each flow by the topology; empty: none is known."""
    if topology is None or not topology.tenants:
        return [""] * flows.height
    return [topology.tenant(*key) for key in flows.select("tenant", "vrf", "vni").iter_rows()]


def host_rows(topology: Topology) -> pl.DataFrame:
    """The topology's hosts as rows of the table `hosts`."""
    made = [
        (prefix, topology.valid_from_ns, topology.version, host.name, host.device, host.interface,
         topology.site_of(host))
        for host in topology.hosts
        for prefix in host.prefixes
    ]  # fmt: skip
    return pl.DataFrame(made, schema=TABLES["hosts"].schema, orient="row")
