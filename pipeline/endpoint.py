"""Where an address is: its prefix, the device that it hangs on, its site."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import NamedTuple

import polars as pl

from pipeline.groups import numbered, words
from pipeline.question import HALF
from pipeline.tables import TABLES
from pipeline.topology import Topology
from pipeline.versions import Versions

NETWORK = ("tenant", "vrf", "vni")
"""Columns that tell whose addresses rows have, and flows with the same ends apart."""
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
    owner = pl.Series("owner", tenants(flows, topology), pl.String)
    made = [flows["flow"]]
    for end in ("src", "dst"):
        known = flows[[f"{end}_hi", f"{end}_lo"]].hstack([owner])
        # There are fewer ends than flows.
        group, first = numbered(words(known, known.columns))
        found = [endpoint(topology, *told) for told in known[first].iter_rows()]
        scopes = {f"{end}_{scope}": [each[place] for each in found]
                  for place, scope in enumerate(Endpoint._fields)}  # fmt: skip
        made.extend(pl.DataFrame(scopes, schema=dict.fromkeys(scopes, pl.String))[group])
    return pl.DataFrame(made)


def tenants(flows: pl.DataFrame, topology: Topology | None) -> list[str]:
    """The tenant of each flow by the topology; empty: none is known."""
    if topology is None or not topology.tenants:
        return [""] * flows.height
    return [topology.tenant(*key) for key in flows[[*NETWORK]].iter_rows()]


def owned(flows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Rows of the table `flows` with the tenant that owns each flow.

    What the key says comes first. Without that the ends do: the tenant of both, or of one when the
    other is the fabric's own; a flow between two tenants is nobody's.
    """
    if topology is None or not has_tenants(topology):
        return flows.with_columns(pl.col("tenant").fill_null("").alias("owner"))
    named = tenants(flows, topology)
    keys = flows[["tenant", "src_hi", "src_lo", "dst_hi", "dst_lo"]].iter_rows()
    owners = [
        by_key or raw or _by_ends(topology, tuple(words))
        for by_key, (raw, *words) in zip(named, keys, strict=True)
    ]
    return flows.with_columns(pl.Series("owner", owners, pl.String))


def owned_by(flows: pl.DataFrame, versions: Versions) -> pl.DataFrame:
    """The same by the topology that was in force when each flow was last seen."""
    timed = flows.with_columns(pl.col("last_ns").alias("time_ns"))
    return versions.across(timed, lambda topology, part: owned(part, topology)).drop("time_ns")


@lru_cache
def has_tenants(topology: Topology) -> bool:
    """Whether flows can have an owner that their key does not name."""
    return bool(topology.tenants) or any(host.tenant for host in topology.hosts)


@lru_cache(REMEMBERED)
def _by_ends(topology: Topology, words: tuple[int, int, int, int]) -> str:
    """The tenant of two addresses, each in two words."""
    ends = (topology.host(*words[:2], ""), topology.host(*words[2:], ""))
    found = {host.tenant for host in ends if host and host.tenant}
    return found.pop() if len(found) == 1 else ""


def host_rows(topology: Topology) -> pl.DataFrame:
    """The hosts of a topology, as rows of the table `hosts` but for when they are told."""
    made = [
        (prefix, topology.valid_from_ns, topology.version, host.name, host.device, host.interface,
         topology.site_of(host), host.tenant)
        for host in topology.hosts
        for prefix in host.prefixes
    ]  # fmt: skip
    kinds = {name: kind for name, kind in TABLES["hosts"].schema.items() if name != "told_ns"}
    return pl.DataFrame(made, schema=kinds, orient="row")
