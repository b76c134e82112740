"""Where addresses are: the site, or the device, of the longest prefix that the topology has."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_network

import polars as pl

from service.endpoint import parse_address

Address = IPv4Address | IPv6Address
BITS = {4: 32, 6: 128}
"""Length of an address by version of IP."""
PLAIN = {4: 24, 6: 64}
"""Length of the prefix that stands for an address of which no topology knows."""


class Places:
    """Looks addresses up among the rows of the table `hosts`, and hosts by their names."""

    def __init__(self, hosts: pl.DataFrame) -> None:
        found: dict[tuple[int, int], dict[int, dict[str, str]]] = {}
        self.named: dict[str, list[str]] = {}
        for row in hosts.iter_rows(named=True):
            network = ip_network(row["prefix"])
            behind = BITS[network.version] - network.prefixlen
            number = int(network.network_address) >> behind
            found.setdefault((network.version, behind), {}).setdefault(number, row)
            self.named.setdefault(row["host"].lower(), []).append(row["prefix"])
        self.lengths = sorted(found.items())

    def host(self, address: Address) -> dict[str, str] | None:
        """The row of the longest prefix that holds an address."""
        for (version, behind), hosts in self.lengths:
            row = hosts.get(int(address) >> behind) if version == address.version else None
            if row is not None:
                return row
        return None

    def of(self, text: str) -> str:
        """Site, else device, else prefix of an address."""
        address = parse_address(text)
        row = self.host(address)
        if row is None:
            return str(ip_network((address, PLAIN[address.version]), strict=False))
        return row["site"] or row["device"]

    def addresses(self, name: str) -> Iterator[str]:
        """The prefixes of a host by its name."""
        yield from self.named.get(name.lower(), ())


def sited(rows: pl.DataFrame, places: Places) -> pl.DataFrame:
    """Flows with the place of each end, as `src_site` and `dst_site`."""
    ends = [
        pl.Series(f"{end}_site", [places.of(text) for text in rows[end]], pl.String)
        for end in ("src", "dst")
    ]
    return rows.with_columns(ends)
