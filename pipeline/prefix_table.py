"""Hosts by their prefixes: the longest one that holds an address, in as many looks as lengths."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_network

from pipeline.interface import Host
from pipeline.question import HALF, MAPPED

BITS = {4: 32, 6: 128}
"""Length of an address by version of IP."""
LOW = 32
Lengths = list[tuple[int, dict[int, Host]]]
"""Bits behind a prefix with the hosts by its number, the longest prefix first."""


class PrefixTable:
    """Looks addresses up, for each tenant apart."""

    def __init__(self, hosts: Iterable[Host]) -> None:
        found: dict[tuple[str, int], dict[int, dict[int, Host]]] = {}
        for host in hosts:
            for network in map(ip_network, host.prefixes):
                behind = BITS[network.version] - network.prefixlen
                lengths = found.setdefault((host.tenant, network.version), {})
                number = int(network.network_address) >> behind
                lengths.setdefault(behind, {}).setdefault(number, host)
        self.tables: Mapping[tuple[str, int], Lengths] = {
            key: sorted(lengths.items()) for key, lengths in found.items()
        }
        self.tenants = tuple(dict.fromkeys(tenant for tenant, _ in self.tables))

    def find(self, high: int, low: int, tenant: str) -> Host | None:
        """The host of an address in two words among those of one tenant."""
        four = high == 0 and low >> LOW == MAPPED >> LOW
        address = low - MAPPED if four else high << HALF | low
        for behind, hosts in self.tables.get((tenant, 4 if four else 6), ()):
            if host := hosts.get(address >> behind):
                return host
        return None

    def only(self, high: int, low: int) -> Host | None:
        """The host of an address that one tenant alone has."""
        found = [host for tenant in self.tenants if (host := self.find(high, low, tenant))]
        return found[0] if len(found) == 1 else None
